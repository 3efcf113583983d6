//! Users' own scripts and data on real databases: they run, their checks are asked, and what can't be run is refused by its place.

use crate::harness::World;
use serde_json::Value;

const SCHEMA: &str = "-- Two tables\nCREATE TABLE counters (id integer PRIMARY KEY, n integer NOT NULL, name char(10), half real, gap char(5));\n\
                      CREATE TABLE seen (id integer NOT NULL, n integer NOT NULL);\nCREATE INDEX seen_id ON seen (id);\n";

const DATA: &str = "\\table counters 10 * :scale\n\\column id :row\n\\column n 0\n\\column name letters(10)\n\
                    \\column half :row / 2.0\n\\column gap NULL\n";

/// What it read itself, it writes; half of what it draws is in the first tenth.
const COUNT: &str = "\\set id random_exponential(1, 10 * :scale, 7)\nBEGIN;\nUPDATE counters SET n = n + 1 WHERE id = :id;\n\
                     SELECT n AS now, half FROM counters WHERE id = :id \\gset\n\\if :now > 0 and :half * 2 = :id\n\
                     INSERT INTO seen (id, n) VALUES (:id, :now);\n\\else\nSELECT 'never';\n\\endif\nCOMMIT;\n";

const LOOK: &str = "\\sleep 1 ms\nSELECT count(*) FROM seen WHERE id = 1 + :client_id;\n";

const CHECKS: &str = "\"SELECT count(*) FROM counters WHERE n <> (SELECT count(*) FROM seen WHERE seen.id = counters.id)\" = 0\n\
                      \"SELECT count(*), count(gap), count(DISTINCT name) FROM counters\" = \"200|0|200\"\n";

fn study(factors: &str, sql: &str, checks: &str) -> String {
    // A server's own files take more than the tables.
    let size = if factors.contains("[\"sqlite\"]") { "64MiB" } else { "320MiB" };
    format!(
        "name = \"s\"\nquestion = \"?\"\n[factors]\n{factors}\n[storage]\nfilesystem = \"ext4\"\nsize = \"{size}\"\n\
         [workload.sql]\nvariables = {{ scale = 20 }}\n{sql}\n[workload.sql.checks]\n{checks}\n\
         [design]\nprobe = \"0s\"\nrounds_min = 1\nrounds_max = 1\nwarm_up_runs = 0\ncontrol = false\n"
    )
}

fn world() -> World {
    let world = World::new();
    for (name, text) in [("schema.sql", SCHEMA), ("tables.data", DATA), ("count.sql", COUNT), ("look.sql", LOOK)] {
        world.write(name, text);
    }
    world
}

const OWN: &str = "schema = \"schema.sql\"\ndata = \"tables.data\"\nscripts = [\"count.sql@3\", \"look.sql\"]\nthreads = 3\ntime = \"400ms\"";

fn runs(world: &World) -> Vec<Value> {
    let json = world.report("s.surefoot");
    json["ledger"]["runs"].as_array().expect("runs").clone()
}

#[test]
fn scripts_run_on_every_database_by_every_protocol() {
    let world = world();
    let factors = "\"workload.sql.engine\" = [\"postgres\", \"mariadb\", \"sqlite\"]\n\
                   \"workload.sql.protocol\" = [\"simple\", \"prepared\", \"extended\"]";
    let exclude = ["mariadb", "sqlite"].map(|engine| {
        format!("[[exclude]]\n\"workload.sql.engine\" = \"{engine}\"\n\"workload.sql.protocol\" = \"extended\"\n")
    });
    // By number, and not by time: a busy machine does few in a moment.
    let sql = OWN.replace("time = \"400ms\"", "time = \"60s\"\ntransactions = 120");
    world.write("s.toml", format!("{}{}", study(factors, &sql, CHECKS), exclude.concat()));
    world.surefoot(&["run", "s.toml"]).status(0);
    let runs = runs(&world);
    assert_eq!(runs.len(), 7);
    for run in &runs {
        let figure = |name: &str| run["metrics"][name].as_f64().expect(name);
        assert!(figure("transactions") > 20.0, "{run}");
        // Three of four transactions have two writes and one read, the fourth one read.
        let (writes, reads) = (figure("writes") / figure("transactions"), figure("reads") / figure("transactions"));
        assert!((0.9..2.1).contains(&writes) && (0.95..1.5).contains(&reads), "{run}");
    }
    world.assert_nothing_left();
}

#[test]
fn a_check_that_does_not_hold_fails_the_trial() {
    let world = world();
    let factors = "\"workload.sql.engine\" = [\"sqlite\"]";
    world.write("s.toml", study(factors, OWN, "\"SELECT count(*) FROM counters WHERE n > 0\" = 0\n"));
    let said = world.surefoot(&["run", "s.toml"]);
    assert!(
        said.stderr.contains("wrong data in SELECT count(*) FROM counters WHERE n > 0: expected 0"),
        "{}",
        said.stderr
    );
    said.status(3);
    world.assert_nothing_left();
}

/// Work that was never committed must be no figure.
#[test]
fn a_transaction_that_is_never_committed_is_no_figure() {
    let world = world();
    world.write("open.sql", "SET autocommit = 0;\nINSERT INTO seen (id, n) VALUES (1, 1);\n");
    let sql = OWN.replace("\"count.sql@3\", \"look.sql\"", "\"open.sql\"") + "\nengine = \"mariadb\"";
    world.write("s.toml", study("\"storage.mount\" = [[\"relatime\"]]", &sql, ""));
    let said = world.surefoot(&["run", "s.toml"]);
    assert!(said.stderr.contains("it is still open when all its statements are answered"), "{}", said.stderr);
    said.status(3);
    world.assert_nothing_left();
}

/// A `$` without a number is no parameter, and a row may begin with a fraction.
#[test]
fn a_prepared_statement_is_sent_as_it_is_written() {
    let world = world();
    let script = "SELECT 1.5e0 AS half, JSON_VALUE('{\"a\": 7}', '$.a') AS seven \\gset\n\
                  INSERT INTO seen (id, n) VALUES (1 + :client_id, :seven);\n";
    world.write("dollar.sql", script);
    let sql = OWN.replace("\"count.sql@3\", \"look.sql\"", "\"dollar.sql\"") + "\nengine = \"mariadb\"";
    let checks = "\"SELECT count(*) FROM seen WHERE n <> 7\" = 0\n\"SELECT count(*) > 0 FROM seen\" = 1\n";
    world.write("s.toml", study("\"workload.sql.protocol\" = [\"prepared\"]", &sql, checks));
    world.surefoot(&["run", "s.toml"]).status(0);
    world.assert_nothing_left();
}

#[test]
fn a_study_does_not_go_on_with_another_script() {
    let world = world();
    world.write("s.toml", study("\"workload.sql.engine\" = [\"sqlite\"]", OWN, ""));
    world.surefoot(&["run", "s.toml"]).status(0);
    world.write("look.sql", "SELECT 1;\n");
    let again = ["run", "s.toml", "--rounds", "2"];
    let said = world.surefoot(&again);
    let changed = "changed since the first trial: input look.sql was 65 bytes, SHA-256";
    assert!(said.stderr.contains(changed) && said.stderr.contains("--accept-changes"), "{}", said.stderr);
    said.status(2);
    world.surefoot(&[&again[..], &["--accept-changes"]].concat()).status(0);
    let report = world.surefoot(&["report", "s.surefoot", "--full"]).stdout;
    assert!(report.contains("changed while the study went on: input look.sql: 65 bytes"), "{report}");
}

#[test]
fn a_key_that_stays_taken_is_given_up() {
    let world = world();
    world.write("taken.sql", "INSERT INTO counters (id, n) VALUES (1, 0);\n");
    let sql = OWN.replace("\"count.sql@3\", \"look.sql\"", "\"taken.sql\"");
    world.write("s.toml", study("\"workload.sql.engine\" = [\"sqlite\"]", &sql, ""));
    let said = world.surefoot(&["run", "s.toml"]);
    assert!(said.stderr.contains("given up (first: a duplicate key)"), "{}", said.stderr);
    said.status(3);
}

#[test]
fn what_can_not_be_run_is_refused_by_its_place() {
    let world = world();
    world.write("bad.sql", "SELECT 1;\n\\set a rnd(1, 2)\n");
    world.write("copy.sql", "/* rows */ COPY seen FROM STDIN;\n");
    world.write("quoted.sql", "\\set a 1\nSELECT n FROM counters WHERE name = ':a';\n");
    world.write("bad.data", "\\table counters 10\n\\column id :rows\n");
    world.write("bad-schema.sql", "CREATE TABLE t (a int);\nSELECT 'x;\n");
    world.write("dump.sql", "--\n-- PostgreSQL database dump\n--\nCREATE TABLE t (a int);\n");
    for (change, problem) in [
        ("scripts = [\"bad.sql\"]", "bad.sql:2:8: there is no function `rnd`"),
        ("scripts = []", "scripts: name at least one file"),
        ("scripts = [\"none.sql\"]", "scripts: cannot read none.sql"),
        ("dump = \"none.dump\"", ", where surefoot was started"),
        ("data = \"bad.data\"", "bad.data:2:12: nothing sets the variable `rows`"),
        ("schema = \"bad-schema.sql\"", "bad-schema.sql:2: this quote has no end"),
        ("dump = \"dump.sql\"", "its end is missing: `PostgreSQL database dump complete`"),
        (
            "engine = \"sqlite\"\ndump = \"dump.sql\"",
            "a text of pg_dump, which sqlite does not load: set engine = \"postgres\"",
        ),
        ("engine = \"sqlite\"\nprotocol = \"extended\"", "sqlite has no `extended`"),
        ("engine = \"mariadb\"\nprotocol = \"prepared\"\nscripts = [\"quoted.sql\"]", "`:a` stands in quotes"),
        ("scripts = [\"copy.sql\"]", "COPY seen FROM STDIN`: COPY moves rows"),
    ] {
        let changed: Vec<&str> = change.lines().filter_map(|line| line.split(" = ").next()).collect();
        let kept = OWN.lines().filter(|line| !changed.iter().any(|name| line.starts_with(name)));
        let sql: Vec<&str> = kept.chain(change.lines()).collect();
        world.write("s.toml", study("\"storage.mount\" = [[\"relatime\"]]", &sql.join("\n"), ""));
        let said = world.surefoot(&["run", "s.toml"]);
        assert!(said.stderr.contains(problem), "{change}: {}", said.stderr);
        said.status(2);
    }
    world.assert_nothing_left();
}

/// Dumps as the databases' own tools write them: the texts' lines are those of pg_dump 15.18 and mysqldump 10.19. PostgreSQL's has indexes that
/// its check of B-trees refuses.
#[test]
fn dumps_are_loaded() {
    let world = World::new();
    world.write("look.sql", "\\set a random(1, 2)\nSELECT b FROM t WHERE a = :a \\gset\n");
    world.write(
        "pg.sql",
        "--\n-- PostgreSQL database dump\n--\n\\restrict x1\nSET standard_conforming_strings = on;\n\
         CREATE TABLE public.t (\n    a integer NOT NULL,\n    b text\n);\nALTER TABLE public.t OWNER TO \"an app\";\n\
         COPY public.t (a, b) FROM stdin;\n1\tone; ALTER\n2\t\\N\n\\.\n\
         ALTER TABLE ONLY public.t ADD CONSTRAINT t_pkey PRIMARY KEY (a);\nGRANT SELECT ON TABLE public.t TO reader;\n\
         CREATE UNLOGGED TABLE public.scratch (a integer);\n\
         CREATE INDEX t_words ON public.t USING gin (to_tsvector('simple'::regconfig, b));\n\
         CREATE INDEX t_blocks ON public.t USING brin (a);\nCREATE INDEX t_hash ON public.t USING hash (b);\n\
         CREATE TABLE public.parted (a integer PRIMARY KEY) PARTITION BY RANGE (a);\n\
         CREATE TABLE public.part PARTITION OF public.parted FOR VALUES FROM (0) TO (10);\n\
         \\unrestrict x1\n--\n-- PostgreSQL database dump complete\n--\n",
    );
    world.write(
        "my.sql",
        "-- MariaDB dump 10.19  Distrib 10.11.19-MariaDB, for debian-linux-gnu (x86_64)\n\
         DROP TABLE IF EXISTS `t`;\nCREATE TABLE `t` (\n  `a` int(11) NOT NULL,\n  `b` text DEFAULT NULL,\n  PRIMARY KEY (`a`)\n) ENGINE=InnoDB;\n\
         LOCK TABLES `t` WRITE;\nINSERT INTO `t` VALUES\n(1,'one; it\\'s'),\n(2,NULL);\nUNLOCK TABLES;\n-- Dump completed on 2026-11-23 12:00:00\n",
    );
    let lite = rusqlite::Connection::open(world.path().join("lite.db")).expect("a file");
    lite.execute_batch("CREATE TABLE t (a integer PRIMARY KEY, b text); INSERT INTO t VALUES (1, 'one;'), (2, NULL);")
        .expect("it takes them");
    drop(lite);
    world.write(
        "lite.sql",
        "PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nCREATE TABLE t (a integer PRIMARY KEY, b text);\n\
         INSERT INTO t VALUES(1,'one;');\nINSERT INTO t VALUES(2,NULL);\nCOMMIT;\n",
    );
    for (engine, dump) in [("postgres", "pg.sql"), ("mariadb", "my.sql"), ("sqlite", "lite.db"), ("sqlite", "lite.sql")]
    {
        let sql = format!("engine = \"{engine}\"\ndump = \"{dump}\"\nscripts = [\"look.sql\"]\ntime = \"200ms\"");
        let checks = "\"SELECT count(*), count(b), sum(a) FROM t\" = \"2|1|3\"";
        world.write("s.toml", study("\"storage.mount\" = [[\"relatime\"]]", &sql, checks));
        world.surefoot(&["run", "s.toml", "--results", &format!("{dump}.surefoot")]).status(0);
    }
    // The dump's own words weaken what the settings promise.
    let noted = world.surefoot(&["report", "pg.sql.surefoot", "--full"]).stdout;
    assert!(noted.contains("A crash empties or breaks scratch"), "{noted}");
    // What the database itself refuses is said in its tool's words.
    world.write(
        "pg.sql",
        "--\n-- PostgreSQL database dump\n--\nCREATE TABEL t (a integer);\n-- PostgreSQL database dump complete\n",
    );
    let sql = "dump = \"pg.sql\"\nscripts = [\"look.sql\"]\ntime = \"200ms\"";
    world.write("s.toml", study("\"storage.mount\" = [[\"relatime\"]]", sql, ""));
    let said = world.surefoot(&["run", "s.toml"]);
    assert!(said.stderr.contains("pg.sql:4: ERROR"), "{}", said.stderr);
    said.status(3);
    world.assert_nothing_left();
}

/// PostgreSQL's manual, ALTER DATABASE: its settings stand above those of the file, and nobody asks back what a study does not set.
#[test]
fn a_dump_that_flushes_less_has_the_class_of_that() {
    let world = World::new();
    world.write("look.sql", "SELECT count(*) FROM t;\n");
    world.write(
        "pg.sql",
        "--\n-- PostgreSQL database dump\n--\nCREATE TABLE t (a integer);\n\
         ALTER DATABASE postgres SET synchronous_commit = off;\n--\n-- PostgreSQL database dump complete\n--\n",
    );
    let sql = "dump = \"pg.sql\"\nscripts = [\"look.sql\"]\ntime = \"200ms\"";
    world.write("s.toml", study("\"storage.mount\" = [[\"relatime\"]]", sql, ""));
    world.surefoot(&["run", "s.toml"]).status(0);
    let json = world.surefoot(&["report", "s.surefoot", "--json"]).json();
    let warnings = json["ledger"]["trials"][0]["warnings"].to_string();
    // Where image files are in memory, all is lost anyway.
    let is_lost_anyway = warnings.contains("the image file lies on: ");
    assert!(warnings.contains("settings do not say: synchronous_commit = off") || is_lost_anyway, "{warnings}");
    world.assert_nothing_left();
}

/// A queue that was emptied goes on with its numbers; a table that a rule filled goes on behind its last row.
#[test]
fn numbers_of_rows_go_on_where_a_dump_or_a_rule_left_them() {
    let world = World::new();
    world.write("look.sql", "SELECT count(*) FROM jobs;\n");
    world.write(
        "pg.sql",
        "--\n-- PostgreSQL database dump\n--\nCREATE TABLE public.jobs (\n    id integer NOT NULL\n);\n\
         CREATE SEQUENCE public.jobs_id_seq AS integer;\nALTER SEQUENCE public.jobs_id_seq OWNED BY public.jobs.id;\n\
         ALTER TABLE ONLY public.jobs ALTER COLUMN id SET DEFAULT nextval('public.jobs_id_seq'::regclass);\n\
         SELECT pg_catalog.setval('public.jobs_id_seq', 1000, true);\n\
         --\n-- PostgreSQL database dump complete\n--\n",
    );
    world.write("made.sql", "CREATE TABLE made (id serial PRIMARY KEY);\n");
    world.write("made.data", "\\table made 30\n\\column id :row\n");
    let sql =
        "dump = \"pg.sql\"\nschema = \"made.sql\"\ndata = \"made.data\"\nscripts = [\"look.sql\"]\ntime = \"200ms\"";
    let checks = "\"SELECT last_value, is_called FROM jobs_id_seq\" = \"1000|t\"\n\
                  \"SELECT last_value, is_called FROM made_id_seq\" = \"30|t\"\n";
    world.write("s.toml", study("\"storage.mount\" = [[\"relatime\"]]", sql, checks));
    world.surefoot(&["run", "s.toml"]).status(0);
    world.assert_nothing_left();
}

/// The connections that it shuts out tried again without end.
#[test]
fn a_connection_that_keeps_its_lock_has_no_others_beside_it() {
    let world = World::new();
    world.write("made.sql", "CREATE TABLE t (a integer);\n");
    world.write("own.sql", "PRAGMA locking_mode = EXCLUSIVE;\nINSERT INTO t VALUES (1);\n");
    let plan = |threads: u32| {
        let sql = format!("engine = \"sqlite\"\nschema = \"made.sql\"\nscripts = [\"own.sql\"]\nthreads = {threads}");
        world.write("s.toml", study("\"storage.mount\" = [[\"relatime\"]]", &sql, ""));
        world.surefoot(&["plan", "s.toml"])
    };
    plan(1).status(0);
    plan(2).status(2).says("set threads = 1");
}
