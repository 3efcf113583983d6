//! Our database load beside sysbench's and pgbench's: the same server, tables, threads and seconds, in alternating pairs.
//! `cargo bench -p surefoot --bench database`; with `-- --only TEXT` the cases with that text. `cargo test` runs it
//! too, for what does not depend on speed: the same statements, and the right rows.
//!
//! Before the pairs, one run of each side with the server's own count of statements shows that both ask the same of it; after
//! them, our load drives the table that sysbench itself loaded.
//!
//! Goals: at least their transactions per second; at most 0.8 of sysbench's CPU time per transaction, user and kernel, and at
//! most that of pgbench, and half of sysbench's for order entry. Missed where the median's interval lies wholly on the wrong side.

#[path = "database/replay.rs"]
mod replay;
#[path = "database/server.rs"]
mod server;

use goals::{Goals, Spread};
use nix::sys::resource::UsageWho;
use observe::cpu::used_seconds;
use serde_json::{Value, json};
use server::{Load, Server};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, ExitCode};

/// Odd, so that the median is a pair's.
const PAIRS: usize = 9;

const THREADS: usize = 16;

struct Scale {
    pairs: usize,
    seconds: u32,
    table_size: u64,
    /// Of pgbench's tables.
    scale: u32,
}

struct Case {
    name: &'static str,
    service: &'static str,
    workload: &'static str,
    mix: &'static str,
    peer: Peer,
    /// How statements are sent: sysbench's and `tpcb` are prepared.
    protocol: &'static str,
    cpu_ratio_max: f64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Peer {
    /// A script of sysbench.
    Sysbench(&'static str),
    /// A built-in script of pgbench, on tables of its own in a database beside ours.
    Pgbench(&'static str),
    /// sysbench's scripts for order entry, on the tables that we loaded.
    Orders,
}

/// The folder of these scripts (github.com/Percona-Lab/sysbench-tpcc): they are no package.
const ORDERS_FOLDER: &str = "SYSBENCH_TPCC";

const CASES: &[Case] = &[
    case("postgres", "point-select", "oltp_point_select"),
    case("postgres", "read-write", "oltp_read_write"),
    case("mariadb", "point-select", "oltp_point_select"),
    case("mariadb", "read-write", "oltp_read_write"),
    tpcb("select-only"),
    tpcb("tpcb-like"),
    own("sql select-only", "select-only", "prepared"),
    own("sql select-only, simple", "select-only", "simple"),
    own("sql simple-update, extended", "simple-update", "extended"),
    own("sql tpcb-like", "tpcb-like", "prepared"),
    own("sql tpcb-like, simple", "tpcb-like", "simple"),
    orders("postgres"),
    orders("mariadb"),
];

/// The database that pgbench fills for itself.
const THEIR_DATABASE: &str = "theirs";

const fn tpcb(mix: &'static str) -> Case {
    Case { workload: "tpcb", ..own(mix, mix, "prepared") }
}

const fn orders(service: &'static str) -> Case {
    let peer = Peer::Orders;
    Case {
        name: "orders",
        service,
        workload: "orders",
        mix: "sysbench",
        peer,
        protocol: "prepared",
        cpu_ratio_max: 0.5,
    }
}

/// pgbench's own script, unchanged, as a user's.
const fn own(name: &'static str, script: &'static str, protocol: &'static str) -> Case {
    let peer = Peer::Pgbench(script);
    Case { name, service: "postgres", workload: "sql", mix: script, peer, protocol, cpu_ratio_max: 1.0 }
}

const fn case(service: &'static str, mix: &'static str, script: &'static str) -> Case {
    let peer = Peer::Sysbench(script);
    Case { name: mix, service, workload: "oltp", mix, peer, protocol: "prepared", cpu_ratio_max: 0.8 }
}

/// What one side did.
struct Side {
    transactions: f64,
    transactions_per_second: f64,
    cpu_seconds_per_transaction: f64,
}

/// Statements that the server counted, by their first word.
type Counts = BTreeMap<String, f64>;

fn main() -> ExitCode {
    let Some(mut goals) = Goals::of("database") else { return ExitCode::SUCCESS };
    let is_test = goals.is_test();
    let only = goals.after("--only").unwrap_or_default().to_string();
    let scale = match is_test {
        true => Scale { pairs: 0, seconds: 1, table_size: 10_000, scale: 1 },
        false => Scale { pairs: PAIRS, seconds: 4, table_size: 100_000, scale: 16 },
    };
    if !is_test {
        head(&scale);
    }
    for service in ["postgres", "mariadb"] {
        let cases: Vec<&Case> = CASES
            .iter()
            .filter(|case| case.service == service && format!("{} {}", case.service, case.name).contains(&only))
            .collect();
        let replays = service == "postgres" && "postgres replay".contains(&only);
        if cases.is_empty() && !replays {
            continue;
        }
        let server = Server::start(service, &settings_of(service));
        for case in &cases {
            let is_missing = case.peer == Peer::Orders && std::env::var_os(ORDERS_FOLDER).is_none();
            if is_missing && !is_test {
                println!("{service} orders: not measured; {ORDERS_FOLDER} names no folder with sysbench's scripts");
            } else if !is_missing {
                compare(case, &scale, &server, &mut goals);
            }
        }
        if service == "postgres" && cases.iter().any(|case| case.workload == "sql") {
            load_dumps(&scale, &server);
        }
        if cases.iter().any(|case| case.mix == "read-write") {
            drive_sysbenchs_table(service, &scale, &server);
        }
        if replays {
            fill(&scale, &server);
            replay::compare(&scale, &server, &mut goals);
        }
    }
    goals.end()
}

fn head(scale: &Scale) {
    println!(
        "ours / theirs, medians of {} pairs of {} s, {THREADS} threads, closed loop; server and load share {} CPUs",
        scale.pairs,
        scale.seconds,
        std::thread::available_parallelism().map_or(1, usize::from)
    );
    println!("{:34} {:>9} {:>9} {:>6} {:>13} {:>8} {:>13}", "", "ours 1/s", "theirs", "rate", "96 %", "CPU/tx", "96 %");
}

/// PostgreSQL's own count of statements is loaded, and off but for one run of each side.
fn settings_of(service: &str) -> Value {
    let counting = json!({ "shared_preload_libraries": "pg_stat_statements", "pg_stat_statements.track": "none" });
    if service == "postgres" { json!({ "settings": counting }) } else { json!({}) }
}

impl Server {
    /// What a statement of its own client says, a row a line.
    fn ask(&self, sql: &str) -> String {
        let (program, words) = client(self.name, &self.socket());
        let flags: &[&str] = if self.name == "postgres" { &["-At", "-F\t", "-c"] } else { &["-N", "-e"] };
        let output =
            Command::new(program).args(words).args(flags).arg(sql).output().expect("the server's client is there");
        assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// What the server counts while `act` runs, a transaction.
    fn counted(&self, by: &str, act: impl FnOnce() -> Side) -> Counts {
        let begin = self.statements(by);
        let side = act();
        let mut end = self.statements(by);
        end.iter_mut().for_each(|(name, count)| *count -= begin.get(name).copied().unwrap_or(0.0));
        // A handful are of those who ask and set up.
        end.retain(|_, count| *count >= side.transactions / 2.0);
        end.into_iter().map(|(name, count)| (name, count / side.transactions)).collect()
    }

    fn statements(&self, by: &str) -> Counts {
        let said = match self.name {
            "postgres" => self.ask(&format!("SELECT {by}, sum(calls) FROM pg_stat_statements GROUP BY 1")),
            _ => self.ask(
                "SELECT upper(substr(variable_name, 5)), variable_value FROM information_schema.global_status WHERE \
                 variable_name IN ('Com_select', 'Com_insert', 'Com_update', 'Com_delete', 'Com_begin', 'Com_commit')",
            ),
        };
        let line = |line: &str| {
            let (name, count) = line.split_once('\t')?;
            Some((name.to_string(), count.parse().ok()?))
        };
        said.lines().filter_map(line).collect()
    }

    fn count(&self, on: bool) {
        if self.name == "postgres" {
            let track = if on { "all" } else { "none" };
            self.ask("CREATE EXTENSION IF NOT EXISTS pg_stat_statements");
            self.ask(&format!("ALTER SYSTEM SET pg_stat_statements.track = '{track}'"));
            self.ask("SELECT pg_reload_conf()");
        }
    }
}

fn compare(case: &Case, scale: &Scale, server: &Server, goals: &mut Goals) {
    let mut ours = Ours::new(case, scale, server);
    // Both once unmeasured: caches of server and kernel are warm for all, and pgbench has made its tables.
    if !goals.is_test() {
        ours.run();
    }
    theirs(case, scale, server);
    let name = format!("{} {}", case.service, case.name);
    if case.peer != Peer::Orders {
        goals.must(&format!("{name}: both sides ask the same"), same_statements(case, scale, server, &mut ours));
    }
    if scale.pairs == 0 {
        return ours.clear();
    }
    let (mut all_ours, mut all_theirs) = (Vec::new(), Vec::new());
    for pair in 0..scale.pairs {
        // Who goes first changes, so that a drift of the machine hits both.
        if pair % 2 == 0 {
            all_ours.push(ours.run());
            all_theirs.push(theirs(case, scale, server));
        } else {
            all_theirs.push(theirs(case, scale, server));
            all_ours.push(ours.run());
        }
    }
    let spread = |values: Vec<f64>| Spread::of(&values);
    let ratios = |of: fn(&Side) -> f64| spread(all_ours.iter().zip(&all_theirs).map(|(a, b)| of(a) / of(b)).collect());
    let speed = |sides: &[Side]| spread(sides.iter().map(|side| side.transactions_per_second).collect()).median;
    let (rate, cpu) = (ratios(|side| side.transactions_per_second), ratios(|side| side.cpu_seconds_per_transaction));
    let peer = match case.peer {
        Peer::Sysbench(peer) | Peer::Pgbench(peer) => peer,
        Peer::Orders => "sysbench",
    };
    println!(
        "{:34} {:9.0} {:9.0} {:6.3} {:>13} {:8.3} {:>13}",
        format!("{name} ({peer})"),
        speed(&all_ours),
        speed(&all_theirs),
        rate.median,
        range(rate),
        cpu.median,
        range(cpu)
    );
    goals.at_least(&format!("{name}: transactions as a share of {peer}'s"), rate, 1.0);
    goals.at_most(&format!("{name}: CPU time as a share of {peer}'s"), cpu, case.cpu_ratio_max);
    if case.peer == Peer::Orders {
        goals.must(&format!("{name}: sysbench's own check accepts the tables"), their_check(case, scale, server));
    }
    ours.clear();
}

/// What PostgreSQL's statements are counted by.
const WHOLE_TEXT: &str = "query";
const FIRST_WORD: &str =
    "CASE upper(split_part(query, ' ', 1)) WHEN 'END' THEN 'COMMIT' ELSE upper(split_part(query, ' ', 1)) END";

/// Whether both sides ask the same of the server, by its own count. Retried transactions ask twice: 5 % are allowed.
fn same_statements(case: &Case, scale: &Scale, server: &Server, ours: &mut Ours) -> bool {
    // Whole texts where both read the same script.
    let by = if case.workload == "sql" { WHOLE_TEXT } else { FIRST_WORD };
    server.count(true);
    let our_counts = server.counted(by, || ours.run());
    let their_counts = server.counted(by, || theirs(case, scale, server));
    server.count(false);
    let names: Vec<&String> = our_counts.keys().chain(their_counts.keys()).collect();
    let of = |counts: &Counts, name: &str| counts.get(name).copied().unwrap_or(0.0);
    let same = names.iter().all(|name| (of(&our_counts, name) / of(&their_counts, name) - 1.0).abs() < 0.05);
    let words = |counts: &Counts| {
        let words: Vec<String> = counts.iter().map(|(name, count)| format!("{name} {count:.2}")).collect();
        words.join(", ")
    };
    let (ours, theirs) = (words(&our_counts), words(&their_counts));
    let verdict = if same { "the same of both".into() } else { format!("NOT THE SAME: theirs {theirs}") };
    println!("{} {}: the server counts a transaction as {ours}; {verdict}", case.service, case.name);
    same
}

/// What pg_dump wrote of pgbench's tables is loaded, and its script runs on it.
fn load_dumps(scale: &Scale, server: &Server) {
    for format in ["custom", "plain"] {
        let path = server.folder.path().join(format);
        let host = server.socket().parent().expect("a folder").display().to_string();
        let dumped = Command::new("pg_dump")
            .args(["--host", &host, "--username=postgres", "--format", format, "--file"])
            .arg(&path)
            .arg(THEIR_DATABASE)
            .output()
            .expect("pg_dump comes with PostgreSQL");
        assert!(dumped.status.success(), "pg_dump: {}", String::from_utf8_lossy(&dumped.stderr));
        let mut changes = own_files("select-only", "prepared", scale, server);
        changes["schema"] = "".into();
        changes["data"] = "".into();
        changes["dump"] = path.display().to_string().into();
        changes["time"] = "1s".into();
        changes["checks"] = json!({ "SELECT count(*) FROM pgbench_accounts": 100_000 * scale.scale });
        let mut ours = Ours::open("sql", &changes, PGBENCH_TABLES, server);
        ours.load.prepare();
        let side = ours.run();
        ours.load.verify();
        ours.clear();
        println!("postgres: {} transactions on what pg_dump wrote ({format})", side.transactions);
    }
}

const PGBENCH_TABLES: &[&str] = &["pgbench_accounts", "pgbench_branches", "pgbench_tellers", "pgbench_history"];

/// A table that sysbench loaded is ours to drive and to check.
fn drive_sysbenchs_table(service: &'static str, scale: &Scale, server: &Server) {
    let mut prepare = sysbench_command("oltp_read_write", service, scale, server);
    let output = prepare.arg(format!("--table-size={}", scale.table_size)).arg("prepare").output();
    let output = output.expect("the package sysbench is installed");
    assert!(output.status.success(), "sysbench: {}", String::from_utf8_lossy(&output.stdout));
    let changes = json!({ "engine": service, "threads": THREADS, "table_size": scale.table_size,
                          "time": format!("{}s", scale.seconds) });
    let mut ours = Ours::open("oltp", &changes, &["sbtest1"], server);
    let side = ours.run();
    ours.load.verify();
    ours.clear();
    println!("{service}: {} transactions on the table that sysbench loaded, and every row is right", side.transactions);
}

/// Our workload on the server, loaded once.
struct Ours {
    load: Load,
    tables: Vec<&'static str>,
    service: &'static str,
}

impl Ours {
    fn new(case: &Case, scale: &Scale, server: &Server) -> Ours {
        let mut changes = json!({ "engine": case.service, "threads": THREADS, "time": format!("{}s", scale.seconds) });
        let more = match case.peer {
            Peer::Sysbench(_) => json!({ "mix": case.mix, "table_size": scale.table_size }),
            Peer::Pgbench(_) if case.workload == "tpcb" => json!({ "mix": case.mix, "scale": scale.scale }),
            Peer::Pgbench(script) => own_files(script, case.protocol, scale, server),
            Peer::Orders => json!({ "mix": case.mix, "warehouses": WAREHOUSES }),
        };
        changes.as_object_mut().expect("a table").extend(more.as_object().expect("a table").clone());
        let tables: &[&'static str] = match case.peer {
            Peer::Sysbench(_) => &["sbtest1"],
            Peer::Pgbench(_) => PGBENCH_TABLES,
            Peer::Orders => &[
                "warehouse1",
                "district1",
                "customer1",
                "history1",
                "orders1",
                "new_orders1",
                "order_line1",
                "stock1",
                "item1",
            ],
        };
        let mut ours = Ours::open(case.workload, &changes, tables, server);
        ours.load.prepare();
        ours
    }

    fn open(workload: &str, changes: &Value, tables: &[&'static str], server: &Server) -> Ours {
        Ours { load: Load::open(workload, changes, server), tables: tables.to_vec(), service: server.name }
    }

    fn run(&mut self) -> Side {
        let (figure, used) = self.load.run();
        let transactions = figure("transactions");
        Side {
            transactions,
            transactions_per_second: figure("transactions_per_second"),
            cpu_seconds_per_transaction: used / transactions,
        }
    }

    fn clear(self) {
        let (program, words) = client(self.service, &self.load.socket);
        let sql = format!("DROP TABLE {}", self.tables.join(", "));
        let flag = if self.service == "postgres" { "-c" } else { "-e" };
        assert!(
            Command::new(program).args(words).args([flag, &sql]).output().is_ok_and(|output| output.status.success()),
            "{sql}"
        );
    }
}

/// pgbench's tables, as its manual describes them ("Initialization Options"), and a script as pgbench itself shows it.
fn own_files(script: &str, protocol: &str, scale: &Scale, server: &Server) -> Value {
    let shown = Command::new("pgbench").arg(format!("--show-script={script}")).output().expect("pgbench is there");
    let text = [shown.stdout, shown.stderr].concat();
    assert!(shown.status.success(), "pgbench: {}", String::from_utf8_lossy(&text));
    let schema = "CREATE TABLE pgbench_history (tid int, bid int, aid int, delta int, mtime timestamp, filler char(22));\n\
        CREATE TABLE pgbench_tellers (tid int NOT NULL PRIMARY KEY, bid int, tbalance int, filler char(84)) WITH (fillfactor = 100);\n\
        CREATE TABLE pgbench_accounts (aid int NOT NULL PRIMARY KEY, bid int, abalance int, filler char(84)) WITH (fillfactor = 100);\n\
        CREATE TABLE pgbench_branches (bid int NOT NULL PRIMARY KEY, bbalance int, filler char(88)) WITH (fillfactor = 100);\n";
    let data = "\\table pgbench_branches :scale\n\\column bid :row\n\\column bbalance 0\n\
        \\table pgbench_tellers 10 * :scale\n\\column tid :row\n\\column bid (:row - 1) / 10 + 1\n\\column tbalance 0\n\
        \\table pgbench_accounts 100000 * :scale\n\\column aid :row\n\\column bid (:row - 1) / 100000 + 1\n\
        \\column abalance 0\n\\column filler ''\n";
    let write = |name: &str, text: &[u8]| {
        let path = server.folder.path().join(name);
        std::fs::write(&path, text).expect("our own folder");
        path.display().to_string()
    };
    json!({
        "schema": write("schema.sql", schema.as_bytes()), "data": write("tables.data", data.as_bytes()),
        "scripts": [write("script.sql", &text)], "variables": { "scale": scale.scale }, "protocol": protocol,
    })
}

fn client(service: &str, socket: &Path) -> (&'static str, Vec<String>) {
    let folder = socket.parent().expect("a folder").display();
    match service {
        "postgres" => ("psql", vec![format!("--host={folder}"), "--username=postgres".into(), "--quiet".into()]),
        _ => ("mariadb", vec![format!("--socket={}", socket.display()), "--user=root".into(), "sbtest".into()]),
    }
}

fn theirs(case: &Case, scale: &Scale, server: &Server) -> Side {
    match case.peer {
        Peer::Sysbench(script) => sysbench(script, case, scale, server),
        Peer::Pgbench(script) => pgbench(script, case.protocol, scale, server),
        Peer::Orders => of_sysbench(orders_command(case, scale, server)),
    }
}

fn pgbench_run(server: &Server, words: &[&str]) -> std::process::Output {
    let socket = server.socket();
    let folder = socket.parent().expect("a folder");
    let mut command = Command::new("pgbench");
    command.arg("--host").arg(folder).args(["--username=postgres"]).args(words).arg(THEIR_DATABASE);
    command.output().expect("pgbench comes with PostgreSQL")
}

/// pgbench's tables in a database of their own; gives whether they had not been there.
fn fill(scale: &Scale, server: &Server) -> bool {
    let there = server.ask(&format!("SELECT count(*) FROM pg_database WHERE datname = '{THEIR_DATABASE}'"));
    if there.trim() != "0" {
        return false;
    }
    server.ask(&format!("CREATE DATABASE {THEIR_DATABASE}"));
    let filled = pgbench_run(server, &["--initialize", "--quiet", "--scale", &scale.scale.to_string()]);
    assert!(filled.status.success(), "pgbench: {}", String::from_utf8_lossy(&filled.stderr));
    true
}

fn pgbench(script: &str, protocol: &str, scale: &Scale, server: &Server) -> Side {
    let run = |words: &[&str]| pgbench_run(server, words);
    let (seconds, threads) = (scale.seconds.to_string(), THREADS.to_string());
    let protocol = format!("--protocol={protocol}");
    let words =
        ["--no-vacuum", protocol.as_str(), "--builtin", script, "--client", &threads, "--jobs=2", "--time", &seconds];
    if fill(scale, server) {
        // As ours once unmeasured.
        run(&words);
    }
    let before = used_seconds(UsageWho::RUSAGE_CHILDREN);
    let output = run(&words);
    let used = used_seconds(UsageWho::RUSAGE_CHILDREN) - before;
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "pgbench: {text}{}", String::from_utf8_lossy(&output.stderr));
    let after = |head: &str| -> f64 {
        let line =
            text.lines().find_map(|line| line.strip_prefix(head)).unwrap_or_else(|| panic!("no `{head}` in {text}"));
        line.split_whitespace().next().and_then(|word| word.parse().ok()).expect("a number")
    };
    let transactions = after("number of transactions actually processed: ");
    let transactions_per_second = after("tps = ");
    Side { transactions, transactions_per_second, cpu_seconds_per_transaction: used / transactions }
}

fn sysbench_command(script: &str, service: &str, scale: &Scale, server: &Server) -> Command {
    let socket = server.socket();
    let mut command = Command::new("sysbench");
    command.args([script, "--tables=1"]);
    command.arg(format!("--threads={THREADS}")).arg(format!("--time={}", scale.seconds)).arg("--rand-type=uniform");
    match service {
        "postgres" => command
            .args(["--db-driver=pgsql", "--pgsql-user=postgres", "--pgsql-db=postgres"])
            .arg(format!("--pgsql-host={}", socket.parent().expect("a folder").display())),
        _ => command
            .args(["--db-driver=mysql", "--mysql-user=root", "--mysql-db=sbtest"])
            .arg(format!("--mysql-socket={}", socket.display())),
    };
    command
}

/// Warehouses: two connections meet at each, as they do in tests of small machines.
const WAREHOUSES: u64 = 8;

fn orders_command(case: &Case, scale: &Scale, server: &Server) -> Command {
    let mut command = sysbench_command("tpcc.lua", case.service, scale, server);
    // Ours leave the server's own level of isolation; this script sets one.
    let level = if case.service == "postgres" { "RC" } else { "RR" };
    let folder = std::env::var_os(ORDERS_FOLDER).expect("it was asked before");
    command.current_dir(folder).arg(format!("--scale={WAREHOUSES}")).arg(format!("--trx_level={level}"));
    command
}

/// Whether no line of their check says that a condition fails.
fn their_check(case: &Case, scale: &Scale, server: &Server) -> bool {
    // Without this index of theirs, it reads the whole history for each customer.
    server.ask("CREATE INDEX fkey_history_11 ON history1 (h_c_w_id, h_c_d_id, h_c_id)");
    let output = orders_command(case, scale, server).arg("check").output().expect("sysbench is installed");
    let text = String::from_utf8_lossy(&output.stdout);
    let (passed, failed) = (text.matches("PASSED").count(), text.matches("FAILED").count());
    println!("{} orders: sysbench's check: {passed} passed, {failed} failed", case.service);
    text.lines().filter(|line| line.contains("FAILED")).for_each(|line| println!("  {line}"));
    output.status.success() && failed == 0 && passed > 0
}

fn sysbench(script: &str, case: &Case, scale: &Scale, server: &Server) -> Side {
    let mut command = sysbench_command(script, case.service, scale, server);
    command.arg(format!("--table-size={}", scale.table_size));
    of_sysbench(command)
}

fn of_sysbench(mut command: Command) -> Side {
    let before = used_seconds(UsageWho::RUSAGE_CHILDREN);
    let output = command.arg("run").output().expect("the package sysbench is installed");
    let used = used_seconds(UsageWho::RUSAGE_CHILDREN) - before;
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "sysbench: {text}{}", String::from_utf8_lossy(&output.stderr));
    let line =
        text.lines().find(|line| line.trim_start().starts_with("transactions:")).expect("sysbench counts transactions");
    let mut words = line.split_whitespace().skip(1);
    let transactions: f64 = words.next().and_then(|word| word.parse().ok()).expect("a number");
    let per_second: f64 = words.next().and_then(|word| word.trim_start_matches('(').parse().ok()).expect("a rate");
    Side { transactions, transactions_per_second: per_second, cpu_seconds_per_transaction: used / transactions }
}

fn range(spread: Spread) -> String {
    format!("{:.3}–{:.3}", spread.low, spread.high)
}
