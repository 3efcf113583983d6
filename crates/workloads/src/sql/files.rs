//! The files that a user brings: read and checked before anything is provisioned.

use super::{Parameters, data};
use load::engines;
use load::sql::Engine;
use load::sql_load::{PARAMS_MAX, Protocol};
use load::sql_replay::shortened;
use load::workload::{Error, sought};
use observe::durability::Durability;
use script::{Part, Problem, Program, Source, Statement, Table, Value};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;

/// What the files say, without a problem in their form.
pub struct Files {
    /// The scripts.
    pub program: Arc<Program>,
    /// The schema's statements, with their lines.
    pub schema: Vec<(usize, String)>,
    /// Rules of tables.
    pub tables: Vec<Table>,
    /// Whether there is a dump.
    pub has_dump: bool,
    /// What is wrong with the dump, as far as its beginning and end show it.
    dump_problems: Vec<String>,
    dump_bytes: u64,
    /// What decides the data.
    key: String,
}

/// Scripts and rules are read into memory: a longer one is something else.
const TEXT_BYTES_MAX: u64 = 16 << 20;

impl Files {
    /// Reads them.
    ///
    /// # Errors
    /// All problems: by file, line and column where there is one.
    pub fn read(parameters: &Parameters) -> Result<Files, Vec<String>> {
        let mut problems = Vec::new();
        let given: Vec<&str> = parameters.given().into_iter().map(|(name, _)| name).collect();
        let escapes = parameters.engine.database(&parameters.pragmas).dialect().backslash_escapes;
        let on_disk = |name: &str| read("scripts", Path::new(name));
        let program = program(parameters, &on_disk, &mut problems);
        let (schema_text, data_text) =
            (optional("schema", &parameters.schema, &mut problems), optional("data", &parameters.data, &mut problems));
        let schema = data::statements(&schema_text, escapes).unwrap_or_else(|(line, what)| {
            problems.push(format!("{}:{line}: {what}", parameters.schema.display()));
            Vec::new()
        });
        let source = Source { name: parameters.data.display().to_string(), text: data_text, weight: 1 };
        let tables = script::generators(&source, &given).unwrap_or_else(|found| {
            problems.extend(found.iter().map(Problem::to_string));
            Vec::new()
        });
        if !problems.is_empty() {
            return Err(problems);
        }
        let has_dump = !parameters.dump.as_os_str().is_empty();
        let (dump_problems, dump_bytes, dump_key) =
            if has_dump { dump(&parameters.dump, parameters.engine) } else { Default::default() };
        let key = format!("{:016x}, dump {dump_key}", hash(&[&schema_text, &source.text]));
        Ok(Files { program: Arc::new(program), schema, tables, has_dump, dump_problems, dump_bytes, key })
    }

    /// Of their scripts' texts alone, for data that are there.
    ///
    /// # Errors
    /// As [`Files::read`].
    pub fn of_texts(parameters: &Parameters, texts: &BTreeMap<String, String>) -> Result<Files, Vec<String>> {
        let mut problems = Vec::new();
        let given = |name: &str| {
            texts.get(name).cloned().ok_or_else(|| format!("scripts: {name} did not come with the others"))
        };
        let program = program(parameters, &given, &mut problems);
        if !problems.is_empty() {
            return Err(problems);
        }
        let (schema, tables, dump_problems, key) = Default::default();
        Ok(Files { program: Arc::new(program), schema, tables, has_dump: false, dump_problems, dump_bytes: 0, key })
    }

    /// What is wrong with them on this engine and by this protocol.
    pub fn problems(&self, parameters: &Parameters) -> Vec<String> {
        let mut problems = self.dump_problems.clone();
        if self.program.scripts.is_empty() {
            problems.push("scripts: name at least one file of transactions; there is no default".into());
        } else if self.program.scripts.iter().all(|script| script.weight == 0) {
            problems.push("scripts: no script has a weight above 0".into());
        }
        if !self.has_dump && self.schema.is_empty() {
            problems.push("the tables come from `schema` or `dump`: name one".into());
        }
        let facts = parameters.engine.facts();
        for (line, statement) in &self.schema {
            let place = format!("{}:{line}: `{}`", parameters.schema.display(), shortened(statement));
            let why = [facts.refused, facts.refused_in_schema].iter().find_map(|list| refused(statement, list));
            problems.extend(why.map(|why| format!("{place}: {why}")));
        }
        for statement in self.program.statements() {
            problems
                .extend(unsent(statement, parameters).map(|why| format!("`{}`: {why}", shortened(&statement.shown()))));
        }
        let given: Vec<Value> = parameters.given().into_iter().map(|(_, value)| value).collect();
        for table in &self.tables {
            let first = table.rows(&given).and_then(|_| table.generator(&given, 0, 0).row(1, |_| {}));
            problems.extend(first.err().map(|failure| failure.to_string()));
        }
        problems
    }

    /// What in them takes away from what the engine's settings promise.
    pub fn durability(&self, engine: &Engine) -> Durability {
        let scripts = self.program.statements().map(Statement::shown);
        let all = scripts.chain(self.schema.iter().map(|(_, statement)| statement.clone()));
        all.filter_map(|statement| weakened(&statement, engine)).fold(Durability::full(), Durability::and)
    }

    /// Roughly what the data take.
    pub fn data_bytes(&self, parameters: &Parameters) -> u64 {
        let given: Vec<Value> = parameters.given().into_iter().map(|(_, value)| value).collect();
        let of_table = |table: &Table| {
            let mut bytes = ROW_BYTES;
            let row = table.generator(&given, 0, 0).row(1, |value| bytes += value.to_string().len() as u64);
            table.rows(&given).ok().zip(row.ok()).map_or(0, |(rows, ())| rows * bytes)
        };
        self.dump_bytes * 2 + self.tables.iter().map(of_table).sum::<u64>()
    }

    /// What decides the data, in words.
    pub fn key(&self) -> String {
        format!("files 5 {}", self.key)
    }
}

/// Of each row, for its header, alignment and an index entry (PostgreSQL: 24 + 4 and 16 bytes, and what pages leave empty).
const ROW_BYTES: u64 = 50;

/// The scripts as one program, their texts by `text`.
fn program(
    parameters: &Parameters,
    text: &dyn Fn(&str) -> Result<String, String>,
    problems: &mut Vec<String>,
) -> Program {
    let given: Vec<&str> = parameters.given().into_iter().map(|(name, _)| name).collect();
    let escapes = parameters.engine.database(&parameters.pragmas).dialect().backslash_escapes;
    let sources = sources(&parameters.scripts, text, problems);
    Program::new(&sources, &given, escapes).unwrap_or_else(|found| {
        problems.extend(found.iter().map(Problem::to_string));
        Program { scripts: Vec::new(), names: Vec::new() }
    })
}

/// Scripts' names and weights; each may have its weight behind an `@`, as pgbench's -f takes it.
pub fn scripts(named: &[String]) -> impl Iterator<Item = (&str, u64)> {
    named.iter().map(|script| match script.rsplit_once('@').map(|(name, weight)| (name, weight.parse())) {
        Some((name, Ok(weight))) => (name, weight),
        _ => (script.as_str(), 1),
    })
}

/// The scripts' texts by their names.
pub fn texts(named: &[String]) -> Result<BTreeMap<String, String>, Error> {
    let text = |name: &str| std::fs::read_to_string(name).map_err(Error::doing("read", name.as_ref()));
    scripts(named).map(|(name, _)| Ok((name.to_string(), text(name)?))).collect()
}

fn sources(named: &[String], text: &dyn Fn(&str) -> Result<String, String>, problems: &mut Vec<String>) -> Vec<Source> {
    let mut sources: Vec<Source> = Vec::new();
    for (name, weight) in scripts(named) {
        if sources.iter().any(|source| source.name == name) {
            problems.push(format!("scripts: {name} is there twice; give it a weight instead"));
            continue;
        }
        match text(name) {
            Ok(text) => sources.push(Source { name: name.into(), text, weight }),
            Err(problem) => problems.push(problem),
        }
    }
    sources
}

/// A file's text; where none is named, none.
fn optional(setting: &str, path: &Path, problems: &mut Vec<String>) -> String {
    if path.as_os_str().is_empty() {
        return String::new();
    }
    read(setting, path).unwrap_or_else(|problem| {
        problems.push(problem);
        String::new()
    })
}

fn read(setting: &str, path: &Path) -> Result<String, String> {
    let refused = |why: String| format!("{setting}: cannot read {}: {why}{}", path.display(), sought(path));
    let metadata = path.metadata().map_err(|error| refused(error.to_string()))?;
    if !metadata.is_file() {
        return Err(refused("it is no regular file".into()));
    }
    if metadata.len() > TEXT_BYTES_MAX {
        let bytes = metadata.len();
        return Err(refused(format!(
            "a file of statements has at most {TEXT_BYTES_MAX} bytes, and this one {bytes}; `dump` takes more"
        )));
    }
    std::fs::read_to_string(path).map_err(|error| refused(error.to_string()))
}

/// Why a statement can't be sent to this engine by this protocol.
fn unsent(statement: &Statement, parameters: &Parameters) -> Option<String> {
    let is_simple = parameters.load.protocol == Protocol::Simple;
    let takes_several = parameters.engine.facts().takes_several_statements;
    if statement.verbs.len() > 1 && (!is_simple || !takes_several) {
        return Some("several statements in one message (`\\;`) go to PostgreSQL by the simple protocol only".into());
    }
    if script::words(&statement.shown()).next().is_some_and(|word| word == "COPY") {
        return Some("COPY moves rows that a script does not have; pgbench takes none, too".into());
    }
    // Of several in one message any may be it.
    if statement.shown().split(';').any(chains) {
        return Some(
            "a transaction that another's end begins is not known here as one: write COMMIT; and BEGIN;".into(),
        );
    }
    let facts = parameters.engine.facts();
    let beside_others = if parameters.load.threads > 1 { facts.refused_beside_others } else { &[] };
    if let Some(why) = [facts.refused, beside_others].iter().find_map(|list| refused(&statement.shown(), list)) {
        return Some(why.into());
    }
    let variables = statement.variables().count();
    if !is_simple && variables > PARAMS_MAX {
        return Some(format!(
            "it has {variables} variables, and a statement with parameters at most {PARAMS_MAX}; protocol = \"simple\" has no limit"
        ));
    }
    let escapes = parameters.engine.database(&parameters.pragmas).dialect().backslash_escapes;
    if !is_simple && let Some(name) = quoted_variable(statement, escapes) {
        return Some(format!(
            "`:{name}` stands in quotes or a comment, where no parameter can be; protocol = \"simple\" puts its value there"
        ));
    }
    // The protocol's own marks are written `$1` on the way there.
    let is_mark =
        |text: &str| text.match_indices('$').any(|(at, _)| text[at + 1..].starts_with(|c: char| c.is_ascii_digit()));
    let has_mark = statement.parts.iter().any(|part| matches!(part, Part::Text(text) if is_mark(text)));
    (!is_simple && has_mark)
        .then(|| "`$` before a digit stands for a parameter; protocol = \"simple\" leaves it as it is".into())
}

/// Whether a transaction's end begins another.
fn chains(statement: &str) -> bool {
    let words: Vec<String> = script::words(statement).collect();
    let is_end = words.first().is_some_and(|word| ["COMMIT", "END", "ROLLBACK", "ABORT"].contains(&word.as_str()));
    is_end && words.windows(2).any(|two| two == ["AND", "CHAIN"])
}

/// The first variable in quotes or a comment: what stands before it has one that does not end.
fn quoted_variable(statement: &Statement, backslash_escapes: bool) -> Option<&str> {
    let mut before = String::new();
    statement.parts.iter().find_map(|part| match part {
        Part::Text(text) => {
            before.push_str(text);
            None
        }
        Part::Variable(_, name) => {
            let is_quoted = script::statements(&before, backslash_escapes).is_err();
            before.push('0');
            is_quoted.then_some(name.as_str())
        }
    })
}

/// Why no script and no schema may have a statement, by a list of first words with others behind them.
fn refused(statement: &str, list: &[(&str, &'static str)]) -> Option<&'static str> {
    let first = script::words(statement).next()?;
    let text = spaced(statement);
    let is_it = |words: &str| {
        let (begin, then) = words.split_once(' ').unwrap_or((words, words));
        begin == first && text.contains(&format!(" {then} "))
    };
    list.iter().find(|(words, _)| is_it(words)).map(|(_, why)| *why)
}

/// A statement's words in capitals, a blank around each.
fn spaced(statement: &str) -> String {
    let words = statement.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    let words: Vec<String> = words.map(str::to_ascii_uppercase).collect();
    format!(" {} ", words.join(" "))
}

/// What a statement's words do to what the engine promises.
pub fn weakened(statement: &str, engine: &Engine) -> Option<Durability> {
    let text = spaced(statement);
    let found = engine.facts().weakening.iter().filter(|(word, ..)| text.contains(&format!(" {word} ")));
    let (word, class, why) = found.max_by_key(|(_, class, _)| *class)?;
    Some(Durability::because(*class, format!("`{}` has {word}: {why}", shortened(statement))))
}

/// Bytes at a dump's beginning and end that are looked at.
const LOOKED_AT_BYTES: u64 = 64 << 10;

/// What is wrong with a dump as far as can be seen without loading it, its bytes, and what identifies it.
pub fn dump(path: &Path, engine: &Engine) -> (Vec<String>, u64, String) {
    let shown = path.display();
    let look = || -> std::io::Result<(Vec<u8>, Vec<u8>, std::fs::Metadata)> {
        let metadata = path.metadata()?;
        // A pipe would be waited for, and a device read until the memory is full. A folder is told of when it is read.
        if !metadata.is_file() && !metadata.is_dir() {
            return Err(std::io::Error::other("it is no regular file"));
        }
        let mut file = File::open(path)?;
        let (mut head, mut tail) = (Vec::new(), Vec::new());
        (&mut file).take(LOOKED_AT_BYTES).read_to_end(&mut head)?;
        file.seek(SeekFrom::Start(metadata.len().saturating_sub(LOOKED_AT_BYTES)))?;
        file.read_to_end(&mut tail)?;
        Ok((head, tail, metadata))
    };
    match look() {
        Err(error) => {
            // As pg_dump's directory format and mydumper write it.
            let known = engine.facts().dumps.first().filter(|_| path.is_dir());
            let one_file =
                known.map_or_else(String::new, |form| format!("; a dump is one file, such as {}", form.what));
            (vec![format!("dump: cannot read {shown}: {error}{one_file}{}", sought(path))], 0, String::new())
        }
        Ok((head, tail, metadata)) => {
            let of_form =
                || engine.facts().dumps.iter().filter(|form| form.is_form_of(&head)).find_map(|form| form.lacks(path));
            let problem = dump_problem(&head, &tail, engine).or_else(of_form);
            let key = format!("{shown} of {} bytes, {}.{:09}", metadata.len(), metadata.mtime(), metadata.mtime_nsec());
            (problem.map(|problem| format!("dump: {shown}: {problem}")).into_iter().collect(), metadata.len(), key)
        }
    }
}

/// Files that programs compressed begin so: gzip, Zstandard, bzip2, xz.
const COMPRESSED: &[&[u8]] = &[b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ"];

fn dump_problem(head: &[u8], tail: &[u8], engine: &Engine) -> Option<String> {
    if head.is_empty() {
        return Some("it is empty".into());
    }
    if COMPRESSED.iter().any(|mark| head.starts_with(mark)) {
        return Some("it is compressed: decompress it first".into());
    }
    let forms = engines::all().iter().filter_map(|known| Some((known, known.sql.as_ref()?.dumps)));
    let (loads, form) = forms
        .flat_map(|(known, forms)| forms.iter().map(move |form| (known, form)))
        .find(|(_, form)| form.is_form_of(head))?;
    if *loads != engine {
        let (what, asked, right) = (form.what, engine.name, loads.name);
        return Some(format!("it is {what}, which {asked} does not load: set engine = \"{right}\""));
    }
    form.problem(head, tail)
}

/// FNV-1a, 64 bits: tells versions of a file apart, and is no secret.
fn hash(texts: &[&str]) -> u64 {
    let bytes = texts.iter().flat_map(|text| text.bytes().chain([0xff]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::engines::{mariadb, postgres, sqlite};
    use observe::durability::Class;

    #[test]
    fn a_dump_of_another_database_or_without_its_end_is_told() {
        let pg = "--\n-- PostgreSQL database dump\n--\nCREATE TABLE t ();\n-- PostgreSQL database dump complete\n";
        let my = "-- MariaDB dump 10.19\nCREATE TABLE t (a int);\n-- Dump completed on 2026-11-23\n";
        let lite = "PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nCREATE TABLE t(a);\nCOMMIT;\n";
        let (postgres, mariadb, sqlite) = (&postgres::ENGINE, &mariadb::ENGINE, &sqlite::ENGINE);
        let problem = |text: &str, engine: &Engine| dump_problem(text.as_bytes(), text.as_bytes(), engine);
        for (text, engine, other) in [(pg, postgres, sqlite), (my, mariadb, postgres), (lite, sqlite, mariadb)] {
            assert_eq!(problem(text, engine), None, "{}", engine.name);
            let cut = &text[..text.len() - 20];
            assert!(problem(cut, engine).expect("it is cut").contains("its end is missing"), "{}", engine.name);
            assert!(problem(text, other).expect("not its own").contains("does not load"), "{}", engine.name);
        }
        // `pg_dump -Ft` (PostgreSQL 15): a header of tar begins with its file's name.
        assert!(problem("toc.dat\0\0", mariadb).expect("not its own").contains("an archive of pg_dump"));
        assert!(problem("PGDMP\u{1}", mariadb).is_some() && problem("SQLite format 3\0", postgres).is_some());
        assert_eq!(problem("PGDMP\u{1}", postgres), None);
        assert!(dump_problem(b"\x1f\x8b\x08", b"", postgres).expect("gzip").contains("compressed"));
        let created = pg.replace("CREATE TABLE", "CREATE DATABASE shop;\nCREATE TABLE");
        assert!(problem(&created, postgres).expect("elsewhere").contains("--create"));
        assert_eq!(problem("CREATE TABLE by_hand (a int);", mariadb), None);
        // Of its beginning: each trial had failed at a role that its cluster has.
        let of_all = "--\n-- PostgreSQL database cluster dump\n--\n\nCREATE ROLE postgres;\n\\connect template1\n\
                      -- PostgreSQL database dump complete\n-- PostgreSQL database cluster dump complete\n";
        assert!(problem(of_all, postgres).expect("several databases").contains("have pg_dump write the one database"));
        let folder = tempfile::tempdir().expect("a folder");
        for (engine, form) in [(postgres, "an archive of pg_dump"), (mariadb, "a text of mysqldump")] {
            let problems = dump(folder.path(), engine).0;
            assert!(problems[0].ends_with(&format!("; a dump is one file, such as {form}")), "{problems:?}");
        }
    }

    /// The plan of a stranger's study waited for a pipe, and read a device until the memory was full.
    #[test]
    fn a_dump_that_has_no_end_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("coreutils are there").success());
        for path in [&*pipe, Path::new("/dev/zero")] {
            let problems = dump(path, &sqlite::ENGINE).0;
            assert!(problems[0].ends_with(": it is no regular file"), "{problems:?}");
        }
    }

    /// A copy of a file that a program has open is without what that wrote last.
    #[test]
    fn an_sqlite_file_without_its_latest_rows_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, wal) = (folder.path().join("shop.db"), folder.path().join("shop.db-wal"));
        std::fs::write(&file, b"SQLite format 3\0").expect("written");
        let problems = || dump(&file, &sqlite::ENGINE).0;
        assert_eq!(problems(), [""; 0]);
        std::fs::write(&wal, b"").expect("written");
        assert_eq!(problems(), [""; 0], "all of it was taken over");
        std::fs::write(&wal, b"rows").expect("written");
        assert!(problems()[0].contains("shop.db-wal alone: `sqlite3 FILE"), "{:?}", problems());
    }

    #[test]
    fn a_variable_in_quotes_is_found() {
        for (text, escapes, quoted) in [
            ("SELECT 'a', :a, 'b'", false, false),
            ("SELECT 'it''s' || :a", false, false),
            ("SELECT ':a'", false, true),
            ("SELECT :a, \"x:a\"", false, true),
            ("SELECT 'it''s :a'", false, true),
            ("SELECT 1 /* :a */", false, true),
            ("SELECT 'it\\'s :a'", true, true),
        ] {
            let statement = Statement::new(&[text.to_string()], &mut |name: &str| (name == "a").then_some(0));
            assert_eq!(quoted_variable(&statement, escapes).is_some(), quoted, "{text}");
        }
    }

    /// One that met another would be tried again without its beginning.
    #[test]
    fn a_transaction_that_another_begins_is_refused() {
        let mut parameters: Parameters = settings::typed(&settings::defaults(super::super::SETTINGS));
        let problem = |text: &str| unsent(&Statement::new(&[text.to_string()], &mut |_: &str| None), &parameters);
        for text in ["COMMIT AND CHAIN", "rollback work and chain"] {
            assert!(problem(text).expect(text).contains("BEGIN"), "{text}");
        }
        for text in ["COMMIT AND NO CHAIN", "COMMIT", "SELECT 1 AND chain"] {
            assert_eq!(problem(text), None, "{text}");
        }
        // pgbench's `UPDATE …\; COMMIT AND CHAIN`.
        (parameters.engine, parameters.load.protocol) = (&postgres::ENGINE, Protocol::Simple);
        let texts = ["UPDATE t SET a = 1", " COMMIT AND CHAIN"].map(String::from);
        let found = unsent(&Statement::new(&texts, &mut |_: &str| None), &parameters);
        assert!(found.expect("it chains").contains("BEGIN"));
    }

    /// sqlite.org/lang_attach.html, lang_vacuum.html: the file that is named is made or changed. A trial had changed the user's own.
    #[test]
    fn statements_that_reach_another_file_are_refused() {
        let is_refused = |statement: &str, engine: &Engine| refused(statement, engine.facts().refused).is_some();
        let (postgres, sqlite) = (&postgres::ENGINE, &sqlite::ENGINE);
        for statement in
            ["ATTACH 'shop.db' AS shop", "-- more\nattach database ':memory:' AS m", "VACUUM main INTO 'b'"]
        {
            assert!(is_refused(statement, sqlite), "{statement}");
            assert!(!is_refused(statement, postgres), "{statement}");
        }
        for statement in ["VACUUM", "DETACH shop", "INSERT INTO mails VALUES ('attach vacuum')", "SELECT attach FROM t"]
        {
            assert!(!is_refused(statement, sqlite), "{statement}");
        }
        // MariaDB's manual, "SELECT INTO OUTFILE".
        let mariadb = &mariadb::ENGINE;
        assert!(is_refused("SELECT * INTO OUTFILE '/tmp/t' FROM t", mariadb));
        assert!(is_refused("select a from t\ninto dumpfile '/tmp/t'", mariadb));
        for statement in ["SELECT outfile FROM t", "INSERT INTO t VALUES ('select into outfile')", "SELECT a INTO @b"] {
            assert!(!is_refused(statement, mariadb), "{statement}");
        }
    }

    /// PostgreSQL's manual, CREATE TABLESPACE; MySQL's, "Creating Tables Externally": the files lie in a folder of the machine, whatever
    /// filesystem is under test, and templates have their links. All scenarios had been measured on it, each after the one before.
    #[test]
    fn tables_in_a_folder_elsewhere_are_refused() {
        let is_refused = |statement: &str, engine: &Engine| refused(statement, engine.facts().refused).is_some();
        let (postgres, mariadb) = (&postgres::ENGINE, &mariadb::ENGINE);
        assert!(is_refused("create tablespace fast location '/mnt/fast'", postgres));
        for statement in [
            "CREATE TABLE t (a int) DATA DIRECTORY = '/mnt'",
            "ALTER TABLE t ADD PARTITION (PARTITION p DATA DIRECTORY='/m')",
        ] {
            assert!(is_refused(statement, mariadb), "{statement}");
        }
        assert!(!is_refused("CREATE TABLE t (a int) TABLESPACE pg_default", postgres));
        for statement in ["CREATE TABLE t (data int, directory text)", "CREATE INDEX directory ON t (data)"] {
            assert!(!is_refused(statement, mariadb) && !is_refused(statement, postgres), "{statement}");
        }
    }

    /// sqlite.org/pragma.html: once the file is made, or for one connection alone. All were taken without a word.
    #[test]
    fn pragmas_of_a_schema_without_effect_are_refused() {
        let why = |statement: &str| refused(statement, sqlite::ENGINE.facts().refused_in_schema).unwrap_or("");
        assert!(why("PRAGMA main.auto_vacuum = INCREMENTAL").contains("as `dump`"));
        assert!(why("pragma journal_mode=WAL").contains("[workload.sql]"));
        assert!(why("PRAGMA foreign_keys(on)").contains("begin the scripts with it"));
        for statement in ["PRAGMA foreign_keys=OFF", "PRAGMA user_version = 7", "CREATE TABLE pragma (page_size)"] {
            assert_eq!(why(statement), "", "{statement}");
        }
    }

    #[test]
    fn statements_that_promise_less_are_found() {
        let class = |statement: &str, engine: &Engine| weakened(statement, engine).map(|found| found.class);
        let (postgres, mariadb, sqlite) = (&postgres::ENGINE, &mariadb::ENGINE, &sqlite::ENGINE);
        assert_eq!(class("SET LOCAL synchronous_commit = off", postgres), Some(Class::LosesRecent));
        assert_eq!(class("CREATE UNLOGGED TABLE t (a int)", postgres), Some(Class::LosesAll));
        assert_eq!(class("create table t (a int) engine=MyISAM", mariadb), Some(Class::MayCorrupt));
        assert_eq!(class("PRAGMA synchronous = 0", sqlite), Some(Class::MayCorrupt));
        assert_eq!(class("SET SESSION default_storage_engine = 'Aria'", mariadb), Some(Class::MayCorrupt));
        assert_eq!(class("SET storage_engine=MEMORY", mariadb), Some(Class::LosesAll));
        assert_eq!(class("ALTER INSTANCE DISABLE INNODB REDO_LOG", mariadb), Some(Class::MayCorrupt));
        assert_eq!(class("ALTER INSTANCE ENABLE INNODB REDO_LOG", mariadb), None);
        assert_eq!(class("ALTER TABLE t ENGINE MEMORY", mariadb), Some(Class::LosesAll));
        assert_eq!(class("PRAGMA main.journal_mode(off)", sqlite), Some(Class::MayCorrupt));
        // Both servers' manuals, "Alternative Storage Engines" and the variables of these names.
        for (statement, of_it) in [
            ("CREATE TABLE t (a int) ENGINE = HEAP", Class::LosesAll),
            ("CREATE TABLE t (a int) ENGINE=BLACKHOLE", Class::LosesAll),
            ("create table log (a int) engine=archive", Class::MayCorrupt),
            ("SET GLOBAL sync_binlog = 0", Class::LosesRecent),
            ("set @@global.sync_binlog := 0", Class::LosesRecent),
            ("SET PERSIST innodb_doublewrite = 'DETECT_ONLY'", Class::MayCorrupt),
            ("SET GLOBAL debug_no_sync = 1", Class::MayCorrupt),
        ] {
            assert_eq!(class(statement, mariadb), Some(of_it), "{statement}");
        }
        assert_eq!(class("SHOW GLOBAL VARIABLES LIKE 'sync_binlog'", mariadb), None);
        // Words of the user's own that say nothing of flushes.
        assert_eq!(class("INSERT INTO unlogged_users VALUES ('memory')", postgres), None);
        assert_eq!(class("INSERT INTO posts VALUES ('<nav aria-label=\\'MyISAM\\'>')", mariadb), None);
        assert_eq!(class("SELECT memory FROM machines", mariadb), None);
        assert_eq!(class("PRAGMA foreign_keys = ON", sqlite), None);
    }
}
