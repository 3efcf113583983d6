//! Real servers that go down by force and are asked what they recovered. Needs root, PostgreSQL, MariaDB and GT.M.

use load::workload::{Context, Server};
use serde_json::{Map, Value, json};
use services::service::{Error, Place, Service};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use workloads::commits::{self, Look};

/// A server's folders, and the load that was put on it.
struct Ground {
    folder: tempfile::TempDir,
    service: Box<dyn Service>,
    place: Place,
    load: Map<String, Value>,
}

impl Ground {
    /// A server that went down by force after commits.
    fn after_commits(engine: &'static str) -> Ground {
        Ground::with(engine, &json!({}))
    }

    /// As [`Ground::after_commits`], of a server with these lines in its table.
    fn with(engine: &'static str, table: &Value) -> Ground {
        assert!(nix::unistd::geteuid().is_root(), "servers run as users of their own: run these tests as root");
        let folder = tempfile::Builder::new().prefix("surefoot-test-").tempdir_in("/var/tmp").expect("a folder");
        let kind = services::kind(engine).expect("it is in the list");
        let table = settings::check_all(kind.settings, table.as_object().expect("a table")).expect("right");
        let service = (kind.read)(&table).open().unwrap_or_else(|error| panic!("{error}"));
        let open_to = |path: &Path, mode: u32| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("it is ours");
        };
        open_to(folder.path(), 0o711);
        let own = |name: &str| {
            let (path, user) = (folder.path().join(name), service.user().expect("we are root"));
            std::fs::create_dir(&path).expect("a folder");
            std::os::unix::fs::chown(&path, Some(user.uid), Some(user.gid)).expect("it is ours");
            open_to(&path, 0o700);
            path
        };
        let place = Place::new(own("data"), own("run"));
        let load =
            json!({ "engine": engine, "time": "300ms", "pause": "2ms", "witness": folder.path().join("witness") });
        let load = settings::check_all(commits::KIND.settings, load.as_object().expect("a table")).expect("right");
        let ground = Ground { folder, service, place, load };
        ground.commit();
        ground
    }

    fn commit(&self) {
        self.service.create(&self.place).unwrap_or_else(|error| panic!("{error}: {}", error.log()));
        let running = self.service.start(&self.place).unwrap_or_else(|error| panic!("{error}: {}", error.log()));
        let interrupted = AtomicBool::new(false);
        let mut context = Context {
            data_folder: self.place.data.clone(),
            server: Some(Server::by_file(running.socket())),
            sockets: BTreeMap::new(),
            cache_folder: PathBuf::new(),
            seed: 5,
            goes_on: false,
            runs: 1,
            client_cpus: Vec::new(),
            interrupted: &interrupted,
            progress: &mut |_, _| {},
        };
        let mut workload = (commits::KIND.read)(&self.load).open().expect("it opens");
        workload.prepare(&mut context).expect("it loads");
        workload.ready(&mut context).expect("it is made ready");
        workload.run(&mut context).expect("it runs");
        workload.verify(&mut context).expect("it is whole");
        // By force.
        drop(running);
    }

    /// What the load was told, as a look at a whole database shows it.
    fn acknowledged(&self) -> Look {
        let mut streams = BTreeMap::from([(0, vec![]), (1, vec![])]);
        for line in std::fs::read_to_string(self.folder.path().join("witness")).expect("written").lines() {
            let words: Vec<&str> = line.split(' ').collect();
            assert!(words.len() == 4 && words[3] != "-", "{line}");
            streams.entry(words[0].parse().expect("a stream")).or_default().push(words[1].parse().expect("a number"));
        }
        Look { streams, ..Look::default() }
    }

    fn look(&self) -> Result<Look, Error> {
        let answers = self.service.ask_recovered(&self.place, &commits::questions(&self.load))?;
        Ok(commits::look(&self.load, &answers, self.service.logged(&self.place)?.as_deref()))
    }

    /// Overwrites a page of a file in the data folder.
    fn spoil(&self, file: &str, page_bytes: usize, page: u64) {
        let file = std::fs::File::options().write(true).open(self.place.data.join(file)).expect("there");
        file.write_all_at(&vec![0xa5; page_bytes], page * page_bytes as u64).expect("written");
    }
}

#[test]
fn postgres_says_what_it_recovered_and_what_is_damaged() {
    let ground = Ground::after_commits("postgres");
    let whole = ground.acknowledged();
    assert_eq!(ground.look().unwrap_or_else(|error| panic!("{}", error.log())), whole);
    // Nothing was kept, and a lock that names a living process of the server's user is in nobody's way.
    let user = ground.service.user().expect("we are root");
    let mut neighbour = {
        use std::os::unix::process::CommandExt as _;
        std::process::Command::new("sleep").arg("60").uid(user.uid).gid(user.gid).spawn().expect("it starts")
    };
    std::fs::write(ground.place.data.join("postmaster.pid"), format!("{}\n", neighbour.id())).expect("written");
    let again = ground.look();
    neighbour.kill().and_then(|()| neighbour.wait()).expect("it was there");
    assert_eq!(again.expect("it comes up"), whole);

    let wrong = ground.service.ask_recovered(&ground.place, &["SELECT 1".into(), "SELECT nothing".into()]);
    assert_eq!(
        wrong.expect_err("there is no such column").complaint(),
        "column \"nothing\" does not exist at character 8"
    );
    let file = ground.service.ask_recovered(&ground.place, &["SELECT pg_relation_filepath('commits')".into()]);
    let file = file.expect("it comes up")[0][0][0].clone().expect("a path");
    ground.spoil(&file, 8192, 2);
    let error = ground.look().expect_err("a page is damaged");
    assert!(matches!(error, Error::Asked { .. }), "{error:?}");
    assert_eq!(error.complaint(), format!("invalid page in block 2 of relation {file}"));

    std::fs::remove_file(ground.place.data.join("global/pg_control")).expect("there");
    let error = ground.look().expect_err("it can't come up");
    assert!(matches!(error, Error::Program { .. }) && error.complaint().contains("global/pg_control"), "{error:?}");
}

#[test]
fn mariadb_says_what_it_recovered_and_what_is_damaged() {
    let ground = Ground::after_commits("mariadb");
    let whole = ground.acknowledged();
    assert_eq!(ground.look().unwrap_or_else(|error| panic!("{}", error.log())), whole);
    assert_eq!(ground.look().expect("nothing was kept"), whole);

    let wrong = ground.service.ask_recovered(&ground.place, &["SELECT nothing".into()]);
    assert!(wrong.expect_err("there is no such column").complaint().contains("Unknown column 'nothing'"));
    ground.spoil("sbtest/commits.ibd", 16_384, 4);
    match ground.look() {
        Ok(look) => assert!(look.damage.is_some(), "{look:?}"),
        Err(error) => assert!(error.complaint().contains("commits"), "{error:?}"),
    }

    let system = std::fs::File::options().write(true).open(ground.place.data.join("ibdata1")).expect("there");
    system.set_len(1 << 20).expect("cut off");
    let error = ground.look().expect_err("it can't come up");
    assert!(matches!(error, Error::Program { .. }) && error.complaint().contains("ibdata1"), "{error:?}");
}

#[test]
fn gtm_rolls_back_what_was_under_way_and_says_what_is_damaged() {
    let ground = Ground::after_commits("gtm");
    let whole = ground.acknowledged();
    assert_eq!(ground.look().unwrap_or_else(|error| panic!("{}", error.log())), whole);
    // A process goes down, and its memory with it.
    let code = "tstart ():serial  set ^late=7 tcommit  write \"committed\",! tstart ():serial  set ^never=1 hang 60";
    let mut command = Command::new("unshare");
    command.arg("--ipc").arg(ground.place.run.join("gtm")).args(["mumps", "-run", "%XCMD", code]);
    let mut process = command.stdout(Stdio::piped()).spawn().expect("it starts");
    let mut said = String::new();
    BufReader::new(process.stdout.take().expect("piped")).read_line(&mut said).expect("it says that it committed");
    process.kill().and_then(|()| process.wait()).expect("it was there");
    assert_eq!(said, "committed\n");
    let question = "mumps\n-run\n%XCMD\nwrite ^late,$char(9),$data(^never),!";
    let found = ground.service.ask_recovered(&ground.place, &[question.into()]);
    let cell = |text: &str| Some(text.to_string());
    assert_eq!(found.unwrap_or_else(|error| panic!("{}", error.log())), [[[cell("7"), cell("0")]]]);
    assert_eq!(ground.look().unwrap_or_else(|error| panic!("{}", error.log())), whole);

    let refused = ground.service.ask_recovered(&ground.place, &["mumps\n-run\n%XCMD\nwrite ^nothing".into()]);
    let refused = refused.expect_err("there is no such global");
    assert!(matches!(refused, Error::Asked { .. }) && refused.complaint().starts_with("GVUNDEF"), "{refused:?}");
    // The blocks begin at 4 MiB; this one is of the rows.
    ground.spoil("surefoot.dat", 4096, 1024 + 8);
    let error = ground.look().expect_err("a block is damaged");
    assert!(matches!(error, Error::Asked { .. }) && error.complaint().starts_with("DB"), "{error:?}");

    std::fs::remove_file(ground.place.data.join("surefoot.mjl")).expect("there");
    let error = ground.look().expect_err("nothing can be rolled back");
    assert!(matches!(error, Error::Program { .. }) && error.complaint().contains("surefoot.mjl"), "{error:?}");
}

#[test]
fn redis_says_what_it_recovered_and_what_is_damaged() {
    let ground = Ground::with("redis", &json!({ "settings": { "appendonly": "yes", "appendfsync": "always" } }));
    let whole = ground.acknowledged();
    assert_eq!(ground.look().unwrap_or_else(|error| panic!("{}", error.log())), whole);
    let refused = ground.service.ask_recovered(&ground.place, &["HGETALL".into()]).expect_err("a word is missing");
    assert!(matches!(refused, Error::Asked { .. }) && refused.complaint().contains("wrong number"), "{refused:?}");
    // It was rewritten, so that most rows are in the file that the rewrite made.
    let files = ground.place.data.join("appendonlydir").read_dir().expect("there");
    let base = files.flatten().map(|file| file.path()).find(|path| path.to_string_lossy().contains(".base."));
    let base = base.expect("it was rewritten");
    ground.spoil(&base.strip_prefix(&ground.place.data).expect("within").to_string_lossy(), 4096, 2);
    let error = ground.look().expect_err("it is damaged");
    assert!(matches!(error, Error::Program { .. }), "{error:?}");
    assert!(!error.complaint().is_empty() && !error.complaint().contains("Server initialized"), "{error:?}");
}

#[test]
fn etcd_says_what_it_recovered_and_what_is_damaged() {
    let ground = Ground::with("etcd", &json!({}));
    let whole = ground.acknowledged();
    assert_eq!(ground.look().unwrap_or_else(|error| panic!("{}", error.log())), whole);
    // The log's records have checksums.
    ground.spoil("member/wal/0000000000000000-0000000000000000.wal", 4096, 2);
    let error = ground.look().expect_err("it is damaged");
    assert!(matches!(error, Error::Program { .. }) && error.complaint().contains("crc"), "{error:?}");
}

/// More than the end of a commit and what may follow it, and less than a busy machine's few commits.
const CUT_OFF: u64 = 100;

#[test]
fn what_mariadb_would_tell_a_replica_is_read_from_its_binary_log() {
    for format in ["row", "statement"] {
        let ground = Ground::with("mariadb", &json!({ "binary_log": true, "settings": { "binlog_format": format } }));
        let told = ground.acknowledged().streams;
        // All is in it, also what the load wrote before the list began.
        let look = ground.look().unwrap_or_else(|error| panic!("{}", error.log()));
        assert_eq!(look, Look { logged: Some(told.clone()), ..ground.acknowledged() }, "{format}");
        let log = ground.place.data.join("binary-log.000001");
        let bytes = log.metadata().expect("there").len();
        std::fs::File::options().write(true).open(&log).and_then(|log| log.set_len(bytes - CUT_OFF)).expect("cut off");
        let look = ground.look().unwrap_or_else(|error| panic!("{}", error.log()));
        assert_eq!(look.streams, told, "{format}");
        // One stream's few commits may all be in the part that is gone.
        let logged = look.logged.expect("there is a log");
        for (stream, logged) in &logged {
            assert!(told[stream].starts_with(logged), "{format}: {logged:?}");
        }
        let [left, all] = [&logged, &told].map(|streams| streams.values().map(Vec::len).sum::<usize>());
        assert!(0 < left && left < all, "{format}: {left} of {all}");
    }
}

#[test]
fn a_web_server_has_no_tables_to_ask_for() {
    let kind = services::kind("nginx").expect("it is in the list");
    let service = (kind.read)(&settings::defaults(kind.settings)).open().unwrap_or_else(|error| panic!("{error}"));
    let place = Place::new(PathBuf::new(), PathBuf::new());
    assert!(matches!(service.ask_recovered(&place, &[]), Err(Error::NoTables)));
}
