//! `make powercut`: the acceptance table of docs/safety.md, each row measured and held against what is known of it.
//!
//! A row is a configuration whose behaviour in a power cut is documented or was found by others; a measurement that says
//! otherwise ends this with status 1. `make powercut ROWS=sqlite` does those whose name has the word; `BUDGET=60s` looks longer.
//!
//! `make powercut-safe` measures the rows that lose nothing again and again, until recoveries ran on 10,000 images (`IMAGES`):
//! whatever is found in any of them is a false alarm.

use serde_json::Value;
use std::process::Command;

/// What must be found.
enum Expected {
    /// Nothing lost, nothing damaged.
    Nothing,
    /// At most so many commits a connection, and nothing damaged.
    LastCommit,
    /// Something is lost, nothing acknowledged longer ago than this, nothing damaged.
    Recent(f64),
    /// Something is lost, nothing is damaged.
    Loses,
    /// Nothing damaged, whatever is lost.
    NoDamage,
    /// Damage of any kind.
    Damage,
    /// Tables and the log for replicas disagree, nothing is damaged.
    Divergence,
    /// Damage of files, all of it of these kinds.
    DamageOf(&'static [&'static str]),
    /// As before, if any: a race that is not lost every time.
    NoDamageBut(&'static [&'static str]),
}

struct Row {
    name: &'static str,
    /// `host`, or `guest` for filesystems that this machine's kernel may lack.
    bench: &'static str,
    filesystem: &'static str,
    /// Further lines of `[storage]`.
    storage: &'static str,
    /// The database; "files": none.
    engine: &'static str,
    /// Further lines of the workload's table.
    workload: &'static str,
    /// Further lines of the server's table.
    service: &'static str,
    /// Entries of the server's settings.
    settings: &'static str,
    /// Further lines of `[safety]`.
    safety: &'static str,
    expected: Expected,
}

const PLAIN: Row = Row {
    name: "",
    bench: "host",
    filesystem: "ext4",
    storage: "",
    engine: "sqlite",
    workload: "",
    service: "",
    settings: "",
    safety: "",
    expected: Expected::Nothing,
};

const fn sqlite(name: &'static str, workload: &'static str, expected: Expected) -> Row {
    Row { name, workload, expected, ..PLAIN }
}

const fn server(
    name: &'static str,
    engine: &'static str,
    filesystem: &'static str,
    settings: &'static str,
    expected: Expected,
) -> Row {
    Row { name, engine, filesystem, settings, expected, ..PLAIN }
}

const fn gtm(name: &'static str, filesystem: &'static str, service: &'static str, expected: Expected) -> Row {
    Row { name, engine: "gtm", filesystem, service, expected, ..PLAIN }
}

/// Files that are replaced.
const fn files(
    name: &'static str,
    filesystem: &'static str,
    storage: &'static str,
    safety: &'static str,
    expected: Expected,
) -> Row {
    Row { name, filesystem, storage, safety, expected, engine: "files", ..PLAIN }
}

const BEFORE_IMAGES: &str = "journal = \"before\"\n";
const NO_JOURNAL: &str = "journal = \"none\"\n";
const RENAME: &str = "load = \"files\"\nfiles = \"rename\"\n";
const RENAME_ON_SLOW_DISK: &str = "load = \"files\"\nfiles = \"rename\"\ndisk = \"scsi-10k\"\ntime = \"10s\"\n";
const RENAME_FSYNC: &str = "load = \"files\"\nfiles = \"rename-fsync\"\n";
const RENAME_FSYNC_DIRECTORY: &str = "load = \"files\"\nfiles = \"rename-fsync-directory\"\n";
const TRUNCATE: &str = "load = \"files\"\nfiles = \"truncate\"\n";
const OVERWRITE_FSYNC: &str = "load = \"files\"\nfiles = \"overwrite-fsync\"\n";
const NO_HEURISTICS: &str = "mount = [\"noauto_da_alloc\"]\n";
const BLOCKS_FIRST: &str = "mount = [\"data=writeback\", \"nodelalloc\"]\n";
const NO_UNWRITTEN_EXTENTS: &str = "mount = [\"nodioread_nolock\"]\n";
/// Nothing but a commit every 30 s writes a rename on btrfs.
const COMMIT_OFTEN: &str = "mount = [\"commit=1\"]\n";
const COMMIT_DATA_OFTEN: &str = "mount = [\"commit=1\", \"flushoncommit\"]\n";
const EMPTY: Expected = Expected::DamageOf(&["length zero"]);
const EMPTY_AT_MOST: Expected = Expected::NoDamageBut(&["length zero"]);
const ZEROS_AT_MOST: Expected = Expected::NoDamageBut(&["zeros"]);
const MIXED: Expected = Expected::DamageOf(&["mix versions"]);
const OLD_BLOCKS: Expected = Expected::DamageOf(&["zeros", "mix versions", "another file's", "never written"]);

/// SQLite in the mode that loses nothing, in a guest kernel.
const fn in_guest(name: &'static str, filesystem: &'static str, storage: &'static str, expected: Expected) -> Row {
    Row { name, bench: "guest", filesystem, storage, safety: "size = \"64MiB\"\n", expected, ..PLAIN }
}

const ROWS: &[Row] = &[
    server("PostgreSQL", "postgres", "ext4", "", Expected::Nothing),
    server("PostgreSQL", "postgres", "xfs", "", Expected::Nothing),
    server("PostgreSQL", "postgres", "btrfs", "", Expected::Nothing),
    server(
        "PostgreSQL, synchronous_commit = off, wal_writer_delay = 200ms",
        "postgres",
        "ext4",
        "synchronous_commit = \"off\", wal_writer_delay = \"200ms\"",
        Expected::Recent(0.6),
    ),
    server("PostgreSQL, fsync = off", "postgres", "ext4", "fsync = \"off\"", Expected::Loses),
    server("PostgreSQL, full_page_writes = off", "postgres", "ext4", "full_page_writes = \"off\"", Expected::Damage),
    server("PostgreSQL, full_page_writes = off", "postgres", "xfs", "full_page_writes = \"off\"", Expected::Damage),
    server("PostgreSQL, full_page_writes = off", "postgres", "btrfs", "full_page_writes = \"off\"", Expected::NoDamage),
    Row {
        storage: "mount = [\"data=journal\"]\n",
        ..server(
            "PostgreSQL, full_page_writes = off, data=journal",
            "postgres",
            "ext4",
            "full_page_writes = \"off\"",
            Expected::NoDamage,
        )
    },
    Row {
        storage: "preset = \"nobarrier\"\n",
        ..server("PostgreSQL, nobarrier", "postgres", "ext4", "", Expected::Damage)
    },
    Row {
        storage: "preset = \"nobarrier\"\n",
        safety: "cache = \"write-through\"\n",
        ..server("PostgreSQL, nobarrier on a disk without a volatile cache", "postgres", "ext4", "", Expected::Nothing)
    },
    sqlite("SQLite delete/extra", "journal_mode = \"delete\"\nsynchronous = \"extra\"\n", Expected::Nothing),
    sqlite("SQLite delete/full", "journal_mode = \"delete\"\nsynchronous = \"full\"\n", Expected::LastCommit),
    sqlite("SQLite delete/normal", "journal_mode = \"delete\"\nsynchronous = \"normal\"\n", Expected::LastCommit),
    sqlite("SQLite truncate/full", "journal_mode = \"truncate\"\nsynchronous = \"full\"\n", Expected::Nothing),
    sqlite("SQLite persist/full", "journal_mode = \"persist\"\nsynchronous = \"full\"\n", Expected::Nothing),
    sqlite("SQLite wal/full", "journal_mode = \"wal\"\nsynchronous = \"full\"\n", Expected::Nothing),
    Row { filesystem: "xfs", ..sqlite("SQLite wal/full", "", Expected::Nothing) },
    Row { filesystem: "btrfs", ..sqlite("SQLite wal/full", "", Expected::Nothing) },
    Row { filesystem: "ext2", ..sqlite("SQLite wal/full", "", Expected::NoDamage) },
    Row { safety: "unit = \"512\"\n", ..sqlite("SQLite wal/full, 512-byte units", "", Expected::NoDamage) },
    sqlite("SQLite wal/normal", "journal_mode = \"wal\"\nsynchronous = \"normal\"\n", Expected::Loses),
    sqlite("SQLite delete/off", "journal_mode = \"delete\"\nsynchronous = \"off\"\n", Expected::Loses),
    sqlite("SQLite memory/full", "journal_mode = \"memory\"\nsynchronous = \"full\"\n", Expected::Damage),
    Row {
        storage: "preset = \"nobarrier\"\n",
        ..sqlite(
            "SQLite delete/extra, nobarrier",
            "journal_mode = \"delete\"\nsynchronous = \"extra\"\n",
            Expected::Damage,
        )
    },
    Row {
        safety: "cache = \"lying\"\n",
        ..sqlite("SQLite wal/full, a disk that ignores flushes", "", Expected::Damage)
    },
    server("MariaDB", "mariadb", "ext4", "", Expected::Nothing),
    server("MariaDB", "mariadb", "xfs", "", Expected::Nothing),
    server(
        "MariaDB, innodb_flush_log_at_trx_commit = 2",
        "mariadb",
        "ext4",
        "innodb_flush_log_at_trx_commit = 2",
        Expected::Recent(3.0),
    ),
    server(
        "MariaDB, innodb_flush_log_at_trx_commit = 0",
        "mariadb",
        "ext4",
        "innodb_flush_log_at_trx_commit = 0",
        Expected::Recent(3.0),
    ),
    server("MariaDB, innodb_doublewrite = off", "mariadb", "ext4", "innodb_doublewrite = \"off\"", Expected::Damage),
    server("MariaDB, innodb_doublewrite = off", "mariadb", "btrfs", "innodb_doublewrite = \"off\"", Expected::NoDamage),
    Row {
        service: "binary_log = true\n",
        ..server("MariaDB, binary log, sync_binlog = 1", "mariadb", "ext4", "sync_binlog = 1", Expected::Nothing)
    },
    Row {
        service: "binary_log = true\n",
        ..server("MariaDB, binary log, sync_binlog = 0", "mariadb", "ext4", "sync_binlog = 0", Expected::Divergence)
    },
    gtm("GT.M", "ext4", BEFORE_IMAGES, Expected::Nothing),
    gtm("GT.M", "xfs", BEFORE_IMAGES, Expected::Nothing),
    gtm("GT.M, no journal", "ext4", NO_JOURNAL, Expected::Loses),
    Row { storage: "preset = \"nobarrier\"\n", ..gtm("GT.M, nobarrier", "ext4", BEFORE_IMAGES, Expected::Damage) },
    files("files: rename", "ext4", "", RENAME, ZEROS_AT_MOST),
    files("files: rename, 10 s, timed as scsi-10k", "ext4", "", RENAME_ON_SLOW_DISK, ZEROS_AT_MOST),
    files(
        "files: rename, nodioread_nolock, 10 s, timed as scsi-10k",
        "ext4",
        NO_UNWRITTEN_EXTENTS,
        RENAME_ON_SLOW_DISK,
        Expected::NoDamage,
    ),
    files("files: rename, noauto_da_alloc", "ext4", NO_HEURISTICS, RENAME, EMPTY),
    files("files: rename, data=writeback, nodelalloc", "ext4", BLOCKS_FIRST, RENAME, OLD_BLOCKS),
    files("files: rename", "xfs", "", RENAME, EMPTY),
    files("files: rename, commit=1", "btrfs", COMMIT_OFTEN, RENAME, EMPTY_AT_MOST),
    files(
        "files: rename, commit=1, flushoncommit, 10 s, timed as scsi-10k",
        "btrfs",
        COMMIT_DATA_OFTEN,
        RENAME_ON_SLOW_DISK,
        Expected::NoDamage,
    ),
    files("files: rename-fsync", "ext4", "", RENAME_FSYNC, Expected::LastCommit),
    files("files: rename-fsync-directory", "ext4", "", RENAME_FSYNC_DIRECTORY, Expected::Nothing),
    files("files: rename-fsync-directory", "xfs", "", RENAME_FSYNC_DIRECTORY, Expected::Nothing),
    files("files: truncate, noauto_da_alloc", "ext4", NO_HEURISTICS, TRUNCATE, EMPTY),
    files("files: overwrite-fsync", "ext4", "", OVERWRITE_FSYNC, MIXED),
    files(
        "files: overwrite-fsync, data=journal",
        "ext4",
        "mount = [\"data=journal\"]\n",
        OVERWRITE_FSYNC,
        Expected::NoDamageBut(&["mix versions"]),
    ),
    files("files: overwrite-fsync", "btrfs", "", OVERWRITE_FSYNC, Expected::NoDamage),
    in_guest("guest kernel", "ext4", "", Expected::Nothing),
    in_guest("guest kernel, nobarrier", "ext4", "preset = \"nobarrier\"\n", Expected::Damage),
    in_guest("guest kernel", "xfs", "", Expected::Nothing),
    in_guest("guest kernel", "btrfs", "", Expected::Nothing),
    in_guest("guest kernel", "f2fs", "", Expected::Nothing),
    in_guest("guest kernel", "nilfs2", "", Expected::Nothing),
    in_guest("guest kernel", "jfs", "", Expected::Loses),
    // Its log can't be replayed even where all of it is there, see docs/safety.md.
    Row {
        safety: "cache = \"write-through\"\nsize = \"64MiB\"\n",
        ..in_guest("guest kernel, no volatile cache", "jfs", "", Expected::Damage)
    },
    in_guest("guest kernel, barrier=flush", "reiserfs", "mount = [\"barrier=flush\"]\n", Expected::Nothing),
    in_guest("guest kernel, barrier=none", "reiserfs", "mount = [\"barrier=none\"]\n", Expected::Damage),
];

impl Row {
    fn study(&self, budget: &str) -> String {
        let (service, settings) = match self.engine {
            "postgres" => (
                "[service.postgres]\nwal_segment_size = \"1MiB\"\n",
                "shared_buffers = \"16MB\", max_wal_size = \"32MB\", autovacuum = \"off\"",
            ),
            "gtm" => ("[service.gtm]\n", ""),
            "mariadb" => ("[service.mariadb]\n", "innodb_log_file_size = \"4M\", innodb_buffer_pool_size = \"8M\""),
            _ => ("", ""),
        };
        let all: Vec<&str> = [settings, self.settings].into_iter().filter(|some| !some.is_empty()).collect();
        let settings = if all.is_empty() { String::new() } else { format!("settings = {{ {} }}\n", all.join(", ")) };
        let workload = match self.engine {
            "files" => "[workload.tree]\n".into(),
            "gtm" => "[workload.three-n-plus-one]\nengine = \"gtm\"\n".into(),
            engine => format!("[workload.oltp]\nengine = \"{engine}\"\n{}", self.workload),
        };
        format!(
            "name = \"s\"\nquestion = \"?\"\nbench = \"{}\"\n[storage]\nfilesystem = \"{}\"\n{}{workload}{service}{}{settings}\
             [safety]\nbudget = \"{budget}\"\n{}",
            self.bench, self.filesystem, self.storage, self.service, self.safety
        )
    }
}

impl Expected {
    fn words(&self) -> String {
        match self {
            Expected::Nothing => "nothing lost".into(),
            Expected::LastCommit => "the last commit".into(),
            Expected::Recent(seconds) => format!("some, at most {seconds} s"),
            Expected::Loses => "loss".into(),
            Expected::NoDamage => "no damage".into(),
            Expected::Damage => "damage".into(),
            Expected::Divergence => "replicas that lack commits".into(),
            Expected::DamageOf(kinds) => format!("damage: {}", kinds.join(" or ")),
            Expected::NoDamageBut(kinds) => format!("no damage but {}", kinds.join(" or ")),
        }
    }

    fn holds(&self, safety: &Value) -> bool {
        let number = |name: &str| safety[name].as_f64().unwrap_or(f64::NAN);
        let damaged = number("unmountable") + number("damaged") + number("silent") > 0.0;
        let (lost, seconds) = (number("worst_lost_commits"), number("worst_lost_seconds"));
        let diverged = safety["findings"].as_array().is_some_and(|all| {
            all.iter().any(|one| one["what"].as_str().is_some_and(|what| what.starts_with("a replica would lack")))
        });
        let looked = number("images") > 0.0 && number("acknowledged") > 0.0;
        looked
            && match self {
                Expected::Nothing => safety["grade"] == "A",
                Expected::LastCommit => !damaged && ["A", "B"].contains(&safety["grade"].as_str().unwrap_or_default()),
                Expected::Recent(limit) => !damaged && lost > 0.0 && seconds <= *limit,
                Expected::Loses => lost > 0.0,
                Expected::NoDamage => !damaged,
                Expected::Damage => damaged,
                Expected::Divergence => !damaged && diverged,
                Expected::DamageOf(kinds) => damaged && are_of(kinds, safety),
                Expected::NoDamageBut(kinds) => are_of(kinds, safety),
            }
    }
}

/// Whether all damage that was found is of these kinds.
fn are_of(kinds: &[&str], safety: &Value) -> bool {
    let is_one = |what: &str| what.starts_with("acknowledged commits") || kinds.iter().any(|kind| what.contains(kind));
    let findings = safety["findings"].as_array().map_or(&[][..], Vec::as_slice);
    findings.iter().all(|finding| finding["what"].as_str().is_some_and(is_one))
}

/// Measures a row: the ledger's entry.
fn measure(row: &Row, budget: &str) -> Value {
    let folder = tempfile::Builder::new().prefix("surefoot-powercut-").tempdir_in("/var/tmp").expect("a folder");
    std::fs::write(folder.path().join("s.toml"), row.study(budget)).expect("a study");
    let surefoot = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_surefoot")).args(arguments).current_dir(folder.path()).output();
        output.expect("surefoot starts")
    };
    let said = surefoot(&["powercut", "s.toml"]);
    let report = surefoot(&["report", "s.surefoot", "--json"]);
    let json: Value = serde_json::from_slice(&report.stdout).unwrap_or_default();
    let entry = json["ledger"]["safety"][0].clone();
    if entry.is_null() {
        eprintln!("{}", String::from_utf8_lossy(&said.stderr));
    }
    entry
}

fn main() {
    let wanted = std::env::var("ROWS").unwrap_or_default().to_lowercase();
    let budget = std::env::var("BUDGET").unwrap_or_else(|_| "20s".into());
    let rows: Vec<&Row> = ROWS.iter().filter(|row| row.name.to_lowercase().contains(&wanted)).collect();
    let wrong = match std::env::var("IMAGES") {
        Ok(images) => false_alarms(&rows, &budget, images.parse().expect("IMAGES: a number of images")),
        Err(_) => table(&rows, &budget),
    };
    std::process::exit(i32::from(wrong > 0));
}

/// Measures each row once; how many are not as expected.
fn table(rows: &[&Row], budget: &str) -> usize {
    println!(
        "| configuration | on | expected | grade | lost at most | on average | images | damaged | bad random cuts | |\n\
         |---|---|---|---|---|---|---|---|---|---|"
    );
    let mut wrong = 0;
    for row in rows {
        let entry = measure(row, budget);
        let safety = &entry["safety"];
        let holds = row.expected.holds(safety);
        wrong += usize::from(!holds);
        let text = |name: &str| safety[name].to_string().replace('"', "");
        let number = |name: &str| safety[name].as_f64().unwrap_or(f64::NAN);
        println!(
            "| {} | {} | {} | {} | {} commits, {:.3} s | {} | {}{} | {} | {} of {} | {} |",
            row.name,
            row.filesystem,
            row.expected.words(),
            text("grade"),
            text("worst_lost_commits"),
            number("worst_lost_seconds"),
            if safety["expected_lost_commits"].is_null() {
                "none came up".into()
            } else {
                format!("{:.1} commits, {:.3} s", number("expected_lost_commits"), number("expected_lost_seconds"))
            },
            text("images"),
            if safety["is_complete"] == true { ", complete" } else { "" },
            number("unmountable") + number("damaged") + number("silent"),
            text("random_cuts_bad"),
            text("random_cuts"),
            if holds { "as expected" } else { "NOT AS EXPECTED" },
        );
        if !holds {
            eprintln!("{:#}", if safety.is_null() { &entry } else { safety });
        }
    }
    wrong
}

/// Measures the rows that lose nothing, in turn, until so many images were recovered; how many measurements found anything.
fn false_alarms(rows: &[&Row], budget: &str, images_wanted: u64) -> usize {
    let safe = rows.iter().filter(|row| matches!(row.expected, Expected::Nothing));
    assert!(safe.clone().count() > 0, "no row of that name loses nothing");
    let (mut images, mut alarms) = (0, 0);
    println!("| configuration | on | images | images so far | alarms so far |\n|---|---|---|---|---|");
    for row in safe.cycle() {
        let entry = measure(row, budget);
        let safety = &entry["safety"];
        let looked_at = safety["images"].as_u64().unwrap_or(0);
        images += looked_at;
        if !row.expected.holds(safety) {
            alarms += 1;
            eprintln!("{:#}", if safety.is_null() { &entry } else { safety });
        }
        println!("| {} | {} | {looked_at} | {images} | {alarms} |", row.name, row.filesystem);
        // What can't be measured at all must not go on for ever.
        if images >= images_wanted || looked_at == 0 {
            break;
        }
    }
    alarms
}
