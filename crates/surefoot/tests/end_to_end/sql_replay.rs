//! Servers' own logs are replayed on servers: the same statements come to the same ends, and what does not is told.

use crate::harness::World;

/// In the form of PostgreSQL's manual ("What to Log"), with Debian's prefix: sessions that meet, an error, a COPY, one transaction cut at each end.
const POSTGRES: &str = "\
2026-11-24 10:00:00.000 UTC [11] joe@shop LOG:  connection authorized: user=joe database=shop
2026-11-24 10:00:00.001 UTC [11] joe@shop LOG:  statement: CREATE TABLE items (
\tid integer PRIMARY KEY,
\tname text)
2026-11-24 10:00:00.002 UTC [12] LOG:  checkpoint starting: time
2026-11-24 10:00:00.003 UTC [13] joe@shop LOG:  statement: COMMIT
2026-11-24 10:00:00.010 UTC [11] joe@shop LOG:  execute add: INSERT INTO items VALUES ($1, $2)
2026-11-24 10:00:00.010 UTC [11] joe@shop DETAIL:  parameters: $1 = '1', $2 = 'it''s, $2 = ''x'''
2026-11-24 10:00:00.011 UTC [11] joe@shop LOG:  execute add: INSERT INTO items VALUES ($1, $2)
2026-11-24 10:00:00.011 UTC [11] joe@shop DETAIL:  parameters: $1 = '2', $2 = NULL
2026-11-24 10:00:00.012 UTC [11] joe@shop LOG:  execute add: INSERT INTO items VALUES ($1, $2)
2026-11-24 10:00:00.012 UTC [11] joe@shop DETAIL:  parameters: $1 = '2', $2 = 'again'
2026-11-24 10:00:00.013 UTC [11] joe@shop ERROR:  duplicate key value violates unique constraint \"items_pkey\"
2026-11-24 10:00:00.013 UTC [11] joe@shop DETAIL:  Key (id)=(2) already exists.
2026-11-24 10:00:00.013 UTC [11] joe@shop STATEMENT:  INSERT INTO items VALUES ($1, $2)
2026-11-24 10:00:00.014 UTC [11] joe@shop LOG:  statement: COPY items FROM STDIN
2026-11-24 10:00:00.020 UTC [14] joe@shop LOG:  connection authorized: user=joe database=shop
2026-11-24 10:00:00.021 UTC [14] joe@shop LOG:  execute <unnamed>: SELECT name FROM items WHERE id = $1
2026-11-24 10:00:00.021 UTC [14] joe@shop DETAIL:  parameters: $1 = '1'
2026-11-24 10:00:00.022 UTC [14] joe@shop LOG:  statement: BEGIN
2026-11-24 10:00:00.023 UTC [14] joe@shop LOG:  statement: UPDATE items SET name = 'new' WHERE id = 2
2026-11-24 10:00:00.024 UTC [14] joe@shop LOG:  statement: COMMIT
2026-11-24 10:00:00.025 UTC [14] joe@shop LOG:  disconnection: session time: 0:00:00.005 user=joe database=shop host=[local]
2026-11-24 10:00:00.030 UTC [11] joe@shop LOG:  statement: SELECT 1 / count(*) FROM items WHERE name = 'new'
2026-11-24 10:00:00.040 UTC [11] joe@shop LOG:  statement: BEGIN
2026-11-24 10:00:00.041 UTC [11] joe@shop LOG:  statement: DELETE FROM items
";

/// In the form of MariaDB's general log. The prepared statement has its values in its text; one message has two statements.
const MARIADB: &str = "\
/usr/sbin/mariadbd, Version: 10.11.6-MariaDB (Debian 12). started with:
Tcp port: 0  Unix socket: /run/mysqld/mysqld.sock
Time\t\t    Id Command\tArgument
261124 10:00:00\t     3 Connect\tjoe@localhost on shop using Socket
\t\t     3 Query\tCREATE TABLE items (
id integer PRIMARY KEY, name text)
\t\t     3 Prepare\tINSERT INTO items VALUES (?, ?)
\t\t     3 Execute\tINSERT INTO items VALUES (1,'it''s')
\t\t     3 Query\tSELECT 1; UPDATE items SET name = 'b'
261124 10:00:01\t     4 Connect\tjoe@localhost on shop using Socket
\t\t     4 Query\tSELECT name FROM items
\t\t     3 Close stmt\t
\t\t     3 Quit\t
\t\t     4 Query\tBEGIN
\t\t     4 Query\tUPDATE items SET name = 'new'
";

fn study(engine: &str, log: &str, more: &str) -> String {
    format!(
        "name = \"s\"\nquestion = \"?\"\n[factors]\n\"storage.filesystem\" = [\"ext4\"]\n[storage]\nsize = \"320MiB\"\n\
         [workload.sql-replay]\nengine = \"{engine}\"\nlog = \"{log}\"\n{more}\n\
         [design]\nprobe = \"0s\"\nrounds_min = 1\nrounds_max = 1\nwarm_up_runs = 1\nruns = 2\ncontrol = false\n"
    )
}

#[test]
fn a_log_is_replayed_in_parts_and_its_errors_come_again() {
    let world = World::new();
    for (engine, log, statements, refused) in [("postgres", POSTGRES, 9.0, 1.0), ("mariadb", MARIADB, 4.0, 0.0)] {
        let name = format!("{engine}.log");
        world.write(&name, log);
        let json = world.run(study(engine, &name, ""), 0);
        let runs = json["ledger"]["runs"].as_array().expect("runs");
        let sum = |name: &str| runs.iter().map(|run| run["metrics"][name].as_f64().expect(name)).sum::<f64>();
        assert_eq!((runs.len(), sum("statements"), sum("sessions")), (3, statements, 2.0), "{engine}");
        assert_eq!((sum("refused_as_logged"), sum("errors")), (refused, 0.0), "{engine}: {json}");
        let notes = json["ledger"].to_string();
        assert!(notes.contains("of transactions that the log cuts in half"), "{notes}");
        std::fs::remove_file(world.path().join("s.surefoot")).expect("its results");
    }
}

/// The settings promise more than a table of a dump keeps.
#[test]
fn tables_of_a_dump_that_a_crash_empties_are_said() {
    let world = World::new();
    world.write("pg.log", POSTGRES);
    world.write(
        "pg.sql",
        "--\n-- PostgreSQL database dump\n--\nCREATE UNLOGGED TABLE public.scratch (a integer);\n\
         --\n-- PostgreSQL database dump complete\n--\n",
    );
    world.write("s.toml", study("postgres", "pg.log", "dump = \"pg.sql\""));
    world.surefoot(&["run", "s.toml"]).status(0);
    world.surefoot(&["report", "s.surefoot", "--full"]).says("A crash empties or breaks scratch");
}

#[test]
fn an_error_that_the_log_had_not_fails_the_run() {
    let world = World::new();
    let lines: Vec<&str> = POSTGRES
        .lines()
        .filter(|line| !["ERROR", "Key (id)", "STATEMENT"].iter().any(|word| line.contains(word)))
        .collect();
    world.write("less.log", lines.join("\n") + "\n");
    world.write("s.toml", study("postgres", "less.log", ""));
    world.surefoot(&["run", "s.toml"]).says("refused, where the log has an answer").says("duplicate key value");
}

#[test]
fn what_cannot_be_replayed_is_told_before_the_first_trial() {
    let world = World::new();
    world.write("pg.log", POSTGRES);
    world.write("other.log", "[Tue Nov 24 10:00:00] AH00094: Command line\n".repeat(30));
    world.write("quiet.log", "2026-11-24 10:00:00.002 UTC [12] LOG:  checkpoint starting: time\n");
    for (engine, log, more, said) in [
        ("postgres", "", "", "names the server's log"),
        ("postgres", "none.log", "", "none.log"),
        ("postgres", "other.log", "", "30 of 30 lines are not of the form `stderr`"),
        ("postgres", "quiet.log", "", "log_statement = 'all'"),
        ("mariadb", "pg.log", "", "has the form `stderr`, and mariadb writes general, slow"),
        ("sqlite", "pg.log", "", "sqlite writes no log"),
        ("postgres", "pg.log", "database = \"shops\"", "no session on the database `shops`; it has shop"),
        ("postgres", "pg.log", "log_line_prefix = \"%m \"", "does not tell sessions apart"),
        ("postgres", "pg.log", "dump = \"pg.log\"\nform = \"csv\"", "are not of the form `csv`"),
    ] {
        world.write("s.toml", study(engine, log, more));
        world.surefoot(&["plan", "s.toml"]).status(2).says(said);
    }
    world.surefoot(&["replay", "pg.log", "postgres:///shop"]).says("names no host");
    world
        .surefoot(&["replay", "pg.log", "mysql://localhost/shop"])
        .says("has the form `stderr`, and mariadb writes general, slow");
    world.surefoot(&["replay", "pg.log", "postgres://h/shop", "--rate", "5"]).says("`--rate` is for http://");
    let said =
        world.surefoot(&["replay", "pg.log", "postgres://127.0.0.1:1/shop"]).says("cannot connect to 127.0.0.1:1");
    // A log of a live database has its changes, too.
    said.says("sent to: the database `shop`, in which what they change is changed again");
}
