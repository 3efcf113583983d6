//! Machines of a network on this one: each is a set of network, host name, mount, process and IPC namespaces, with an address on a bridge
//! that lies in the head's. Ending a node's first process ends all of it; nothing of it is ever outside.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The head node and those that work.
pub const HEAD: &str = "ctl";
pub const NODES: [&str; 3] = ["n1", "n2", "n3"];

const NET: &str = "10.77.0";

/// What a node's first process does: its own `/run` and an address, then what it is for; it reaps what that leaves.
const INIT: &str = r#"
hostname "$NODE" && mount -t proc proc /proc && mount -t tmpfs -o mode=755 lab /run || exit 1
ip link set lo up
if [ "$NODE" = ctl ]; then ip link add br0 type bridge; LINK=br0; else LINK=eth0; fi
for i in $(seq 200); do ip link show $LINK >/dev/null 2>&1 && break; sleep 0.05; done
ip addr add "$ADDRESS/24" dev $LINK && ip link set $LINK up
"#;

/// After what a node is for: its first process stays.
const STAY: &str = "\nwhile :; do wait; sleep 1; done\n";

pub struct Nodes {
    folder: PathBuf,
    /// What each node runs, as lines of a shell that come to an end, or go on behind it.
    service: fn(&str) -> String,
    up: Vec<(String, Child)>,
}

impl Nodes {
    /// The head and three nodes, with their own folders in this one.
    pub fn up(folder: &Path, service: fn(&str) -> String) -> Nodes {
        std::fs::create_dir_all(folder).expect("a folder");
        let mut nodes = Nodes { folder: folder.into(), service, up: Vec::new() };
        nodes.boot(HEAD);
        NODES.iter().for_each(|node| nodes.boot(node));
        nodes
    }

    /// Starts a node that is not up.
    pub fn boot(&mut self, node: &str) {
        let folder = self.folder.join(node);
        std::fs::create_dir_all(&folder).expect("a folder");
        let log = || std::fs::File::options().create(true).append(true).open(folder.join("log")).expect("a log");
        let child = Command::new("unshare")
            .args(["--net", "--uts", "--mount", "--ipc", "--pid", "--fork", "--kill-child", "--", "bash", "-c"])
            .arg([INIT, &(self.service)(node), STAY].concat())
            .env_clear()
            .envs([("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"), ("HOME", "/root"), ("LANG", "C.UTF-8")])
            .envs([("NODE", node), ("ADDRESS", &address(node))])
            .env("LAB", &self.folder)
            .stdin(Stdio::null())
            .stdout(log())
            .stderr(log())
            .spawn()
            .expect("unshare starts");
        self.up.push((node.into(), child));
        if node == HEAD {
            let is_there = || self.net(&["ip", "link", "show", "br0"]).status.success();
            crate::harness::wait_until("the bridge is there", is_there);
            return;
        }
        // Both ends of the cable are made inside of the head: none is ever outside.
        let cable = format!("v-{node}");
        let _ = self.net(&["ip", "link", "del", &cable]);
        let pid = self.pid(node).to_string();
        let made = self.net(&["ip", "link", "add", &cable, "type", "veth", "peer", "name", "eth0", "netns", &pid]);
        assert!(made.status.success(), "{made:?}");
        self.link(node, "up");
    }

    /// Kills a node, all of it at once.
    pub fn kill(&mut self, node: &str) {
        let place = self.up.iter().position(|known| known.0 == node).expect("it is up");
        let (_, mut child) = self.up.remove(place);
        child.kill().expect("it runs");
        child.wait().expect("it ends");
    }

    /// Cuts or heals the link of a node.
    pub fn link(&self, node: &str, state: &str) {
        let cable = format!("v-{node}");
        let _ = self.net(&["ip", "link", "set", &cable, "master", "br0"]);
        let set = self.net(&["ip", "link", "set", &cable, state]);
        assert!(set.status.success(), "{set:?}");
    }

    /// A command on a node, in the test's folder.
    pub fn inside(&self, node: &str, command: &[&str]) -> Command {
        let mut inside = Command::new("nsenter");
        let folder = format!("--wd={}", self.folder.parent().expect("the test's folder").display());
        inside.args(["-t", &self.pid(node).to_string(), "-n", "-u", "-m", "-p", "-i", &folder, "--"]).args(command);
        inside.stdin(Stdio::null());
        inside
    }

    /// A command in the head's network, where the bridge and one end of each cable are.
    fn net(&self, command: &[&str]) -> Output {
        let pid = self.pid(HEAD).to_string();
        Command::new("nsenter").args(["-t", &pid, "-n", "--"]).args(command).output().expect("nsenter starts")
    }

    /// The first process of a node.
    fn pid(&self, node: &str) -> u32 {
        let child = &self.up.iter().find(|known| known.0 == node).expect("it is up").1;
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            if let Some(pid) = observe::processes::children(child.id()).first() {
                return *pid;
            }
            assert!(Instant::now() < deadline, "node {node} has no process");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The last lines that each node said.
    pub fn logs(&self) -> String {
        let of_node = |node: &&str| {
            let log = std::fs::read_to_string(self.folder.join(node).join("log")).unwrap_or_default();
            let lines: Vec<&str> = log.lines().rev().take(12).collect();
            format!("{node}:\n{}\n", lines.into_iter().rev().collect::<Vec<_>>().join("\n"))
        };
        NODES.iter().chain([&HEAD]).map(of_node).collect()
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        for (_, child) in &mut self.up {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A node's address.
pub fn address(node: &str) -> String {
    let last = node.strip_prefix('n').unwrap_or("254");
    format!("{NET}.{last}")
}

/// Whether these programs are there. In CI they must be; elsewhere what is missing is said, with the packages that have it.
pub fn are_there(programs: &[&str], packages: &str) -> bool {
    let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    let is_there = |program: &&&str| std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    let Some(missing) = programs.iter().find(|program| !is_there(program)) else { return true };
    assert!(std::env::var_os("CI").is_none(), "{missing} is missing: `make test` installs it");
    eprintln!("skipped: {missing} is missing; `make test` installs the packages {packages}");
    false
}
