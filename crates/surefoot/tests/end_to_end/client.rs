//! Load from another machine: servers and a load agent in two network namespaces, with a link between them that delays, loses and can be
//! cut. The kernel here has no sch_netem, so the link is a process' own (`client/link.rs`), packet by packet.

#[path = "client/link.rs"]
mod link;

use crate::harness::{Said, World, processes, said, wait_until};
use agent::{Agent, Pairing, Side};
use link::{AGENT, Link, SERVER};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// The program under test, as an agent does not run as root: with no rights but to find it.
fn as_nobody(command: &mut Command) {
    command.args(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]);
    command.args(["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search", env!("CARGO_BIN_EXE_surefoot")]);
}

/// An agent that listens, and ends with this.
struct Listening {
    process: Child,
    address: SocketAddr,
}

impl Listening {
    /// In the network that `inside` enters.
    fn start(world: &World, mut inside: Command, address: &str) -> Listening {
        as_nobody(&mut inside);
        inside.args(["load-agent", "--listen", address, "--pairing", "lab.agent"]).current_dir(world.path());
        let mut process = inside.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("an agent starts");
        let mut line = String::new();
        let output = process.stdout.take().expect("it is piped");
        BufReader::new(output).read_line(&mut line).expect("it says where it listens");
        let address = line.trim().strip_prefix("listening on ").and_then(|address| address.parse().ok());
        Listening { process, address: address.unwrap_or_else(|| panic!("{line:?}")) }
    }

    fn has_worker(&self) -> bool {
        let parent = format!("PPid:\t{}\n", self.process.id());
        let processes = std::path::Path::new("/proc").read_dir().expect("/proc").flatten();
        let mut all = processes.filter_map(|entry| std::fs::read_to_string(entry.path().join("status")).ok());
        all.any(|status| status.contains(&parent))
    }

    fn kill(&mut self) {
        self.process.kill().expect("it is ours");
        self.process.wait().expect("it has ended");
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A world with a pairing, and an agent beyond a link.
fn beyond(link: &Link) -> (World, Listening) {
    let world = World::new();
    world.surefoot(&["load-agent", "--pair", "lab"]).status(0);
    let agent = Listening::start(&world, link.inside(AGENT), &at(link));
    (world, agent)
}

/// A command of surefoot's in the server's network.
fn beside_server(world: &World, link: &Link, arguments: &[&str]) -> Command {
    let mut command = link.inside(SERVER);
    command.arg(env!("CARGO_BIN_EXE_surefoot")).args(arguments).current_dir(world.path()).stdin(Stdio::null());
    command
}

fn run(world: &World, link: &Link) -> Said {
    said(&beside_server(world, link, &["run", "s.toml", "--pairing", "lab.study"]).output().expect("it starts"))
}

/// Where a link's agent listens.
fn at(link: &Link) -> String {
    format!("{}:7077", link.address(AGENT))
}

fn study(client: &str, workload: &str, factors: &str) -> String {
    format!(
        "name = \"s\"\nquestion = \"?\"\nclient = \"{client}\"\n[factors]\n{factors}\n[storage]\nfilesystem = \"ext4\"\n\
         size = \"320MiB\"\n{workload}\n[design]\nprobe = \"0s\"\nrounds_min = 1\nrounds_max = 1\nwarm_up_runs = 0\n\
         control = false\n"
    )
}

fn oltp(engine: &str, time: &str) -> String {
    format!(
        "[workload.oltp]\nengine = \"{engine}\"\ntable_size = 1000\nthreads = 2\nmix = \"point-select\"\ntime = \"{time}\"\n"
    )
}

/// All runs' metrics of this name.
fn values(json: &Value, metric: &str) -> Vec<f64> {
    let runs = json["ledger"]["runs"].as_array().expect("runs").iter();
    runs.map(|run| run["metrics"][metric].as_f64().unwrap_or_else(|| panic!("{metric}: {run}"))).collect()
}

#[test]
fn a_database_is_loaded_over_a_network_that_delays_and_loses() {
    // 10 ms each way, and one packet in a hundred is lost.
    let link = Link::new(Duration::from_millis(10), 100);
    let (world, agent) = beyond(&link);
    world.write("s.toml", study(&at(&link), &oltp("postgres", "2s"), ""));
    let text = run(&world, &link).status(0).stdout;
    let json = world.report("s.surefoot");
    let medians = values(&json, "client_round_trip_microseconds_median");
    assert!(!medians.is_empty() && medians.iter().all(|median| *median >= 20_000.0), "{medians:?}");
    // Two connections in a closed loop on a network of 20 ms: no more than 100 a second.
    let rates = values(&json, "queries_per_second");
    assert!(rates.iter().all(|rate| *rate > 1.0 && *rate <= 101.0), "{rates:?}");
    assert!(text.contains(&format!("Load: from {}, ", at(&link))), "{text}");
    let whole = world.surefoot(&["report", "s.surefoot", "--full"]).stdout;
    assert!(whole.contains("the network's round trip"), "{whole}");
    let machine = json["ledger"]["sessions"][0]["machine"].as_object().expect("facts");
    assert!(machine["client_cpu_model"].is_string() && machine["client"] == at(&link));
    drop(agent);

    // The same without a client is another measurement.
    let beside = std::fs::read_to_string(world.path().join("s.toml")).expect("it is there");
    let beside: String =
        beside.lines().filter(|line| !line.starts_with("client")).map(|line| format!("{line}\n")).collect();
    world.write("beside.toml", beside);
    world.surefoot(&["run", "beside.toml", "--results", "beside.surefoot"]).status(0);
    let compared = world.surefoot(&["compare", "beside.surefoot", "s.surefoot"]);
    assert_eq!(compared.status, Some(2), "{compared:?}");
    compared.says("with the load from");
    world.assert_nothing_left();
}

#[test]
fn stores_and_web_servers_are_loaded_from_elsewhere() {
    let link = Link::new(Duration::ZERO, 0);
    let (world, agent) = beyond(&link);
    let redis = "[workload.key-value]\nengine = \"redis\"\nrecords = 500\nthreads = 2\ntime = \"500ms\"\n";
    let etcd = "[workload.key-value]\nengine = \"etcd\"\nrecords = 200\nthreads = 2\ntime = \"500ms\"\n";
    let http = "[workload.http-load]\nserver = \"nginx\"\nfiles = 20\nconnections = 4\ntime = \"500ms\"\n";
    let page = |page: usize| {
        format!(
            "::1 - - [24/Nov/2026:10:00:00 +0000] \"GET /{}?q=\\\"é HTTP/1.1\" 200 {} \"-\" \"-\"\n",
            page % 40,
            100 + page % 40
        )
    };
    world.write("pages.log", (0..400).map(page).collect::<String>());
    let replay = "[workload.http-replay]\nserver = \"nginx\"\nlog = \"pages.log\"\nrequests = 300\nconnections = 4\n";
    world.write("schema.sql", "CREATE TABLE counted (id integer PRIMARY KEY, n integer NOT NULL);\n");
    world.write("rows.data", "\\table counted 10\n\\column id :row\n\\column n 0\n");
    world.write("count.sql", "\\set id random(1, 10)\nUPDATE counted SET n = n + 1 WHERE id = :id;\n");
    let own = "[workload.sql]\nengine = \"postgres\"\nschema = \"schema.sql\"\ndata = \"rows.data\"\nscripts = [\"count.sql@2\"]\n\
               threads = 2\ntime = \"60s\"\ntransactions = 200\n[workload.sql.checks]\n\"SELECT count(*), min(n) > 0 FROM counted\" = \"10|t\"\n";
    for (workload, factors, rate) in [
        (own.to_string(), "", "queries_per_second"),
        (redis.to_string(), "\"service.redis.data\" = [\"template\", \"load\"]", "operations_per_second"),
        (etcd.to_string(), "", "operations_per_second"),
        (http.to_string(), "\"service.nginx.tls\" = [false, true]", "requests_per_second"),
        (replay.to_string(), "", "requests_per_second"),
        (oltp("mariadb", "500ms"), "", "queries_per_second"),
        (oltp("postgres", "500ms").replace("point-select", "read-write"), "", "queries_per_second"),
    ] {
        world.write("s.toml", study(&at(&link), &workload, factors));
        let _ = std::fs::remove_file(world.path().join("s.surefoot"));
        run(&world, &link).status(0);
        let json = world.report("s.surefoot");
        let rates = values(&json, rate);
        assert!(!rates.is_empty() && rates.iter().all(|rate| *rate > 0.0), "{workload}: {rates:?}");
    }
    drop(agent);
    world.assert_nothing_left();
}

/// Starts a study with a long run and waits until its load is under way.
fn under_way(world: &World, link: &Link) -> Child {
    world.write("s.toml", study(&at(link), &oltp("postgres", "60s"), ""));
    let mut command = beside_server(world, link, &["run", "s.toml", "--pairing", "lab.study", "--quiet"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    // What PostgreSQL calls the process of a connection from there.
    let is_under_way = || processes().iter().any(|(_, line)| line.contains(&format!("{}(", link.address(AGENT))));
    wait_until("the load is under way", is_under_way);
    child
}

/// PostgreSQL takes the agent's machine only, and asks it for a password.
fn nobody_else_gets_in(link: &Link) {
    let listening = link.inside(SERVER).args(["ss", "--listening", "--tcp", "--numeric", "--no-header"]).output();
    let listening = String::from_utf8(listening.expect("ss starts").stdout).expect("text");
    let address = link.address(SERVER);
    let words: Vec<&str> =
        listening.split_whitespace().filter(|word| word.starts_with(&format!("{address}:"))).collect();
    let [server] = words[..] else { panic!("one address is listened on: {listening}") };
    let port = server.rsplit_once(':').expect("a port").1;
    for (end, why) in [(SERVER, "no pg_hba.conf entry"), (AGENT, "no password supplied")] {
        let mut psql = link.inside(end);
        psql.args([
            "psql",
            "--no-password",
            "--host",
            &address,
            "--port",
            port,
            "--username=postgres",
            "--command=SELECT 1",
        ]);
        let said = said(&psql.env("LC_ALL", "C").env_remove("PGPASSWORD").output().expect("psql starts"));
        assert_ne!(said.status, Some(0), "{said:?}");
        said.says(why);
    }
}

/// It failed with these words, and no figure.
fn has_failed(world: &World, child: Child, words: &str) {
    let said = said(&child.wait_with_output().expect("it ends"));
    let json = world.report("s.surefoot");
    let trial = &json["ledger"]["trials"][0];
    assert!(said.status != Some(0) && trial["state"] == "failed", "{said:?} {trial}");
    assert!(trial.to_string().contains(words), "{trial}");
    assert!(json["ledger"]["runs"].as_array().is_none_or(Vec::is_empty), "{}", json["ledger"]["runs"]);
}

#[test]
fn a_killed_agent_a_cut_network_and_an_interrupt_leave_no_figure_and_nothing_behind() {
    let link = Link::new(Duration::ZERO, 0);
    let (world, mut agent) = beyond(&link);
    let child = under_way(&world, &link);
    nobody_else_gets_in(&link);
    agent.kill();
    has_failed(&world, child, "its connection was lost");
    world.assert_nothing_left();

    std::fs::remove_file(world.path().join("s.surefoot")).expect("it is there");
    let agent = Listening::start(&world, link.inside(AGENT), &at(&link));
    let child = under_way(&world, &link);
    link.cut(true);
    has_failed(&world, child, "its connection was lost");
    link.cut(false);
    // The agent sees for itself that nobody is there any more.
    wait_until("the agent's workers end", || !agent.has_worker());

    std::fs::remove_file(world.path().join("s.surefoot")).expect("it is there");
    let child = under_way(&world, &link);
    let pid = nix::unistd::Pid::from_raw(child.id() as i32);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).expect("it runs");
    let said = said(&child.wait_with_output().expect("it ends"));
    assert_eq!(said.status, Some(130), "{said:?}");
    drop(agent);
    world.assert_nothing_left();
}

#[test]
fn an_agent_refuses_who_is_not_its_pair_and_what_it_does_not_drive() {
    let world = World::new();
    world.surefoot(&["load-agent", "--pair", "lab"]).status(0);
    world.surefoot(&["load-agent", "--pair", "other"]).status(0);
    let mut env = Command::new("env");
    env.env("LC_ALL", "C");
    let agent = Listening::start(&world, env, "127.0.0.1:0");
    let name = agent.address.to_string();
    let reach = |pairing: &str, lease: &str, version: &str| {
        Agent::reach(&name, &of_study(&world, pairing), lease, version)
            .map_err(|error| observe::record::causes(&error).join(": "))
    };
    let version = env!("SUREFOOT_VERSION");
    hostile(agent.address);
    // Who holds many connections keeps out itself alone.
    let many: Vec<TcpStream> = (0..20).map(|_| TcpStream::connect(agent.address).expect("it listens")).collect();
    wait_until("an address has enough", || reach("lab.study", "first", version).is_err());
    drop(many);
    wait_until("it is free again", || reach("lab.study", "first", version).is_ok());

    let held = reach("lab.study", "first", version).expect("it is let in");
    let second = reach("lab.study", "first", version).expect("a study has several trials");
    let refusal =
        |pairing: &str, lease: &str, version: &str| reach(pairing, lease, version).err().expect("it is refused");
    assert!(refusal("lab.study", "second", version).contains("busy"));
    assert!(refusal("lab.study", "first", "v0").contains("both must be of one version"));
    assert!(refusal("other.study", "first", version).contains("can't be reached"));
    // The right keys with another token.
    let text = std::fs::read_to_string(world.path().join("lab.study")).expect("it is there");
    let mut written: Value = serde_json::from_str(&text).expect("JSON");
    written["token"] = "AAAA".into();
    std::fs::write(world.path().join("lab.study"), written.to_string()).expect("it is ours");
    assert!(refusal("lab.study", "first", version).contains("the token is not that"));
    std::fs::write(world.path().join("lab.study"), text).expect("it is ours");

    // A kind that would run what the other side names.
    let kind = workloads::kind("command").expect("a kind");
    let server = load::workload::Server {
        at: load::workload::At::Network { address: agent.address, is_secure: false },
        password: None,
    };
    let null = workloads::kind("null").expect("a kind");
    let here = (null.read)(&settings::defaults(null.settings)).open().expect("it opens");
    let none = AtomicBool::new(false);
    let opened = second.open(kind, &settings::defaults(kind.settings), &server, here, &none);
    assert!(opened.err().expect("refused").to_string().contains("and not `command`"));

    drop(held);
    wait_until("the agent is free again", || reach("lab.study", "second", version).is_ok());
    drop(agent);
    for (arguments, words) in [
        (["load-agent", "--listen", "0.0.0.0:0", "--pairing", "lab.agent"], "listens on one address"),
        (["load-agent", "--listen", "127.0.0.1:0", "--pairing", "lab.study"], "NAME.agent"),
    ] {
        let mut command = Command::new("env");
        as_nobody(&mut command);
        let said = said(&command.args(arguments).current_dir(world.path()).output().expect("it starts"));
        said.status(2).says(words);
    }
    world.surefoot(&["load-agent", "--listen", "127.0.0.1:0", "--pairing", "lab.agent"]).status(2).says("root");
    world.assert_nothing_left();
}

fn of_study(world: &World, name: &str) -> Pairing {
    Pairing::read(&world.path().join(name), Side::Study).expect("a pairing")
}

/// What a stranger may send: nothing, bytes of no protocol, and more than anybody reads. It hears nothing of use, and is hung up on.
fn hostile(address: SocketAddr) {
    let connect = || TcpStream::connect(address).expect("it listens");
    let silent: Vec<TcpStream> = (0..5).map(|_| connect()).collect();
    for bytes in [
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        vec![0; 1 << 20],
        vec![0xff; 1 << 20],
        b"\x16\x03\x01\xff\xff".repeat(4000),
    ] {
        let mut stream = connect();
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time");
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut heard = Vec::new();
        let _ = stream.read_to_end(&mut heard);
        assert!(heard.len() < 100, "it was told {} bytes", heard.len());
    }
    drop(silent);
    // A record of 512 bytes, one at a time, does not keep a connection for longer than a handshake may take.
    let mut slow = let_in(address);
    let begun = Instant::now();
    let mut record = [0x16, 3, 1, 2, 0].into_iter().chain(std::iter::repeat(1));
    while slow.write_all(&[record.next().expect("it has no end")]).is_ok() {
        assert!(begun.elapsed() < Duration::from_secs(60), "a stranger is kept");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(begun.elapsed() > Duration::from_secs(5), "it was a record as far as it came");
}

/// A connection that is kept: an agent that has not seen yet that others of this address are gone hangs up on it at once.
fn let_in(address: SocketAddr) -> TcpStream {
    let mut kept = None;
    wait_until("an address is let in again", || {
        let mut stream = TcpStream::connect(address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_millis(300))).expect("a time");
        let is_kept = stream.read(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        kept = Some(stream).filter(|_| is_kept);
        is_kept
    });
    kept.expect("it was let in")
}

#[test]
fn what_an_agent_can_not_drive_is_refused_by_plan() {
    let world = World::new();
    let missing = |workload: &str, words: &str| {
        world.write("s.toml", study("192.0.2.7:7077", workload, ""));
        world.surefoot(&["plan", "s.toml"]).status(0).says(words);
    };
    missing("[workload.block-io]\n", "a load agent drives");
    missing("[workload.oltp]\nengine = \"sqlite\"\n", "embedded engine");
    missing(&format!("[cpus]\nclient = [0]\n{}", oltp("postgres", "1s")), "another machine's CPUs");
    world.write("s.toml", study("192.0.2.7:7077", &oltp("postgres", "1s"), ""));
    world.surefoot(&["plan", "s.toml"]).status(0).says("the load comes from");
    world.surefoot(&["run", "s.toml"]).status(2).says("--pairing FILE");
    world.assert_nothing_left();
}
