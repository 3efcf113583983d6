//! A Slurm cluster of three nodes on this machine, with the packages' own daemons.

use crate::nodes::{self, HEAD, NODES, Nodes, address};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

const DAEMONS: [&str; 5] = ["slurmctld", "slurmd", "munged", "sbatch", "unshare"];

/// Munge first: both daemons ask it who somebody is.
const MUNGE: &str = r#"
mkdir -m 755 /run/munge && mkdir -p "$LAB/$NODE/spool" "$LAB/$NODE/state"
munged --foreground --force --num-threads=2 --key-file="$LAB/munge.key" --pid-file=/run/munge/munged.pid --seed-file="$LAB/$NODE/seed" &
for i in $(seq 200); do [ -S /run/munge/munge.socket.2 ] && break; sleep 0.05; done
export SLURM_CONF="$LAB/slurm.conf"
"#;

fn daemons(node: &str) -> String {
    let daemon = if node == HEAD { "slurmctld -D" } else { "slurmd -D -b" };
    format!("{MUNGE}{daemon} &")
}

pub struct Cluster {
    nodes: Nodes,
    lab: PathBuf,
}

impl Cluster {
    /// Three idle nodes, or none where Slurm is not installed.
    pub fn up(lab: &Path) -> Option<Cluster> {
        if !nodes::are_there(&DAEMONS, "slurmctld, slurmd, slurm-client and munge") {
            return None;
        }
        std::fs::create_dir_all(lab).expect("a folder");
        configure(lab);
        let cluster = Cluster { nodes: Nodes::up(lab, daemons), lab: lab.into() };
        cluster.wait_until("three nodes are idle", |cluster| {
            let said = cluster.run(&["sinfo", "-h", "-N", "-o", "%t"]);
            String::from_utf8_lossy(&said.stdout).lines().filter(|state| *state == "idle").count() == NODES.len()
        });
        Some(cluster)
    }

    /// Kills a node, all of it at once.
    pub fn kill(&mut self, node: &str) {
        self.nodes.kill(node);
    }

    /// Cuts or heals the link of a node.
    pub fn link(&self, node: &str, state: &str) {
        self.nodes.link(node, state);
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
        let mut inside = self.nodes.inside(node, command);
        inside.env("SLURM_CONF", self.lab.join("slurm.conf"));
        inside
    }

    /// Waits at most three minutes; what the daemons said is told where that was in vain.
    #[track_caller]
    pub fn wait_until(&self, what: &str, is_true: impl Fn(&Cluster) -> bool) {
        let began = Instant::now();
        while !is_true(self) {
            let waited = began.elapsed();
            if waited > Duration::from_secs(180) {
                let queue = String::from_utf8_lossy(&self.run(&["squeue"]).stdout).into_owned();
                panic!("waited in vain until {what}\n{queue}\n{}", self.nodes.logs());
            }
            // The longer it takes, the less often: a look starts a program or two, which read the fleet's files.
            std::thread::sleep((waited / 20).clamp(Duration::from_millis(400), Duration::from_secs(1)));
        }
    }
}

fn configure(lab: &Path) {
    let write = |name: &str, bytes: &[u8]| std::fs::write(lab.join(name), bytes).expect("a file in the lab");
    let key: Vec<u8> = (0..1024).map(|_| rand_byte()).collect();
    write("munge.key", &key);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(lab.join("munge.key"), mode).expect("ours");
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let configuration = format!(
        "ClusterName=lab\nSlurmctldHost=ctl({head})\nSlurmUser=root\nSlurmdUser=root\nAuthType=auth/munge\nCredType=cred/munge\n\
         ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nMpiDefault=none\nSelectType=select/cons_tres\n\
         SelectTypeParameters=CR_CPU\nSchedulerParameters=sched_interval=5,batch_sched_delay=1\nStateSaveLocation={lab}/ctl/state\n\
         SlurmdSpoolDir={lab}/%n/spool\nSlurmctldPidFile=/run/slurmctld.pid\nSlurmdPidFile=/run/slurmd.pid\n\
         SlurmdParameters=config_overrides\nReturnToService=2\nSlurmdTimeout=10\nSlurmctldTimeout=10\nMessageTimeout=5\nTCPTimeout=2\n\
         KillWait=5\nInactiveLimit=0\nJobRequeue=1\nJobAcctGatherType=jobacct_gather/none\n\
         AccountingStorageType=accounting_storage/none\nNodeName=n[1-3] NodeAddr={net}[1-3] CPUs={cpus} RealMemory=1000 State=UNKNOWN\n\
         PartitionName=lab Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n",
        head = address(HEAD),
        net = address("n"),
        lab = lab.display(),
    );
    write("slurm.conf", configuration.as_bytes());
}

fn rand_byte() -> u8 {
    use std::hash::{BuildHasher as _, RandomState};
    RandomState::new().hash_one(0) as u8
}
