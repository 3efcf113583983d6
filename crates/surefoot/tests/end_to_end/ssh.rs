//! A fleet without a scheduler: docs/fleet.md's own lines for GNU parallel and parallel-ssh, on three machines in namespaces with a real sshd.

use crate::harness::{World, said, small_study, wait_until};
use crate::nodes::{self, HEAD, NODES, Nodes, address};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

const PROGRAMS: [&str; 5] = ["sshd", "ssh", "ssh-keygen", "parallel", "parallel-ssh"];

/// A node listens; the head finds the nodes by name.
fn service(node: &str) -> String {
    if node == HEAD {
        return "mount --bind \"$LAB/ssh_config\" /etc/ssh/ssh_config".into();
    }
    "mkdir -p /run/sshd && \"$(command -v sshd)\" -D -e -f \"$LAB/sshd_config\" -o ListenAddress=$ADDRESS &".into()
}

/// Keys of one machine and one user for all, known to both sides.
fn configure(lab: &Path) {
    NODES.iter().for_each(|node| std::fs::create_dir_all(lab.join("disk").join(node)).expect("a folder"));
    for key in ["host_key", "user_key"] {
        let mut keygen = Command::new("ssh-keygen");
        keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(lab.join(key));
        assert!(keygen.status().expect("it starts").success());
    }
    let write = |name: &str, text: String| std::fs::write(lab.join(name), text).expect("a file in the lab");
    let binary = Path::new(env!("CARGO_BIN_EXE_surefoot")).parent().expect("a folder").display();
    let here = lab.display();
    write(
        "sshd_config",
        format!(
            "HostKey {here}/host_key\nAuthorizedKeysFile {here}/user_key.pub\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n\
             PermitRootLogin prohibit-password\nPidFile none\nPrintLastLog no\nAcceptEnv PSSH_*\n\
             SetEnv PATH={binary}:/usr/sbin:/usr/bin:/sbin:/bin\n"
        ),
    );
    let names = NODES.map(|node| format!("Host {node}\n  HostName {}\n", address(node))).concat();
    let common = format!(
        "Host *\n  IdentityFile {here}/user_key\n  UserKnownHostsFile {here}/known_hosts\n  StrictHostKeyChecking yes\n  BatchMode yes\n"
    );
    write("ssh_config", names + &common);
    let key = std::fs::read_to_string(lab.join("host_key.pub")).expect("it was made");
    write("known_hosts", NODES.map(|node| format!("{} {key}", address(node))).concat());
}

/// The document's lines that begin so, with this test's places for the reader's.
fn documented(begin: &str, places: &[(&str, String)]) -> Vec<String> {
    let document = include_str!("../../../../docs/fleet.md");
    let lines = document.lines().filter(|line| line.starts_with(begin));
    lines.map(|line| places.iter().fold(line.to_string(), |line, (word, place)| line.replace(word, place))).collect()
}

#[test]
fn gnu_parallel_and_parallel_ssh_run_a_fleet_by_the_documented_lines() {
    let world = World::new();
    if !nodes::are_there(&PROGRAMS, "openssh-server, openssh-client, parallel and pssh") {
        return;
    }
    let lab = world.path().join("lab");
    configure(&lab);
    let nodes = Nodes::up(&lab, service);
    let on_head = |line: &str| {
        let mut command = nodes.inside(HEAD, &["bash", "-c", line]);
        command.env("PARALLEL_HOME", lab.join("parallel"));
        said(&command.output().expect("nsenter starts"))
    };
    for node in NODES {
        wait_until("sshd listens", || on_head(&format!("ssh {node} true")).status == Some(0));
    }
    world.write("hosts", NODES.join("\n") + "\n");
    let study = small_study(&["ext4", "ext3"], 1).replace("\"small\"", "\"mail\"");
    world.write("mail.toml", study + "control = false\n");
    let shared = world.path().to_string_lossy().into_owned();
    let results = world.path().join("mail");
    // The machines share a kernel, in whose eyes one path is one loop device's file: each has another.
    let places = [("/shared", shared), ("/disk", format!("{}/disk/'$(hostname)'", lab.display()))];
    for (begin, said_by) in
        [("seq ", "GNU parallel's job (PARALLEL_SEQ="), ("parallel-ssh ", "parallel-ssh's node (PSSH_NODENUM=")]
    {
        let [line] = &documented(begin, &places)[..] else { panic!("one line begins with {begin}") };
        on_head(line).status(0);
        let merged = format!("{}.surefoot", begin.trim());
        world.surefoot(&["merge", "mail", "-o", &merged]).status(0).says("on these 3 hosts only");
        let members = world.report(&merged)["ledger"]["members"].take();
        let members = members.as_array().expect("members");
        assert!(
            members.iter().all(|member| member["known_by"].as_str().is_some_and(|by| by.starts_with(said_by))),
            "{members:#?}"
        );
        let hosts: BTreeSet<_> = members.iter().filter_map(|member| member["host"]["name"].as_str()).collect();
        assert_eq!(hosts, BTreeSet::from(NODES), "a machine each");
        // What a member leaves on its machine is taken away by the same way.
        let [clean] = &documented("parallel --nonall ", &places)[..] else { panic!("one line cleans up") };
        on_head(clean).status(0).says("removed");
        std::fs::remove_dir_all(&results).expect("they were there");
    }
    drop(nodes);
    world.assert_nothing_left();
}
