//! GT.M as a service: a database of files that processes share through memory, with no server process of its own.
//!
//! What a load is given instead of a socket is a program that enters it: it sets GT.M's environment, becomes the service's
//! user, and runs one of GT.M's programs (`gtm mumps -run X`, `gtm mupip integ …`). A load puts its routines into `r` beside it.

mod applied;
mod recovered;

use crate::effect::{self, Effects};
use crate::idle::{self, Idle};
use crate::recovered::{Answers, deadline};
use crate::service::{
    self, Error, FreeSettings, Kind, Missing, Place, Program, Running, Service, ServiceSettings, is_among,
};
use crate::versions;
use observe::durability::{Class, Durability};
use serde::Deserialize;
use settings::configuration::{Configuration, Setup};
use settings::{Kind as Is, Setting};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The row in the list of services.
pub static KIND: Kind = Kind {
    name: "gtm",
    summary: "GT.M, a key-value database of files in shared memory",
    example: "[service.gtm]\njournal = \"before\"\nsettings = { block_size = 4096, global_buffer_count = 10000 }\n",
    settings: SETTINGS,
    listens: false,
    is_database: true,
    has_log_volume: true,
    read: service::read::<GtmSettings>,
};

const SETTINGS: &[Setting] = &[
    Setting::absent("version", Is::Text).help("Version, like \"V7.0-005\"; default: the newest that is installed."),
    Setting::new("journal", Is::Choice(&["before", "nobefore", "none"]), "before")
        .help("Journal with the images of blocks before a change (rolls back after a power cut), without them (a backup can be rolled forward), or none."),
    Setting::new("settings", Is::Table, "{}")
        .help("Qualifiers of a segment or region as GDE names them: settings = { access_method = \"BG\", block_size = 4096 }; those of the journal begin with journal_, like journal_epoch_interval = 60."),
    Setting::new("data", Is::Choice(&["template", "load"]), "template")
        .help("`template`: the empty database is made once, then copied for each trial. `load`: made anew on the filesystem under test."),
];

/// Values of the package's own global directory, but for keys: a number in words, a language a digit, needs more than 255.
const DEFAULTS: &str = "access_method=BG allocation=5000 block_size=4096 extension_count=10000 global_buffer_count=1000 \
    key_size=511 record_size=4000";

/// Qualifiers of a segment; all others are a region's (GT.M Administration Guide, "Global Directory Editor").
const OF_SEGMENT: &str = "access_method allocation asyncio block_size defer defer_allocate encryption_flag \
     extension_count fullblkwrt global_buffer_count lock_space mutex_slots reserved_bytes";

/// Qualifiers that surefoot itself needs.
const OURS: &[&str] = &["file_name", "dynamic_segment", "journal", "journal_file"];

/// Field of the file header for a qualifier, as `mupip dumpfhead` names it, and how many of its units make one of ours.
const IN_HEADER: &[(&str, &str, f64)] = &[
    ("asyncio", "asyncio", 1.0),
    ("block_size", "blk_size", 1.0),
    ("defer_allocate", "defer_allocate", 1.0),
    ("extension_count", "extension_size", 1.0),
    ("global_buffer_count", "n_bts", 1.0),
    ("key_size", "max_key_size", 1.0),
    ("lock_space", "lock_space_size", 512.0),
    ("mutex_slots", "mutex_spin_parms.mutex_que_entry_space_size", 1.0),
    ("record_size", "max_rec_size", 1.0),
    ("reserved_bytes", "reserved_bytes", 1.0),
    ("epochtaper", "epoch_taper", 1.0),
    ("qdbrundown", "mumps_can_bypass", 1.0),
    ("journal_alignsize", "alignsize", 512.0),
    ("journal_autoswitchlimit", "autoswitchlimit", 1.0),
    ("journal_epoch_interval", "epoch_interval", 1.0),
    ("journal_extension", "jnl_deq", 1.0),
    ("journal_sync_io", "jnl_sync_io", 1.0),
];

const ENTER: &str = "gtm";

const JOURNAL_FILE: &str = "surefoot.mjl";

/// Debian's layout: `/usr/lib/x86_64-linux-gnu/fis-gtm/V7.0-005_x86_64`.
fn find(wanted: Option<&str>) -> Result<(PathBuf, String), Missing> {
    let children = |folder: &Path| folder.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    let found = children(Path::new("/usr/lib"))
        .flat_map(|folder| children(&folder.join("fis-gtm")))
        .filter(|folder| folder.join("mumps").is_file() && folder.join("mupip").is_file())
        .filter_map(|folder| Some((folder.file_name()?.to_str()?.split('_').next()?.to_string(), folder)));
    versions::find("GT.M", wanted, found.collect(), "fis-gtm")
}

/// Qualifiers of the segment, or of the region.
fn qualifiers(settings: &BTreeMap<String, String>, of_segment: bool) -> String {
    let mine =
        settings.iter().filter(|(name, _)| !name.starts_with("journal_") && is_among(name, OF_SEGMENT) == of_segment);
    mine.map(|(name, value)| qualifier(name, value, " -")).collect()
}

/// The argument of `mupip set -journal`; none: no journal.
fn journaling(settings: &BTreeMap<String, String>, journal: &str, folder: &str) -> Option<String> {
    if journal == "none" {
        return None;
    }
    let mut text = format!("-journal=enable,on,{journal},file={folder}/{JOURNAL_FILE}");
    for (name, value) in settings {
        if let Some(name) = name.strip_prefix("journal_") {
            text.push_str(&qualifier(name, value, ","));
        }
    }
    Some(text)
}

#[derive(Deserialize)]
struct GtmSettings {
    version: Option<String>,
    journal: String,
    settings: FreeSettings,
}

impl ServiceSettings for GtmSettings {
    fn missing(&self) -> Option<Missing> {
        find(self.version.as_deref()).err()
    }

    /// GT.M Administration Guide, "GT.M Journaling".
    fn durability(&self) -> Durability {
        let because = |reason: &str| Durability::because(Class::MayCorrupt, reason);
        match self.journal.as_str() {
            "none" => because("journal = none: nothing repairs GT.M's database after a power cut"),
            "nobefore" => {
                because("journal = nobefore: after a power cut GT.M's database is made from a backup and the journal")
            }
            _ => Durability::full(),
        }
    }

    fn files(&self, setup: &Setup) -> Vec<Configuration> {
        applied::files(&self.settings.over(DEFAULTS), &self.journal, setup)
    }

    fn problems(&self) -> Vec<String> {
        let settings = &self.settings;
        let ours = settings.keys().filter(|name| OURS.contains(&name.as_str()));
        let mut problems: Vec<String> = ours.map(|name| format!("settings.{name}: surefoot sets it itself")).collect();
        for (name, value) in &**settings {
            // They go into GDE's and mupip's command lines.
            let is_word = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
            if !is_word(name) || !is_word(value) {
                problems.push(format!("settings.{name}: {value:?} is not a name or number"));
            }
        }
        let is_mapped = settings.get("access_method").is_some_and(|value| value.eq_ignore_ascii_case("mm"));
        if is_mapped && self.journal == "before" {
            problems
                .push("journal: the access method MM has no before-images; journal = \"nobefore\" or \"none\"".into());
        }
        problems
    }

    fn idle(&self) -> Vec<Idle> {
        idle::of("settings", &self.settings, &[(self.journal != "none", "journal_*", "journal")])
    }

    fn open(&self) -> Result<Box<dyn Service>, Error> {
        let program = Program::new(find(self.version.as_deref())?, &["nobody"]);
        Ok(Box::new(Gtm { program, settings: self.settings.over(DEFAULTS), journal: self.journal.clone() }))
    }
}

/// An installed GT.M with its settings.
struct Gtm {
    program: Program,
    settings: BTreeMap<String, String>,
    journal: String,
}

impl Gtm {
    /// Its journal, where it keeps one.
    fn kept<'a>(&self, journal: &'a Path) -> Option<&'a Path> {
        (self.journal != "none").then_some(journal)
    }

    /// Commands of the global directory editor.
    fn directory(&self) -> String {
        let of = |of_segment: bool| qualifiers(&self.settings, of_segment);
        // GDE keeps the variable as it stands: a copy of the files works at any place. It takes all that follows a file's
        // name as part of it.
        let file = "-file_name=$surefoot_data/surefoot.dat";
        format!("change -segment DEFAULT{} {file}\nchange -region DEFAULT{}\nexit\n", of(true), of(false))
    }

    /// The argument of `mupip set -journal`; none: no journal.
    fn journaling(&self, folder: &str) -> Option<String> {
        journaling(&self.settings, &self.journal, folder)
    }

    /// What a shell must know before one of GT.M's programs runs.
    fn environment(&self, data: &str, run: &str) -> String {
        let gtm = self.program.path.display();
        let mut text = format!("export gtm_dist='{gtm}' surefoot_data=\"{data}\" gtmgbldir=\"{data}/surefoot.gld\"\n");
        let _ = writeln!(text, "export gtmroutines=\"{run}/o({run}/r) {gtm}/libgtmutil.so {gtm}\"");
        let _ = writeln!(text, "export gtm_tmp=\"{run}\" gtm_log=\"{run}\" gtm_chset=M");
        text
    }

    /// Writes the program that enters the database.
    fn write_enter(&self, place: &Place) -> Result<PathBuf, Error> {
        let user = self.program.user.as_ref();
        let become_user = user
            .map_or(String::new(), |user| format!("setpriv --reuid={} --regid={} --clear-groups ", user.uid, user.gid));
        let environment = self.environment(&place.data.to_string_lossy(), &place.run.to_string_lossy());
        // An error in a routine is said and ends the process; without this it would wait for a person.
        let errors = "export gtm_etrap='use $principal write $zstatus,! zhalt 1'\n";
        let text = format!(
            "#!/bin/sh\n# written by surefoot\ncd '{}'\n{environment}{errors}program=$1\nshift\nexec {become_user}\"$gtm_dist/$program\" \"$@\"\n",
            place.run.display()
        );
        let path = place.run.join(ENTER);
        std::fs::write(&path, text).map_err(Error::file("write", &path))?;
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&path, executable).map_err(Error::file("make executable", &path))?;
        for name in ["r", "o"] {
            let folder = place.run.join(name);
            std::fs::create_dir_all(&folder).map_err(Error::file("create", &folder))?;
            let (uid, gid) = (user.map(|user| user.uid), user.map(|user| user.gid));
            std::os::unix::fs::chown(&folder, uid, gid).map_err(Error::file("give away", &folder))?;
        }
        Ok(path)
    }
}

/// `-name=value`; on and off are `-name` and `-noname`.
fn qualifier(name: &str, value: &str, before: &str) -> String {
    match value {
        "on" => format!("{before}{name}"),
        "off" => format!("{before}no{name}"),
        value => format!("{before}{name}={value}"),
    }
}

/// Runs one of GT.M's programs; gives all that it said. GDE does not say by its status that it refused.
fn run(enter: &Path, words: &[&str], input: &str) -> Result<String, Error> {
    let failed = Error::file("start", enter);
    // As in `recovered.rs`: no file that another thread's fork holds open can be executed.
    let mut command = Command::new("sh");
    command.arg(enter).args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(source) => return Err(failed(source)),
    };
    // It may end before it has read all; what it says then is the reason.
    let _ = child.stdin.take().expect("standard input was piped").write_all(input.as_bytes());
    let output = child.wait_with_output().map_err(failed)?;
    let log = said(&output);
    if output.status.success() && !log.contains("-E-") && !log.contains("-F-") {
        return Ok(log);
    }
    let status = if output.status.success() { "a refusal".into() } else { output.status.to_string() };
    Err(Error::Program { program: words.join(" "), status, log: log.trim().into() })
}

fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|said| String::from_utf8_lossy(said)).concat()
}

impl Service for Gtm {
    fn program(&self) -> &Program {
        &self.program
    }

    /// What is in the global directory and in the database's header.
    fn format(&self) -> String {
        self.directory()
    }

    fn create(&self, place: &Place) -> Result<(), Error> {
        let enter = self.write_enter(place)?;
        run(&enter, &["mumps", "-run", "GDE"], &self.directory())?;
        run(&enter, &["mupip", "create"], "").map(drop)
    }

    /// The journal is made on its volume when the database is opened.
    fn start(&self, place: &Place) -> Result<Box<dyn Running>, Error> {
        let enter = self.write_enter(place)?;
        let mut log = String::new();
        let folder = place.log.as_ref().unwrap_or(&place.data).to_string_lossy();
        if let Some(journaling) = self.journaling(&folder).filter(|_| !place.skip_fsync) {
            log = run(&enter, &["mupip", "set", &journaling, "-region", "DEFAULT"], "")?;
        }
        let header = run(&enter, &["mupip", "dumpfhead", "-region", "DEFAULT"], "")?;
        let effects = if place.skip_fsync { Effects::default() } else { self.effects(&header) };
        Ok(Box::new(Open { enter, effects, log }))
    }

    /// What is asked are programs of GT.M's, see [`recovered::recover`].
    fn ask_recovered(&self, place: &Place, questions: &[String]) -> Result<Answers, Error> {
        let journal = place.data.join(JOURNAL_FILE);
        recovered::recover(&self.write_enter(place)?, self.kept(&journal), questions, deadline())
    }

    fn repair(&self, place: &Place) -> Result<(), Error> {
        let (enter, journal) = (self.write_enter(place)?, place.data.join(JOURNAL_FILE));
        recovered::repair(&enter, self.kept(&journal), deadline())
    }

    fn commands(&self, has_log_volume: bool) -> Vec<String> {
        let mut all: Vec<String> = self.environment("$MOUNT/data", "$RUN").lines().map(String::from).collect();
        let lines: Vec<String> = self.directory().lines().map(|line| format!("'{line}'")).collect();
        all.push(format!("printf '%s\\n' {} | $gtm_dist/mumps -run GDE", lines.join(" ")));
        all.push("$gtm_dist/mupip create".into());
        let folder = if has_log_volume { "$WAL" } else { "$MOUNT/data" };
        if let Some(journaling) = self.journaling(folder) {
            all.push(format!("$gtm_dist/mupip set \"{journaling}\" -region DEFAULT"));
        }
        all
    }
}

impl Gtm {
    /// What the file header says beside what was asked.
    fn effects(&self, header: &str) -> Effects {
        let pairs = header.lines().filter_map(|line| line.strip_prefix("record(\"sgmnt_data.")?.split_once("\")="));
        let fields: BTreeMap<&str, &str> = pairs.map(|(name, value)| (name, value.trim_matches('"'))).collect();
        let mut effects = Effects::default();
        let mut compare = |name: &str, asked: Option<&str>, found: String| {
            if let Some(asked) = asked.filter(|asked| !effect::same(asked, &found, 1.0)) {
                effects.ineffective.push(format!("gtm runs with {name} = {found}, where {asked} was asked"));
            }
            effects.facts.insert(format!("gtm.{name}"), found);
        };
        let field = |name: &str| fields.get(name).copied().unwrap_or("unknown");
        let journal = match (field("jnl_state"), field("jnl_before_image")) {
            ("2", "1") => "before",
            ("2", _) => "nobefore",
            _ => "none",
        };
        compare("journal", Some(&self.journal), journal.into());
        let access = if field("acc_meth") == "2" { "MM" } else { "BG" };
        compare("access_method", self.settings.get("access_method").map(String::as_str), access.into());
        for (name, in_header, units) in IN_HEADER {
            let Some(found) = fields.get(in_header) else { continue };
            let found = found.parse::<f64>().map_or((*found).to_string(), |value| (value / units).to_string());
            compare(name, self.settings.get(*name).map(String::as_str), found);
        }
        effects.facts.insert("gtm.version".into(), self.program.version.clone());
        effects
    }
}

/// A database that processes may enter.
struct Open {
    enter: PathBuf,
    effects: Effects,
    log: String,
}

impl Running for Open {
    fn socket(&self) -> PathBuf {
        self.enter.clone()
    }

    fn effects(&self) -> &Effects {
        &self.effects
    }

    fn messages(&self) -> String {
        self.log.clone()
    }

    /// Writes out what shared memory still holds, should its last process have been killed.
    fn stop(self: Box<Self>) -> Result<(), Error> {
        run(&self.enter, &["mupip", "rundown", "-region", "DEFAULT"], "").map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parameters(changes: serde_json::Value) -> GtmSettings {
        settings::typed(&settings::check_all(SETTINGS, changes.as_object().expect("a table")).expect("right"))
    }

    #[test]
    fn mapped_access_has_no_before_images() {
        assert_eq!(parameters(json!({ "settings": { "access_method": "mm" } })).problems().len(), 1);
        assert!(
            parameters(json!({ "settings": { "access_method": "MM" }, "journal": "nobefore" })).problems().is_empty()
        );
    }

    #[test]
    fn nothing_slips_into_a_command_line() {
        let asked = json!({ "settings": { "block_size": "4096 -file=x", "journal_file": "x" } });
        assert_eq!(parameters(asked).problems().len(), 2);
    }

    #[test]
    fn qualifiers_go_where_they_belong() {
        let settings = [("block_size", "8192"), ("stdnullcoll", "on"), ("journal_sync_io", "off")];
        let settings = settings.map(|(name, value)| (name.to_string(), value.to_string())).into();
        let program = Program { path: "/gtm".into(), version: String::new(), user: None };
        let gtm = Gtm { program, settings, journal: "before".into() };
        let expected = "change -segment DEFAULT -block_size=8192 -file_name=$surefoot_data/surefoot.dat\n\
                        change -region DEFAULT -stdnullcoll\nexit\n";
        assert_eq!(gtm.directory(), expected);
        let journaling = gtm.journaling("/log").expect("there is a journal");
        assert_eq!(journaling, "-journal=enable,on,before,file=/log/surefoot.mjl,nosync_io");
        let effects = gtm.effects("record(\"sgmnt_data.blk_size\")=4096\nrecord(\"sgmnt_data.jnl_state\")=2\n");
        assert_eq!(effects.facts["gtm.block_size"], "4096");
        assert_eq!(effects.ineffective.len(), 2, "{:?}", effects.ineffective);
    }

    #[test]
    fn the_journal_decides_durability() {
        let class = |journal: &str| parameters(json!({ "journal": journal })).durability().class;
        assert_eq!(class("before"), Class::KeepsAcknowledged);
        assert_eq!((class("nobefore"), class("none")), (Class::MayCorrupt, Class::MayCorrupt));
    }
}
