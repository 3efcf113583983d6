//! The acceptance table's rows: configurations with what somebody else says of them in a power cut, and those of which nobody does.

use super::expected::Expected;

pub struct Row {
    pub name: &'static str,
    /// `host`, or `guest` for filesystems that this machine's kernel may lack.
    pub bench: &'static str,
    pub filesystem: &'static str,
    /// Further lines of `[storage]`.
    pub storage: &'static str,
    /// The database; "files": none.
    pub engine: &'static str,
    /// Further lines of the workload's table.
    pub workload: &'static str,
    /// Further lines of the server's table.
    pub service: &'static str,
    /// Entries of the server's settings.
    pub settings: &'static str,
    /// Further lines of `[safety]`.
    pub safety: &'static str,
    pub expected: Expected,
    /// Whose word that is: a manual's, a paper's, a bug report's. Empty: nobody's, it is what was seen before.
    pub who: &'static str,
    /// What was seen is known to be otherwise; docs/safety.md says how.
    pub is_known_otherwise: bool,
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
    who: "",
    is_known_otherwise: false,
};

const PG_COMMITS: &str = "PostgreSQL manual, chapter Reliability and the Write-Ahead Log, Reliability";
const PG_FSYNC: &str =
    "PostgreSQL manual, Write Ahead Log, Settings, `fsync`: off \"can result in unrecoverable data corruption\"";
const PG_PAGES: &str =
    "PostgreSQL manual, Write Ahead Log, Settings, `full_page_writes`: off might corrupt, unrecoverably or silently";
const PG_LATER: &str =
    "PostgreSQL manual, Write Ahead Log, Settings, `synchronous_commit`: off delays by up to three `wal_writer_delay`";
const PG_METHOD: &str =
    "PostgreSQL manual, Write Ahead Log, Settings, `wal_sync_method`: the way in which WAL is forced to disk";
const PG_LOCAL: &str =
    "PostgreSQL manual, Write Ahead Log, Settings, `synchronous_commit`: local waits for the local flush to disk";
const PG_DELAY: &str = "PostgreSQL manual, Asynchronous Commit: `commit_delay` is a synchronous commit method";
const BARRIER: &str = "Linux, admin-guide/ext4, `barrier`: makes volatile disk write caches safe to use";
const BATTERY: &str = "Linux, admin-guide/ext4, `barrier`: disks with a battery may safely do without";
const PRAGMA_FULL: &str =
    "SQLite, PRAGMA synchronous, FULL: in WAL mode a sync after each commit, durable across a power loss";
const PRAGMA_FULL_TRUNCATE: &str =
    "SQLite, pager.c, `pager_end_transaction`: FULL syncs the truncated journal lest the last transaction roll back";
const PRAGMA_FULL_PERSIST: &str = "SQLite, pager.c, `zeroJournalHdr`: the journal is synced once its header is zeroed";
const PRAGMA_EXTRA: &str = "SQLite, PRAGMA synchronous, EXTRA: durability FULL does not give in DELETE mode";
const PRAGMA_EXTRA_WAL: &str = "SQLite, PRAGMA synchronous, EXTRA: like FULL, and more in DELETE mode";
const PRAGMA_NORMAL: &str =
    "SQLite, PRAGMA synchronous, NORMAL: DELETE is probably safe on modern filesystems, less durable than EXTRA";
const PRAGMA_NORMAL_PERSIST: &str =
    "SQLite, PRAGMA synchronous, NORMAL: DELETE is probably safe on modern filesystems; PERSIST is not named";
const PRAGMA_NORMAL_WAL: &str = "SQLite, PRAGMA synchronous, NORMAL: in WAL mode consistent, a commit might roll back";
const PRAGMA_OFF: &str = "SQLite, PRAGMA synchronous, OFF: the database might become corrupted";
const PRAGMA_JOURNAL: &str =
    "SQLite, PRAGMA journal_mode, MEMORY and OFF: an application's crash in a transaction very likely corrupts";
const SQLITE_TORN: &str = "SQLite, Powersafe Overwrite, Torn Pages: a page's write is never assumed to be atomic";
const SQLITE_LIES: &str =
    "SQLite, How To Corrupt An SQLite Database File, Disk drives that do not honor sync requests: at checkpoints";
const INNODB_ACID: &str = "MariaDB, InnoDB System Variables, `innodb_flush_log_at_trx_commit` = 1: ACID";
const INNODB_SECOND: &str =
    "MariaDB, InnoDB System Variables, `innodb_flush_log_at_trx_commit` = 0, 2: the last second may be lost";
const INNODB_DOUBLE: &str =
    "MariaDB, InnoDB Doublewrite Buffer: recovers half-written pages; off is safe where page writes are atomic";
const BINLOG: &str = "MariaDB, Group Commit for the Binary Log, Durability: what was committed is there after a crash";
const BINLOG_LATE: &str =
    "MariaDB, Group Commit for the Binary Log, Non-Durable Binary Logs: replicas may lack transactions";
const GTM_JOURNAL: &str =
    "GT.M Administration and Operations Guide, chapter GT.M Journaling, Introduction: durability through journaling";
const GTM_NONE: &str =
    "GT.M Administration and Operations Guide, Database Repair: a system crash often damages a database file";
const REDIS_ALWAYS: &str = "Redis manual, Redis persistence, Append-only file: `always` is very safe";
const REDIS_SECOND: &str =
    "Redis issue 5177, Valkey issue 1148: after power losses the file ends in zeros, and the server refuses it";
const EXT4_ALLOC: &str =
    "Linux, admin-guide/ext4, `auto_da_alloc`: blocks are forced to disk before the rename is committed";
const EXT4_NO_ALLOC: &str = "Linux, admin-guide/ext4, `noauto_da_alloc`: the zero-length problem";
const EXT4_WRITEBACK: &str = "Linux, admin-guide/ext4, Data Mode, writeback: a crash can cause incorrect data in files";
const BTRFS_FLUSH: &str = "btrfs(5), `flushoncommit`: the committed state is fully consistent";
const FSYNC: &str = "fsync(2): the folder's entry needs an fsync of its own";
const FSYNC_ORDER: &str =
    "fsync(2): the folder needs its own fsync; Chinner, linux-kernel, 2018-09-14: ext4 keeps the order of renames";
const ALICE: &str = "Pillai et al., OSDI 2014, Table 1: a write of several blocks is atomic on no filesystem";
const REISER_BARRIER: &str =
    "mount(8), Mount options for reiserfs, `barrier`: makes volatile disk write caches safe to use";

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
const DATA_JOURNAL: &str = "mount = [\"data=journal\"]\n";
const NO_BARRIER: &str = "preset = \"nobarrier\"\n";
/// Nothing but a commit every 30 s writes a rename on btrfs.
const COMMIT_OFTEN: &str = "mount = [\"commit=1\"]\n";
const COMMIT_DATA_OFTEN: &str = "mount = [\"commit=1\", \"flushoncommit\"]\n";
const EMPTY: Expected = Expected::DamageOf(&["length zero"]);
const EMPTY_AT_MOST: Expected = Expected::NoDamageBut(&["length zero"]);
const MIXED: Expected = Expected::DamageOf(&["mix versions"]);
const MIXED_AT_MOST: Expected = Expected::NoDamageBut(&["mix versions"]);
const OLD_BLOCKS: Expected = Expected::DamageOf(&["zeros", "mix versions", "another file's", "never written"]);

const fn sqlite(name: &'static str, workload: &'static str, expected: Expected, who: &'static str) -> Row {
    Row { name, workload, expected, who, ..PLAIN }
}

const fn postgres(name: &'static str, settings: &'static str, expected: Expected, who: &'static str) -> Row {
    Row { name, engine: "postgres", settings, expected, who, ..PLAIN }
}

const fn mariadb(name: &'static str, settings: &'static str, expected: Expected, who: &'static str) -> Row {
    Row { name, engine: "mariadb", settings, expected, who, ..PLAIN }
}

const fn gtm(name: &'static str, service: &'static str, expected: Expected, who: &'static str) -> Row {
    Row { name, engine: "gtm", service, expected, who, ..PLAIN }
}

const fn redis(name: &'static str, settings: &'static str, expected: Expected, who: &'static str) -> Row {
    Row { name, engine: "redis", settings, expected, who, ..PLAIN }
}

/// Files that are replaced.
const fn files(name: &'static str, safety: &'static str, expected: Expected, who: &'static str) -> Row {
    Row { name, safety, expected, who, engine: "files", ..PLAIN }
}

/// SQLite in the mode that loses nothing, in a guest kernel.
const fn in_guest(name: &'static str, filesystem: &'static str, expected: Expected, who: &'static str) -> Row {
    Row { name, bench: "guest", filesystem, safety: "size = \"64MiB\"\n", expected, who, ..PLAIN }
}

const fn on(filesystem: &'static str, row: Row) -> Row {
    Row { filesystem, ..row }
}

const fn mounted(storage: &'static str, row: Row) -> Row {
    Row { storage, ..row }
}

const DELETE_EXTRA: &str = "journal_mode = \"delete\"\nsynchronous = \"extra\"\n";
const DELETE_FULL: &str = "journal_mode = \"delete\"\nsynchronous = \"full\"\n";
const DELETE_NORMAL: &str = "journal_mode = \"delete\"\nsynchronous = \"normal\"\n";
const DELETE_OFF: &str = "journal_mode = \"delete\"\nsynchronous = \"off\"\n";
const TRUNCATE_FULL: &str = "journal_mode = \"truncate\"\nsynchronous = \"full\"\n";
const PERSIST_FULL: &str = "journal_mode = \"persist\"\nsynchronous = \"full\"\n";
const PERSIST_NORMAL: &str = "journal_mode = \"persist\"\nsynchronous = \"normal\"\n";
const MEMORY_FULL: &str = "journal_mode = \"memory\"\nsynchronous = \"full\"\n";
const OFF_FULL: &str = "journal_mode = \"off\"\nsynchronous = \"full\"\n";
const WAL_FULL: &str = "journal_mode = \"wal\"\nsynchronous = \"full\"\n";
const WAL_EXTRA: &str = "journal_mode = \"wal\"\nsynchronous = \"extra\"\n";
const WAL_NORMAL: &str = "journal_mode = \"wal\"\nsynchronous = \"normal\"\n";
const WAL_OFF: &str = "journal_mode = \"wal\"\nsynchronous = \"off\"\n";

const FSYNC_OFF: Row = postgres("PostgreSQL, fsync = off", "fsync = \"off\"", Expected::Damage, PG_FSYNC);
const PAGES_OFF: Row =
    postgres("PostgreSQL, full_page_writes = off", "full_page_writes = \"off\"", Expected::Damage, PG_PAGES);
const PAGES_OFF_KEPT: Row =
    postgres("PostgreSQL, full_page_writes = off", "full_page_writes = \"off\"", Expected::NoDamage, "");
const DOUBLE_OFF: Row =
    mariadb("MariaDB, innodb_doublewrite = off", "innodb_doublewrite = \"off\"", Expected::Damage, INNODB_DOUBLE);

/// Those of which a maker or somebody else says something come first.
pub const ROWS: &[Row] = &[
    postgres("PostgreSQL", "", Expected::Nothing, PG_COMMITS),
    on("xfs", postgres("PostgreSQL", "", Expected::Nothing, PG_COMMITS)),
    on("btrfs", postgres("PostgreSQL", "", Expected::Nothing, PG_COMMITS)),
    postgres(
        "PostgreSQL, wal_sync_method = open_datasync",
        "wal_sync_method = \"open_datasync\"",
        Expected::Nothing,
        PG_METHOD,
    ),
    postgres("PostgreSQL, synchronous_commit = local", "synchronous_commit = \"local\"", Expected::Nothing, PG_LOCAL),
    postgres("PostgreSQL, commit_delay = 1000", "commit_delay = 1000", Expected::Nothing, PG_DELAY),
    postgres(
        "PostgreSQL, synchronous_commit = off, wal_writer_delay = 200ms",
        "synchronous_commit = \"off\", wal_writer_delay = \"200ms\"",
        Expected::Recent(0.6),
        PG_LATER,
    ),
    postgres(
        "PostgreSQL, synchronous_commit = off, wal_writer_delay = 1s",
        "synchronous_commit = \"off\", wal_writer_delay = \"1s\"",
        Expected::Recent(3.0),
        PG_LATER,
    ),
    FSYNC_OFF,
    on("xfs", FSYNC_OFF),
    PAGES_OFF,
    on("xfs", PAGES_OFF),
    mounted(NO_BARRIER, postgres("PostgreSQL, nobarrier", "", Expected::Damage, BARRIER)),
    Row {
        safety: "cache = \"write-through\"\n",
        ..mounted(
            NO_BARRIER,
            postgres("PostgreSQL, nobarrier on a disk without a volatile cache", "", Expected::Nothing, BATTERY),
        )
    },
    sqlite("SQLite delete/extra", DELETE_EXTRA, Expected::Nothing, PRAGMA_EXTRA),
    sqlite("SQLite delete/full", DELETE_FULL, Expected::LastCommit, PRAGMA_EXTRA),
    sqlite("SQLite delete/normal", DELETE_NORMAL, Expected::LastCommit, PRAGMA_NORMAL),
    on("xfs", sqlite("SQLite persist/normal", PERSIST_NORMAL, Expected::NoDamage, PRAGMA_NORMAL_PERSIST)),
    sqlite("SQLite truncate/full", TRUNCATE_FULL, Expected::Nothing, PRAGMA_FULL_TRUNCATE),
    sqlite("SQLite persist/full", PERSIST_FULL, Expected::Nothing, PRAGMA_FULL_PERSIST),
    sqlite("SQLite wal/full", WAL_FULL, Expected::Nothing, PRAGMA_FULL),
    on("xfs", sqlite("SQLite wal/full", WAL_FULL, Expected::Nothing, PRAGMA_FULL)),
    on("btrfs", sqlite("SQLite wal/full", WAL_FULL, Expected::Nothing, PRAGMA_FULL)),
    on("xfs", sqlite("SQLite wal/extra", WAL_EXTRA, Expected::Nothing, PRAGMA_EXTRA_WAL)),
    Row {
        safety: "unit = \"512\"\n",
        ..sqlite("SQLite wal/full, 512-byte units", WAL_FULL, Expected::NoDamage, SQLITE_TORN)
    },
    sqlite("SQLite wal/normal", WAL_NORMAL, Expected::Loses, PRAGMA_NORMAL_WAL),
    sqlite("SQLite wal/off", WAL_OFF, Expected::Damage, PRAGMA_OFF),
    on("xfs", sqlite("SQLite wal/off", WAL_OFF, Expected::Damage, PRAGMA_OFF)),
    sqlite("SQLite delete/off", DELETE_OFF, Expected::Damage, PRAGMA_OFF),
    sqlite("SQLite memory/full", MEMORY_FULL, Expected::Damage, PRAGMA_JOURNAL),
    on("xfs", sqlite("SQLite off/full", OFF_FULL, Expected::Damage, PRAGMA_JOURNAL)),
    mounted(NO_BARRIER, sqlite("SQLite delete/extra, nobarrier", DELETE_EXTRA, Expected::Damage, BARRIER)),
    Row {
        safety: "cache = \"lying\"\n",
        ..sqlite("SQLite wal/full, a disk that ignores flushes", WAL_FULL, Expected::Damage, SQLITE_LIES)
    },
    mariadb("MariaDB", "", Expected::Nothing, INNODB_ACID),
    on("xfs", mariadb("MariaDB", "", Expected::Nothing, INNODB_ACID)),
    mariadb(
        "MariaDB, innodb_flush_method = O_DSYNC",
        "innodb_flush_method = \"O_DSYNC\"",
        Expected::Nothing,
        INNODB_ACID,
    ),
    Row {
        is_known_otherwise: true,
        ..mariadb(
            "MariaDB, innodb_flush_method = fsync",
            "innodb_flush_method = \"fsync\"",
            Expected::Nothing,
            INNODB_ACID,
        )
    },
    mariadb(
        "MariaDB, innodb_flush_log_at_trx_commit = 2",
        "innodb_flush_log_at_trx_commit = 2",
        Expected::Recent(3.0),
        INNODB_SECOND,
    ),
    mariadb(
        "MariaDB, innodb_flush_log_at_trx_commit = 0",
        "innodb_flush_log_at_trx_commit = 0",
        Expected::Recent(3.0),
        INNODB_SECOND,
    ),
    DOUBLE_OFF,
    Row {
        service: "binary_log = true\n",
        ..mariadb("MariaDB, binary log, sync_binlog = 1", "sync_binlog = 1", Expected::Nothing, BINLOG)
    },
    Row {
        service: "binary_log = true\n",
        ..mariadb("MariaDB, binary log, sync_binlog = 0", "sync_binlog = 0", Expected::Divergence, BINLOG_LATE)
    },
    gtm("GT.M", BEFORE_IMAGES, Expected::Nothing, GTM_JOURNAL),
    on("xfs", gtm("GT.M", BEFORE_IMAGES, Expected::Nothing, GTM_JOURNAL)),
    gtm("GT.M, no journal", NO_JOURNAL, Expected::Damage, GTM_NONE),
    mounted(NO_BARRIER, gtm("GT.M, nobarrier", BEFORE_IMAGES, Expected::Damage, BARRIER)),
    redis("Redis, appendfsync = always", "appendfsync = \"always\"", Expected::Nothing, REDIS_ALWAYS),
    on("xfs", redis("Redis, appendfsync = always", "appendfsync = \"always\"", Expected::Nothing, REDIS_ALWAYS)),
    redis("Redis, appendfsync = everysec", "appendfsync = \"everysec\"", Expected::Damage, REDIS_SECOND),
    Row { is_known_otherwise: true, ..files("files: rename", RENAME, Expected::NoDamage, EXT4_ALLOC) },
    Row {
        is_known_otherwise: true,
        ..files("files: rename, 10 s, timed as scsi-10k", RENAME_ON_SLOW_DISK, Expected::NoDamage, EXT4_ALLOC)
    },
    mounted(
        NO_UNWRITTEN_EXTENTS,
        files(
            "files: rename, nodioread_nolock, 10 s, timed as scsi-10k",
            RENAME_ON_SLOW_DISK,
            Expected::NoDamage,
            EXT4_ALLOC,
        ),
    ),
    mounted(NO_HEURISTICS, files("files: rename, noauto_da_alloc", RENAME, EMPTY, EXT4_NO_ALLOC)),
    mounted(NO_HEURISTICS, files("files: truncate, noauto_da_alloc", TRUNCATE, EMPTY, EXT4_NO_ALLOC)),
    mounted(BLOCKS_FIRST, files("files: rename, data=writeback, nodelalloc", RENAME, OLD_BLOCKS, EXT4_WRITEBACK)),
    on(
        "btrfs",
        mounted(
            COMMIT_DATA_OFTEN,
            files(
                "files: rename, commit=1, flushoncommit, 10 s, timed as scsi-10k",
                RENAME_ON_SLOW_DISK,
                Expected::NoDamage,
                BTRFS_FLUSH,
            ),
        ),
    ),
    files("files: rename-fsync", RENAME_FSYNC, Expected::LastCommit, FSYNC_ORDER),
    files("files: rename-fsync-directory", RENAME_FSYNC_DIRECTORY, Expected::Nothing, FSYNC),
    on("xfs", files("files: rename-fsync-directory", RENAME_FSYNC_DIRECTORY, Expected::Nothing, FSYNC)),
    files("files: overwrite-fsync", OVERWRITE_FSYNC, MIXED, ALICE),
    mounted(DATA_JOURNAL, files("files: overwrite-fsync, data=journal", OVERWRITE_FSYNC, MIXED_AT_MOST, ALICE)),
    in_guest("guest kernel", "ext4", Expected::Nothing, PRAGMA_FULL),
    mounted(NO_BARRIER, in_guest("guest kernel, nobarrier", "ext4", Expected::Damage, BARRIER)),
    in_guest("guest kernel", "xfs", Expected::Nothing, PRAGMA_FULL),
    in_guest("guest kernel", "btrfs", Expected::Nothing, PRAGMA_FULL),
    in_guest("guest kernel", "f2fs", Expected::Nothing, PRAGMA_FULL),
    in_guest("guest kernel", "nilfs2", Expected::Nothing, PRAGMA_FULL),
    mounted(
        "mount = [\"barrier=flush\"]\n",
        in_guest("guest kernel, barrier=flush", "reiserfs", Expected::Nothing, REISER_BARRIER),
    ),
    mounted(
        "mount = [\"barrier=none\"]\n",
        in_guest("guest kernel, barrier=none", "reiserfs", Expected::Damage, REISER_BARRIER),
    ),
    // Nobody's word, from here on.
    on("btrfs", PAGES_OFF_KEPT),
    mounted(DATA_JOURNAL, Row { name: "PostgreSQL, full_page_writes = off, data=journal", ..PAGES_OFF_KEPT }),
    on("btrfs", postgres("PostgreSQL, fsync = off", "fsync = \"off\"", Expected::Loses, "")),
    mounted(
        "mount = [\"data=journal\", \"journal_async_commit\"]\n",
        postgres("PostgreSQL, data=journal, journal_async_commit", "", Expected::Damage, ""),
    ),
    on("btrfs", sqlite("SQLite wal/off", WAL_OFF, Expected::Loses, "")),
    on("ext2", sqlite("SQLite wal/full", WAL_FULL, Expected::NoDamage, "")),
    on("btrfs", Row { expected: Expected::NoDamage, who: "", ..DOUBLE_OFF }),
    mariadb(
        "MariaDB, innodb_flush_method = O_DIRECT_NO_FSYNC",
        "innodb_flush_method = \"O_DIRECT_NO_FSYNC\"",
        Expected::Damage,
        "",
    ),
    mariadb("MariaDB, innodb_flush_method = nosync", "innodb_flush_method = \"nosync\"", Expected::Loses, ""),
    mariadb("MariaDB, innodb_flush_method = littlesync", "innodb_flush_method = \"littlesync\"", Expected::Nothing, ""),
    on("xfs", files("files: rename", RENAME, EMPTY, "")),
    on("btrfs", mounted(COMMIT_OFTEN, files("files: rename, commit=1", RENAME, EMPTY_AT_MOST, ""))),
    on("btrfs", files("files: overwrite-fsync", OVERWRITE_FSYNC, Expected::NoDamage, "")),
    in_guest("guest kernel", "jfs", Expected::Damage, ""),
    Row {
        safety: "cache = \"write-through\"\nsize = \"64MiB\"\n",
        ..in_guest("guest kernel, no volatile cache", "jfs", Expected::Damage, "")
    },
];

impl Row {
    /// Its study; with these further lines of `[safety]` where commits are measured.
    pub fn study(&self, budget: &str, of_commits: &str) -> String {
        let (service, settings) = match self.engine {
            "postgres" => (
                "[service.postgres]\nwal_segment_size = \"1MiB\"\n",
                "shared_buffers = \"16MB\", max_wal_size = \"32MB\", autovacuum = \"off\"",
            ),
            "gtm" => ("[service.gtm]\n", ""),
            "redis" => ("[service.redis]\n", "appendonly = \"yes\", save = \"\""),
            "mariadb" => ("[service.mariadb]\n", "innodb_log_file_size = \"4M\", innodb_buffer_pool_size = \"8M\""),
            _ => ("", ""),
        };
        let all: Vec<&str> = [settings, self.settings].into_iter().filter(|some| !some.is_empty()).collect();
        let settings = if all.is_empty() { String::new() } else { format!("settings = {{ {} }}\n", all.join(", ")) };
        let workload = match self.engine {
            "files" => "[workload.tree]\n".into(),
            "gtm" => "[workload.three-n-plus-one]\nengine = \"gtm\"\n".into(),
            "redis" => "[workload.key-value]\nengine = \"redis\"\n".into(),
            engine => format!("[workload.oltp]\nengine = \"{engine}\"\n{}", self.workload),
        };
        let further = if self.engine == "files" { "" } else { of_commits };
        format!(
            "name = \"s\"\nquestion = \"?\"\nbench = \"{}\"\n[storage]\nfilesystem = \"{}\"\n{}{workload}{service}{}{settings}\
             [safety]\nbudget = \"{budget}\"\n{}{further}",
            self.bench, self.filesystem, self.storage, self.service, self.safety
        )
    }
}
