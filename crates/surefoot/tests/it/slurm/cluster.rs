//! A Slurm cluster of three nodes on this machine: each node is a set of network, host name, mount, process and IPC namespaces, in which the
//! packages' own daemons run. Ending a node's first process ends all of it. Addresses and links lie in these namespaces only.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The head node and those that work.
pub const HEAD: &str = "ctl";
pub const NODES: [&str; 3] = ["n1", "n2", "n3"];

const DAEMONS: [&str; 5] = ["slurmctld", "slurmd", "munged", "sbatch", "unshare"];

/// What a node's first process does: its own `/run`, an address, then the daemons; it reaps what they leave.
const INIT: &str = r#"
hostname "$NODE" && mount -t proc proc /proc && mount -t tmpfs -o mode=755 lab /run && mkdir -m 755 /run/munge || exit 1
ip link set lo up
if [ "$NODE" = ctl ]; then ip link add br0 type bridge; LINK=br0; else LINK=eth0; fi
for i in $(seq 200); do ip link show $LINK >/dev/null 2>&1 && break; sleep 0.05; done
ip addr add "$ADDRESS/24" dev $LINK && ip link set $LINK up
munged --foreground --force --num-threads=2 --key-file="$LAB/munge.key" --pid-file=/run/munge/munged.pid --seed-file="$LAB/$NODE/seed" &
for i in $(seq 200); do [ -S /run/munge/munge.socket.2 ] && break; sleep 0.05; done
$DAEMON &
while :; do wait; sleep 1; done
"#;

pub struct Cluster {
    lab: PathBuf,
    nodes: Vec<(String, Child)>,
}

impl Cluster {
    /// Three idle nodes, or none where Slurm is not installed.
    pub fn up(lab: &Path) -> Option<Cluster> {
        let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
        let is_there = |program: &&str| std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
        if let Some(missing) = DAEMONS.iter().find(|program| !is_there(program)) {
            assert!(std::env::var_os("CI").is_none(), "{missing} is missing: `make test` installs it");
            eprintln!(
                "skipped: {missing} is missing; `make test` installs the packages slurmctld, slurmd, slurm-client and munge"
            );
            return None;
        }
        std::fs::create_dir_all(lab).expect("a folder");
        let mut cluster = Cluster { lab: lab.into(), nodes: Vec::new() };
        cluster.configure();
        cluster.boot(HEAD);
        NODES.iter().for_each(|node| cluster.boot(node));
        cluster.wait_until("three nodes are idle", |cluster| {
            let said = cluster.run(&["sinfo", "-h", "-N", "-o", "%t"]);
            String::from_utf8_lossy(&said.stdout).lines().filter(|state| *state == "idle").count() == NODES.len()
        });
        Some(cluster)
    }

    fn configure(&self) {
        let lab = self.lab.display();
        let key: Vec<u8> = (0..1024).map(|_| rand_byte()).collect();
        self.write("munge.key", &key);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(self.lab.join("munge.key"), mode).expect("ours");
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let configuration = format!(
            "ClusterName=lab\nSlurmctldHost=ctl({head})\nSlurmUser=root\nSlurmdUser=root\nAuthType=auth/munge\nCredType=cred/munge\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nMpiDefault=none\nSelectType=select/cons_tres\n\
             SelectTypeParameters=CR_CPU\nSchedulerParameters=sched_interval=5,batch_sched_delay=1\nStateSaveLocation={lab}/ctl/state\n\
             SlurmdSpoolDir={lab}/%n/spool\nSlurmctldPidFile=/run/slurmctld.pid\nSlurmdPidFile=/run/slurmd.pid\n\
             SlurmdParameters=config_overrides\nReturnToService=2\nSlurmdTimeout=10\nSlurmctldTimeout=10\nMessageTimeout=5\nTCPTimeout=2\n\
             KillWait=5\nInactiveLimit=0\nJobRequeue=1\nJobAcctGatherType=jobacct_gather/none\n\
             AccountingStorageType=accounting_storage/none\nNodeName=n[1-3] NodeAddr={net}.[1-3] CPUs={cpus} RealMemory=1000 State=UNKNOWN\n\
             PartitionName=lab Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n",
            head = address(HEAD),
            net = NET,
        );
        self.write("slurm.conf", configuration.as_bytes());
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.lab.join(name), bytes).expect("a file in the lab");
    }

    /// Starts a node that is not up.
    pub fn boot(&mut self, node: &str) {
        let folder = self.lab.join(node);
        ["spool", "state"].iter().for_each(|part| std::fs::create_dir_all(folder.join(part)).expect("a folder"));
        let log = || std::fs::File::options().create(true).append(true).open(folder.join("log")).expect("a log");
        let daemon = if node == HEAD { "slurmctld -D" } else { "slurmd -D -b" };
        let child = Command::new("unshare")
            .args(["--net", "--uts", "--mount", "--ipc", "--pid", "--fork", "--kill-child", "--", "bash", "-c", INIT])
            .env_clear()
            .envs([("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"), ("HOME", "/root"), ("LANG", "C.UTF-8")])
            .envs([("NODE", node), ("ADDRESS", &address(node)), ("DAEMON", daemon)])
            .env("LAB", &self.lab)
            .env("SLURM_CONF", self.lab.join("slurm.conf"))
            .stdin(Stdio::null())
            .stdout(log())
            .stderr(log())
            .spawn()
            .expect("unshare starts");
        self.nodes.push((node.into(), child));
        if node == HEAD {
            self.wait_until("the bridge is there", |cluster| {
                cluster.net(HEAD, &["ip", "link", "show", "br0"]).status.success()
            });
            return;
        }
        // Both ends of the cable are made inside of the head: none is ever outside.
        let cable = format!("v-{node}");
        let _ = self.net(HEAD, &["ip", "link", "del", &cable]);
        let pid = self.pid(node).to_string();
        let made =
            self.net(HEAD, &["ip", "link", "add", &cable, "type", "veth", "peer", "name", "eth0", "netns", &pid]);
        assert!(made.status.success(), "{made:?}");
        self.link(node, "up");
    }

    /// Kills a node, all of it at once.
    pub fn kill(&mut self, node: &str) {
        let place = self.nodes.iter().position(|known| known.0 == node).expect("it is up");
        let (_, mut child) = self.nodes.remove(place);
        child.kill().expect("it runs");
        child.wait().expect("it ends");
    }

    /// Cuts or heals the link of a node.
    pub fn link(&self, node: &str, state: &str) {
        let cable = format!("v-{node}");
        let _ = self.net(HEAD, &["ip", "link", "set", &cable, "master", "br0"]);
        let set = self.net(HEAD, &["ip", "link", "set", &cable, state]);
        assert!(set.status.success(), "{set:?}");
    }

    /// Kills a daemon and nothing else of its node, by the number that it wrote down itself.
    pub fn kill_daemon(&self, node: &str, daemon: &str) {
        let kill = format!("kill -KILL $(cat /run/{daemon}.pid)");
        let killed = self.inside(node, &["sh", "-c", &kill]).output().expect("nsenter starts");
        assert!(killed.status.success(), "{killed:?}");
    }

    /// Starts a daemon that was killed.
    pub fn start_daemon(&self, node: &str, daemon: &str) {
        // Behind, in the node's own namespaces: it ends with them.
        let start = format!("setsid {daemon} -D >>{}/{node}/log 2>&1 &", self.lab.display());
        let started = self.inside(node, &["sh", "-c", &start]).output().expect("nsenter starts");
        assert!(started.status.success(), "{started:?}");
    }

    /// A command on the head node.
    pub fn run(&self, command: &[&str]) -> Output {
        self.inside(HEAD, command).output().expect("nsenter starts")
    }

    /// A command on a node, in the test's folder.
    pub fn inside(&self, node: &str, command: &[&str]) -> Command {
        let mut inside = Command::new("nsenter");
        let folder = format!("--wd={}", self.lab.parent().expect("the test's folder").display());
        inside.args(["-t", &self.pid(node).to_string(), "-n", "-u", "-m", "-p", "-i", &folder, "--"]).args(command);
        inside.env("SLURM_CONF", self.lab.join("slurm.conf")).stdin(Stdio::null());
        inside
    }

    fn net(&self, node: &str, command: &[&str]) -> Output {
        let pid = self.pid(node).to_string();
        Command::new("nsenter").args(["-t", &pid, "-n", "--"]).args(command).output().expect("nsenter starts")
    }

    /// The first process of a node.
    fn pid(&self, node: &str) -> u32 {
        let child = &self.nodes.iter().find(|known| known.0 == node).expect("it is up").1;
        let children = format!("/proc/{0}/task/{0}/children", child.id());
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            let read = std::fs::read_to_string(&children).unwrap_or_default();
            if let Some(pid) = read.split_whitespace().next().and_then(|pid| pid.parse().ok()) {
                return pid;
            }
            assert!(Instant::now() < deadline, "node {node} has no process");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits at most two minutes; what the daemons said is told where that was in vain.
    #[track_caller]
    pub fn wait_until(&self, what: &str, is_true: impl Fn(&Cluster) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(180);
        while !is_true(self) {
            if Instant::now() > deadline {
                let logs = NODES.iter().chain([&HEAD]).map(|node| {
                    let log = std::fs::read_to_string(self.lab.join(node).join("log")).unwrap_or_default();
                    let lines: Vec<&str> = log.lines().rev().take(12).collect();
                    format!("{node}:\n{}\n", lines.into_iter().rev().collect::<Vec<_>>().join("\n"))
                });
                let queue = String::from_utf8_lossy(&self.run(&["squeue"]).stdout).into_owned();
                panic!("waited in vain until {what}\n{queue}\n{}", logs.collect::<String>());
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for (_, child) in &mut self.nodes {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

const NET: &str = "10.77.0";

fn address(node: &str) -> String {
    let last = node.strip_prefix('n').unwrap_or("254");
    format!("{NET}.{last}")
}

fn rand_byte() -> u8 {
    use std::hash::{BuildHasher as _, RandomState};
    RandomState::new().hash_one(0) as u8
}
