//! Logs that servers wrote (`tests/corpus/README.md`), read as what was asked of these servers.

mod left_out;
mod seconds;
mod slow;
mod transactions;

use sqllog::{Expects, Form, Log, Options, Problem, Reason, Session, Way, read};

fn text(name: &str) -> String {
    let path = format!("{}/tests/corpus/logs/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn shop(name: &str) -> Log {
    let options = Options { database: Some("shop".into()), ..Options::default() };
    read(&text(name), &options).unwrap_or_else(|problem| panic!("{name}: {problem}"))
}

/// A session's statements with their parameters and ends, as words.
fn words(log: &Log, session: &Session) -> Vec<String> {
    let step = |step: &sqllog::Step| {
        let text: String =
            log.texts()[step.text as usize].trim_end_matches(';').split_whitespace().collect::<Vec<_>>().join(" ");
        let params: Vec<&str> = log.params(step).iter().map(|value| value.as_deref().unwrap_or("NULL")).collect();
        let end = match &step.expects {
            Expects::Answer => "",
            Expects::Failure(_) => " fails",
            Expects::Unknown => "?",
        };
        format!("{text} {params:?}{end}")
    };
    session.steps.iter().map(step).collect()
}

/// What psql was told to ask, by the script that made the log.
const PSQL: [&str; 11] = [
    "CREATE TABLE items (id int PRIMARY KEY, name text) []",
    "INSERT INTO items SELECT i, 'it''s ' || i FROM generate_series(1,20) i []",
    "SELECT 1/0 [] fails",
    "SELEC 1 [] fails",
    "BEGIN []",
    "UPDATE items SET name = 'x' WHERE id = 1 []",
    "INSERT INTO items VALUES (1, 'again') [] fails",
    "ROLLBACK []",
    "PREPARE q(int) AS SELECT name FROM items WHERE id = $1 []",
    "EXECUTE q(3) []",
    "SELECT name, 'a tab' FROM items WHERE id < 3 []",
];

#[test]
fn the_forms_of_postgresql_say_the_same() {
    let forms = [
        ("statements.log", Form::Stderr),
        ("statements.csv", Form::Csv),
        ("statements.json", Form::Json),
        ("durations.log", Form::Stderr),
    ];
    for (name, form) in forms {
        let log = shop(name);
        assert_eq!((log.form, log.bad_lines), (form, 0), "{name}");
        // psql's, and of each of two ways two clients of pgbench; its first connection only looks.
        assert_eq!((log.sessions.len(), log.statements()), (5, 11 + 4 * 6), "{name}");
        assert_eq!(words(&log, &log.sessions[0]), PSQL, "{name}");
        for (number, session) in log.sessions[1..].iter().enumerate() {
            let way = if number < 2 { Way::Unnamed } else { Way::Prepared };
            assert!(session.steps.iter().all(|step| step.way == way), "{name}: {session:?}");
            for pair in words(&log, session).chunks(2) {
                let id = pair[0]
                    .strip_prefix("SELECT name FROM items WHERE id = $1 [\"")
                    .expect(name)
                    .trim_end_matches("\"]");
                assert_eq!(
                    pair[1],
                    format!("UPDATE items SET name = 'a''b' || $1 WHERE id = $2 [{id:?}, {id:?}]"),
                    "{name}"
                );
            }
            assert!(session.began.is_some() && session.ended.is_some(), "{name}");
        }
        assert_eq!(log.left_out.get(&Reason::Copy), Some(&1), "{name}");
        assert_eq!(log.left_out.get(&Reason::OtherDatabase), Some(&1), "{name}");
        assert_eq!((log.left_out.len(), log.concurrency()), (2, 2), "{name}");
    }
    let codes = |name: &str| -> Vec<Option<String>> {
        let log = shop(name);
        let code = |step: &sqllog::Step| match &step.expects {
            Expects::Failure(code) => Some(code.as_deref().map(str::to_string)),
            _ => None,
        };
        log.sessions[0].steps.iter().filter_map(code).collect()
    };
    // Division by zero, syntax error, unique violation (the manual's appendix A); this prefix has no `%e`.
    let expected = ["22012", "42601", "23505"].map(|code| Some(code.to_string()));
    assert_eq!((codes("statements.csv"), codes("statements.json")), (expected.to_vec(), expected.to_vec()));
    assert_eq!(codes("statements.log"), [None, None, None]);
}

#[test]
fn the_logs_of_mariadb_say_the_same() {
    let (general, slow) = (shop("general.log"), shop("slow.log"));
    assert_eq!((general.form, slow.form), (Form::General, Form::Slow));
    let update = "UPDATE sbtest1 SET k=k+1 WHERE id=5 []?";
    for log in [&general, &slow] {
        let by_client: Vec<Vec<String>> = log.sessions.iter().map(|session| words(log, session)).collect();
        let first =
            by_client.iter().find(|words| words[0].starts_with("CREATE TABLE items")).expect("the client's own");
        let expected = [
            "CREATE TABLE items (id int PRIMARY KEY, name text) []?",
            "INSERT INTO items VALUES (1,'it''s'),(2,'b'),(3,NULL) []?",
            "BEGIN []?",
            "UPDATE items SET name = 'x' WHERE id = 1 []?",
            "COMMIT []?",
        ];
        assert_eq!(first[..5], expected);
        assert_eq!(
            first[first.len() - 2..],
            ["SELECT name, 'a tab' FROM items WHERE id < 3 []?", "CALL mysql.nothing() []?"]
        );
        // The statement that was executed by its name is there once.
        let executed = first.iter().filter(|words| words.starts_with("EXECUTE") || words.contains("WHERE id = 3"));
        assert_eq!(executed.count(), 1, "{first:?}");
        let updates: Vec<&Vec<String>> = by_client.iter().filter(|words| words[0] == update).collect();
        assert_eq!(updates.iter().map(|words| words.len()).collect::<Vec<_>>(), [2, 2]);
        assert!(by_client.iter().flatten().all(|words| !words.starts_with("create database")), "it was on no database");
    }
    let rows: Vec<u64> = slow.sessions.iter().flat_map(|session| &session.steps).filter_map(|step| step.rows).collect();
    assert_eq!(rows, [1, 2], "of the two that select");
}

/// MySQL 8's forms, as its manual shows them.
#[test]
fn mysql_8_has_its_own_times_and_places_of_numbers() {
    let general = "/usr/sbin/mysqld, Version: 8.0.36 (MySQL Community Server - GPL). started with:\nTcp port: 3306  Unix socket: /tmp/mysql.sock\n\
                   Time                 Id Command    Argument\n2026-11-24T01:02:03.123456Z\t    8 Connect\tjoe@localhost on shop using Socket\n\
                   2026-11-24T01:02:03.223456Z\t    8 Query\tSELECT 1\n2026-11-24T01:02:04.223456Z\t    8 Quit\t\n";
    let slow = "# Time: 2026-11-24T01:02:03.323456Z\n# User@Host: joe[joe] @ localhost []  Id:     8\n\
                # Query_time: 0.100000  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 1\nuse shop;\nSET timestamp=1795482123;\nSELECT 1;\n";
    for (text, rows) in [(general, None), (slow, Some(1))] {
        let log = read(text, &Options::default()).expect("a log");
        let step = &log.sessions[0].steps[0];
        assert_eq!((&*log.texts()[0], step.at_microseconds, step.rows), ("SELECT 1", 1_795_482_123_223_456, rows));
        assert_eq!((&*log.sessions[0].databases, log.bad_lines), (&[(0, "shop".into())][..], 0));
    }
}

/// A session's statements are those of the database that it was on when it sent them.
#[test]
fn sessions_that_change_their_database_are_taken_apart() {
    let at = |second: u32| format!("2026-11-24T01:02:{second:02}.000000Z\t    8 ");
    let general = [
        "Connect\tjoe@localhost on shop using Socket",
        "Query\tSELECT 1",
        "Init DB\tblog",
        "Query\tSELECT 2",
        "Query\tuse `shop`;",
        "Query\tSELECT 3",
        "Quit\t",
    ];
    let general: String = (3..).zip(general).map(|(second, line)| at(second) + line + "\n").collect();
    // Two sessions of MySQL: the second one's first statement is on the database of the entry before.
    let entry = |id: u32, rest: &str| {
        format!(
            "# Time: 2026-11-24T01:02:03.323456Z\n# User@Host: joe[joe] @ localhost []  Id:     {id}\n\
             # Query_time: 0.1  Lock_time: 0.0 Rows_sent: 1  Rows_examined: 1\n{rest};\n"
        )
    };
    let slow = entry(8, "use shop;\nSET timestamp=1;\nSELECT 1")
        + &entry(9, "use blog;\nSET timestamp=1;\nSELECT 2")
        + &entry(8, "SET timestamp=1;\nSELECT 4")
        + &entry(9, "use shop;\nSET timestamp=1;\nSELECT 3");
    for (text, of_blog) in [(general, vec!["SELECT 2 []?"]), (slow, vec!["SELECT 2 []?", "SELECT 4 []?"])] {
        let of = |database: &str| {
            let options = Options { database: Some(database.into()), ..Options::default() };
            let log = read(&text, &options).unwrap_or_else(|problem| panic!("{database}: {problem}"));
            let mut all: Vec<String> = log.sessions.iter().flat_map(|session| words(&log, session)).collect();
            all.sort();
            (all, log.left_out.get(&Reason::OtherDatabase).copied())
        };
        assert_eq!(of("shop"), (vec!["SELECT 1 []?".into(), "SELECT 3 []?".into()], Some(of_blog.len() as u64)));
        assert_eq!(of("blog").0, of_blog);
        assert_eq!(read(&text, &Options::default()).expect_err("two"), Problem::Databases("blog, shop".into()));
    }
}

/// What a session sets before it chooses a database, and where its transactions begin and end, is for each database that it is on.
#[test]
fn what_a_session_does_for_all_its_databases_stays() {
    let asked = [
        "Connect\tjoe@localhost on  using Socket",
        "Query\tSET NAMES utf8mb4",
        "Init DB\tshop",
        "Query\tBEGIN",
        "Query\tSELECT 1",
        "Query\tUSE `my blog`",
        "Query\tSELECT 2",
        "Query\tCOMMIT",
        "Change user\tann@localhost on shop using Socket",
        "Query\tSELECT 3",
    ];
    let line = |(second, asked): (u32, &str)| format!("2026-11-24T01:02:{second:02}.000000Z\t    8 {asked}\n");
    let log: String = (3..).zip(asked).map(line).collect();
    let shop = Options { database: Some("shop".into()), ..Options::default() };
    let log = read(&log, &shop).expect("a log");
    let expected = ["SET NAMES utf8mb4 []?", "BEGIN []?", "SELECT 1 []?", "COMMIT []?", "SELECT 3 []?"];
    assert_eq!(words(&log, &log.sessions[0]), expected);
    assert_eq!(log.left_out.get(&Reason::OtherDatabase), Some(&1));
}

/// MySQL's own line before a statement has a name as it is; what a client sends is no statement to replay.
#[test]
fn use_in_a_slow_log_is_the_servers_or_a_clients() {
    let entry = |rest: &str| {
        format!(
            "# Time: 2026-11-24T01:02:03.323456Z\n# User@Host: joe[joe] @ localhost []  Id:     8\n\
             # Query_time: 0.1  Lock_time: 0.0 Rows_sent: 1  Rows_examined: 1\n{rest};\n"
        )
    };
    let log = entry("use my shop;\nSET timestamp=1;\nSELECT 1") + &entry("SET timestamp=1;\nUSE blog");
    let log = read(&log, &Options::default()).expect("a log");
    assert_eq!(words(&log, &log.sessions[0]), ["SELECT 1 []?"]);
    assert_eq!(log.sessions[0].databases, [(0, "my shop".into())]);
}

/// A replica that connects, and a server that is shut down: their commands are no lines of the statement before them.
#[test]
fn commands_of_the_protocol_end_the_statement_before_them() {
    let at = |second: u32| format!("2026-11-24T01:02:{second:02}.000000Z\t    8 ");
    let asked = [
        "Query\tSELECT 1",
        "Binlog Dump GTID\tLog: '' Pos: 4 GTIDs: ''",
        "Query\tSELECT 2",
        "Shutdown\t",
        "Query\tSELECT\n3",
    ];
    let log: String = (3..).zip(asked).map(|(second, line)| at(second) + line + "\n").collect();
    let log = read(&log, &Options::default()).expect("a log");
    assert_eq!(words(&log, &log.sessions[0]), ["SELECT 1 []?", "SELECT 2 []?", "SELECT 3 []?"]);
    assert_eq!(log.left_out, [(Reason::Command, 2)].into());
}

/// In a replay its number is another session's, and the server is needed until the end.
#[test]
fn what_ends_sessions_or_the_server_is_left_out() {
    let asked = ["SELECT 1", "KILL 9", "SHUTDOWN"].map(|asked| format!("261124  1:02:03\t    8 Query\t{asked}\n"));
    let log = read(&asked.concat(), &Options::default()).expect("a log");
    assert_eq!((words(&log, &log.sessions[0]).len(), log.left_out), (1, [(Reason::EndsOthers, 2)].into()));
}

/// Percona's form, before a database was chosen and after it.
#[test]
fn no_database_is_not_the_next_name() {
    let entry = |schema: &str, rest: &str| {
        format!(
            "# Time: 2026-11-24T01:02:03.323456Z\n# User@Host: joe[joe] @ localhost []  Id:     8\n\
             # Schema: {schema}  Last_errno: 0  Killed: 0\n\
             # Query_time: 0.1  Lock_time: 0.0  Rows_sent: 1  Rows_examined: 1\nSET timestamp=1;\n{rest};\n"
        )
    };
    let log = entry("", "SET NAMES utf8mb4") + &entry("shop", "SELECT 1");
    let log = read(&log, &Options::default()).expect("one database");
    assert_eq!(words(&log, &log.sessions[0]), ["SET NAMES utf8mb4 []?", "SELECT 1 []?"]);
}

/// A blob as the general log has it.
#[test]
fn bytes_that_are_no_text_are_not_sent_as_others() {
    let log = b"2026-11-24T01:02:03.000000Z\t    8 Query\tINSERT INTO t VALUES (_binary '\xFF\x00')\n\
                2026-11-24T01:02:04.000000Z\t    8 Query\tSELECT 'b\xC3\xA4r'\n";
    let log = read(&String::from_utf8_lossy(log), &Options::default()).expect("a log");
    assert_eq!(
        (words(&log, &log.sessions[0]), log.left_out.get(&Reason::NotUtf8)),
        (vec!["SELECT 'bär' []?".into()], Some(&1))
    );
}

#[test]
fn what_cannot_be_replayed_is_said() {
    let problem = |text: &str, options: &Options| read(text, options).expect_err("no log");
    let several = problem(&text("statements.log"), &Options::default());
    assert_eq!(several, Problem::Databases("postgres, shop".into()));
    let other = Options { database: Some("shops".into()), ..Options::default() };
    assert!(problem(&text("statements.log"), &other).to_string().contains("it has postgres, shop"));
    let as_csv = Options { form: Some(Form::Csv), ..Options::default() };
    assert!(matches!(problem(&text("statements.log"), &as_csv), Problem::BadLines { .. }));
    assert!(problem("", &Options::default()).to_string().contains("log_statement"));
    let first = Options { statements_max: 3, database: Some("shop".into()), ..Options::default() };
    let log = read(&text("statements.log"), &first).expect("a log");
    assert_eq!((log.statements() < 3, log.left_out.contains_key(&Reason::AfterLimit)), (true, true));
}

/// A session whose beginning or end the log has not; a transaction that was open there.
#[test]
fn halves_of_transactions_are_left_out() {
    let line = |second: u32, process: u32, text: &str| {
        format!("2026-11-24 10:00:{second:02}.000 UTC [{process}] LOG:  {text}\n")
    };
    let lines = [
        (0, 1, "statement: UPDATE t SET a = 1"),
        (1, 1, "statement: COMMIT"),
        (2, 1, "statement: SELECT 1"),
        (3, 1, "statement: BEGIN"),
        (4, 1, "statement: UPDATE t SET a = 2"),
        (5, 2, "connection received: host=[local]"),
        (6, 2, "statement: COMMIT"),
        (7, 2, "statement: BEGIN"),
        (8, 2, "statement: SELECT 2"),
        (9, 2, "disconnection: session time: 0:00:04"),
        (10, 3, "execute a: SELECT $1"),
    ];
    let text: String = lines.iter().map(|(second, process, text)| line(*second, *process, text)).collect();
    let log = read(&text, &Options::default()).expect("a log");
    let all: Vec<Vec<String>> = log.sessions.iter().map(|session| words(&log, session)).collect();
    // One that is seen to begin may commit nothing; one that is seen to end rolls back.
    assert_eq!(all, [vec!["SELECT 1 []"], vec!["COMMIT []", "BEGIN []", "SELECT 2 []"]]);
    assert_eq!(log.left_out, [(Reason::CutTransaction, 4), (Reason::ParametersUnknown, 1)].into());
}

/// PostgreSQL's lines of one session, a second each; what follows a tab belongs to the line before.
fn stderr_log(messages: &[&str]) -> Log {
    read_stderr(messages, Options::default())
}

fn read_stderr(messages: &[&str], options: Options) -> Log {
    let line = |(second, message): (usize, &&str)| format!("2026-11-26 10:00:{second:02}.000 UTC [7] {message}\n");
    let text: String = messages.iter().enumerate().map(line).collect();
    read(&text, &options).expect("a log")
}

#[test]
fn parameters_of_a_bind_are_not_those_of_the_statement_before() {
    let log = stderr_log(&[
        "LOG:  duration: 0.01 ms  execute <unnamed>: BEGIN",
        "LOG:  duration: 0.1 ms  bind <unnamed>: UPDATE t SET a = 1 WHERE id = $1",
        "DETAIL:  parameters: $1 = '5'",
        "LOG:  duration: 0.1 ms  execute <unnamed>: UPDATE t SET a = 1 WHERE id = $1",
        "DETAIL:  parameters: $1 = '5'",
        "LOG:  duration: 0.1 ms  execute <unnamed>: COMMIT",
    ]);
    assert_eq!(words(&log, &log.sessions[0]), ["BEGIN []", "UPDATE t SET a = 1 WHERE id = $1 [\"5\"]", "COMMIT []"]);
}

#[test]
fn what_a_client_sent_keeps_its_carriage_returns() {
    let log = stderr_log(&[
        "LOG:  execute s: INSERT INTO t VALUES ($1)",
        "DETAIL:  parameters: $1 = 'a\r\n\tb'",
        "LOG:  statement: SELECT 'c\r\n\td'",
    ]);
    let steps = &log.sessions[0].steps;
    assert_eq!(log.params(&steps[0])[0].as_deref(), Some("a\r\nb"));
    assert_eq!(&*log.texts()[steps[1].text as usize], "SELECT 'c\r\nd'");
}

#[test]
fn a_copy_is_left_out_wherever_it_stands() {
    let log = stderr_log(&[
        "LOG:  statement: /* app:etl */ COPY t FROM STDIN",
        "LOG:  statement: TRUNCATE t; COPY t FROM STDIN",
        "LOG:  statement: SELECT 'COPY; COPY'",
    ]);
    assert_eq!(words(&log, &log.sessions[0]), ["SELECT 'COPY; COPY' []"]);
    assert_eq!(log.left_out[&Reason::Copy], 2);
}

#[test]
fn a_limit_leaves_no_half_of_a_transaction() {
    let messages = [
        "LOG:  connection received: host=[local]",
        "LOG:  statement: SELECT 1",
        "LOG:  statement: BEGIN",
        "LOG:  statement: UPDATE t SET a = 1",
        "LOG:  statement: COMMIT",
        "LOG:  disconnection: session time: 1:00:00.000 user=a database=b host=[local]",
    ];
    let log = read_stderr(&messages, Options { statements_max: 3, ..Options::default() });
    assert_eq!((words(&log, &log.sessions[0]), log.sessions[0].ended), (vec!["SELECT 1 []".to_string()], None));
}

/// As Connector/J and Python's drivers begin: without it the first transaction would be taken for half of one.
#[test]
fn a_session_that_switches_autocommit_off_is_whole() {
    let statement = |second: u32, text: &str| {
        format!(
            "# Time: 261126 10:00:{second:02}\n# User@Host: a[a] @ localhost []\n# Thread_id: 8  Schema: shop  QC_hit: No\n\
             # Query_time: 0.001  Lock_time: 0.000  Rows_sent: 0  Rows_examined: 1\nSET timestamp=1795687{second:03};\n{text};\n"
        )
    };
    let texts = ["SET autocommit=0", "UPDATE t SET a=1", "COMMIT", "UPDATE t SET a=2", "COMMIT"];
    let text: String = (0..).zip(texts).map(|(second, text)| statement(second, text)).collect();
    let log = read(&text, &Options::default()).expect("a log");
    assert_eq!(words(&log, &log.sessions[0]), texts.map(|text| format!("{text} []?")));
}

/// As `tail` or a rotation leaves it: MariaDB writes a time where it is another than that of the entry before.
#[test]
fn a_log_that_begins_amid_a_second_is_of_that_day() {
    let general = "\t\t     8 Query\tSELECT 1\n261124  1:02:03\t     8 Query\tSELECT 2\n";
    let entry = "# User@Host: joe[joe] @ localhost []\n# Thread_id: 8  Schema: shop  QC_hit: No\n\
                 # Query_time: 0.1  Lock_time: 0.0  Rows_sent: 1  Rows_examined: 1\nSET timestamp=1;\n";
    let slow = format!("{entry}SELECT 1;\n# Time: 261124  1:02:03\n{entry}SELECT 2;\n");
    for text in [general, &slow] {
        let log = read(text, &Options::default()).expect("a log");
        let span = log.span();
        assert_eq!((log.statements(), log.bad_lines), (2, 0));
        assert!(span.start > 1_795_000_000_000_000 && span.end - span.start <= 1_000_000, "{span:?}");
    }
}

/// `log_error_verbosity = verbose`: a SQLSTATE before each message, and where in the server it was raised behind it.
#[test]
fn a_verbose_log_says_the_same_and_has_codes() {
    let plain = text("statements.log");
    let (mut codes, mut verbose) = (["22012", "42601", "23505"].into_iter(), String::new());
    let mut lines = plain.lines().peekable();
    while let Some(line) = lines.next() {
        let coded = match line.split_once(" ERROR:  ") {
            Some((before, after)) => format!("{before} ERROR:  {}: {after}", codes.next().expect("three errors")),
            None => line.replacen(" LOG:  ", " LOG:  00000: ", 1),
        };
        verbose += &format!("{coded}\n");
        if let Some((before, _)) =
            coded.split_once(" LOG:  ").filter(|_| !lines.peek().is_some_and(|next| next.starts_with('\t')))
        {
            verbose += &format!("{before} LOCATION:  exec_simple_query, postgres.c:1044\n");
        }
    }
    let options = Options { database: Some("shop".into()), ..Options::default() };
    let (plain, verbose) = (shop("statements.log"), read(&verbose, &options).expect("a log"));
    let all = |log: &Log| -> Vec<Vec<String>> { log.sessions.iter().map(|session| words(log, session)).collect() };
    assert_eq!((all(&verbose), verbose.bad_lines), (all(&plain), 0));
    let failures = verbose.sessions[0].steps.iter().filter(|step| matches!(step.expects, Expects::Failure(_)));
    let expected = ["22012", "42601", "23505"].map(|code| Expects::Failure(Some(code.into())));
    assert_eq!(failures.map(|step| step.expects.clone()).collect::<Vec<_>>(), expected);
}

/// As PDO and Rails do it: a replay has names of its own for what the protocol prepared, and SQL's own PREPARE keeps its name.
#[test]
fn a_deallocate_of_the_protocols_own_name_is_left_out() {
    let log = stderr_log(&[
        "LOG:  execute a12/portal: SELECT 1",
        "LOG:  statement: PREPARE q AS SELECT 2",
        "LOG:  statement: DEALLOCATE a12",
        "LOG:  statement: DEALLOCATE q",
        "LOG:  statement: DEALLOCATE PREPARE a12",
        "ERROR:  prepared statement \"a12\" does not exist",
        "STATEMENT:  DEALLOCATE PREPARE a12",
        "LOG:  statement: DISCARD ALL",
    ]);
    let expected = [
        "SELECT 1 []",
        "PREPARE q AS SELECT 2 []",
        "DEALLOCATE q []",
        "DEALLOCATE PREPARE a12 [] fails",
        "DISCARD ALL []",
    ];
    assert_eq!(
        (words(&log, &log.sessions[0]), &log.left_out),
        (expected.map(String::from).to_vec(), &[(Reason::Command, 1)].into())
    );
    let forgets: Vec<bool> = log.sessions[0].steps.iter().map(|step| log.forgets_prepared(step)).collect();
    assert_eq!(forgets, [false, false, false, false, true]);
}

#[test]
fn parameters_that_the_server_trimmed_are_said() {
    let detail =
        |values: &str| stderr_log(&["LOG:  execute s: SELECT $1, $2", &format!("DETAIL:  parameters: {values}")]);
    assert_eq!(detail("$1 = 'abc', $2 = '...d'").notes, [""; 0]);
    let notes = detail("$1 = 'abc...', $2 = 'it''s...'").notes;
    assert!(
        notes.len() == 1 && notes[0].starts_with("2 of the parameters end in `...`: with log_parameter_max_length"),
        "{notes:?}"
    );
}

/// MySQL logs what a procedure does beside its call, with the procedure's variables spelled out; MariaDB does not.
#[test]
fn statements_of_stored_programs_are_left_out_or_said() {
    let line = |time: &str, asked: &str| format!("{time}\t    8 Query\t{asked}\n");
    let log = |time: &str| {
        let asked =
            ["/* till */ CALL pay(7)", "UPDATE t SET a = 1 WHERE id =  NAME_CONST('wanted',7)", "DELETE FROM u"];
        let text: String = asked.iter().map(|asked| line(time, asked)).collect();
        read(&text, &Options::default()).expect("a log")
    };
    let (mysql, mariadb) = (log("2026-11-24T01:02:03.123456Z"), log("261124  1:02:03"));
    for log in [&mysql, &mariadb] {
        assert_eq!(words(log, &log.sessions[0]), ["/* till */ CALL pay(7) []?", "DELETE FROM u []?"]);
        assert_eq!(log.left_out, [(Reason::StoredProgram, 1)].into());
    }
    assert_eq!((mysql.notes.len(), mariadb.notes.len()), (1, 0));
    assert!(mysql.notes[0].contains("they are done twice"), "{:?}", mysql.notes);
}
