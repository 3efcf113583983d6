//! PHP below a web server: which of its forms are installed, and its settings.
//!
//! Debian's own configuration holds, with a file of ours read after it (`PHP_INI_SCAN_DIR`); sessions lie on the filesystem
//! under test.

use crate::effect::{self, Effects};
use crate::idle::{self, Idle};
use crate::service::{Error, FreeSettings, Missing, Place, is_among, is_name};
use serde::Deserialize;
use settings::configuration::Configuration;
use settings::{Kind as Is, Setting};
use std::collections::BTreeMap;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// `opcache`.
pub const OPCACHE: Setting = Setting::new("opcache", Is::Boolean, "true")
    .help("Whether PHP keeps compiled scripts in shared memory (opcache.enable).");

/// `apcu`.
pub const APCU: Setting = Setting::new("apcu", Is::Boolean, "false")
    .help("Whether PHP's programs may keep data of theirs in shared memory (apc.enabled, package php-apcu).");

/// `php_settings`.
pub const SETTINGS: Setting = Setting::new("php_settings", Is::Table, "{}")
    .help("Settings of php.ini, any of them: php_settings = { memory_limit = \"256M\", \"opcache.memory_consumption\" = 256 }.");

/// Settings that surefoot itself needs.
const OURS: &str = "session.save_path opcache.enable apc.enabled";

/// What PHP calls the empty value of a setting.
const NO_VALUE: &str = "no value";

/// Settings for which PHP on the command line has values of its own, whatever its files say (HARDCODED_INI in its php_cli.c).
const OF_COMMAND_LINE: &str =
    "html_errors implicit_flush max_execution_time max_input_time output_buffering register_argc_argv";

/// How PHP compiles to machine code, and the memory for it.
const JIT: [&str; 2] = ["opcache.jit", "opcache.jit_buffer_size"];

/// The variable that names the folders of PHP's configuration.
const SCANNED: &str = "PHP_INI_SCAN_DIR";

/// The variable that names the folder of its php.ini.
const RC: &str = "PHPRC";

/// A setting of PHP's that a study has as one of its own.
struct Switch {
    name: &'static str,
    is_on_by_default: bool,
}

/// PHP as a study wants it.
#[derive(Debug, Clone, Deserialize)]
pub struct Php {
    opcache: bool,
    apcu: bool,
    #[serde(rename = "php_settings")]
    settings: FreeSettings,
}

impl Php {
    /// What is missing of this form of PHP; `found` is what [`newest`] says of it.
    pub fn missing<T>(&self, found: Option<&T>, what: &str, package: &str) -> Option<Missing> {
        if found.is_none() {
            return Some(Missing::package(what, package));
        }
        let extensions = Path::new("/usr/lib/php").read_dir().into_iter().flatten().flatten();
        let has_apcu = extensions.map(|folder| folder.path().join("apcu.so")).any(|extension| extension.is_file());
        (self.apcu && !has_apcu).then(|| Missing::package("PHP's extension APCu", "php-apcu"))
    }

    /// The first setting of it that the study has otherwise than by default, and otherwise than another PHP has it.
    pub fn asked_beside(&self, other: &Php) -> Option<&'static str> {
        let asked = [
            (OPCACHE.name, !self.opcache && other.opcache),
            (APCU.name, self.apcu && !other.apcu),
            (SETTINGS.name, !self.settings.is_empty() && *self.settings != *other.settings),
        ];
        asked.into_iter().find_map(|(name, is_asked)| is_asked.then_some(name))
    }

    /// Problems of its settings.
    pub fn problems(&self) -> Vec<String> {
        let is_plain = |name: &str, value: &str| is_name(name) && !value.contains('\n');
        // The one setting that php.ini has as words, and PHP reads words in quotes as 0 (zend_ini_scanner.l).
        let words = self.settings.get("error_reporting").filter(|value| value.parse::<i64>().is_err());
        let of_words = words.map(|value| {
            format!(
                "{}.error_reporting: PHP would take {value:?} for 0: give its number (E_ALL is 32767)",
                SETTINGS.name
            )
        });
        self.settings.problems(SETTINGS.name, OURS, is_plain).into_iter().chain(of_words).collect()
    }

    /// Those that do nothing: of a cache that is off, and all where nobody runs PHP, which takes what `to_run` says.
    pub fn idle(&self, to_run: Option<&'static str>) -> Vec<Idle> {
        let rules = [
            (to_run.is_none(), "*", to_run.unwrap_or_default()),
            (self.opcache, "opcache.*", "opcache = true"),
            (self.apcu, "apc.*", "apcu = true"),
        ];
        let switches =
            to_run.into_iter().flat_map(|needs| [OPCACHE, APCU].map(|switch| (switch.name.to_string(), needs)));
        switches.chain(idle::of(SETTINGS.name, &self.settings, &rules)).collect()
    }

    /// As a file for one of Debian's forms of PHP, with a program that tells what is in effect; none where all is as PHP and the study have
    /// it by themselves. Where sessions lie is the site's own affair, and so is a cache that the site's programs use.
    pub fn file(&self, form: &str, version: &str, program: &str) -> Option<Configuration> {
        let asked = self.switches().into_iter().filter(|(switch, is_on)| *is_on != switch.is_on_by_default);
        let asked: Vec<(&str, bool)> = asked.map(|(switch, is_on)| (switch.name, is_on)).collect();
        let text = self.lines(&asked);
        let switches = asked.into_iter().map(|(name, _)| name);
        let names: Vec<&str> = switches.chain(self.settings.keys().map(String::as_str)).collect();
        let folder = format!("/etc/php/{version}/{form}");
        let names = names.join("|").replace('.', "\\.");
        let ask = format!("{RC}={folder} {SCANNED}={folder}/conf.d {program} -i | grep -E '^({names})\\b'");
        let path = format!("{folder}/conf.d/90-surefoot.ini");
        let file = Configuration { path, text, checks: vec![ask], ..Configuration::default() };
        (!names.is_empty()).then_some(file)
    }

    /// What PHP keeps in shared memory.
    fn switches(&self) -> [(Switch, bool); 2] {
        [
            (Switch { name: "opcache.enable", is_on_by_default: true }, self.opcache),
            (Switch { name: "apc.enabled", is_on_by_default: false }, self.apcu),
        ]
    }

    /// What php.ini says beyond Debian's own.
    pub fn ini(&self, data: &str) -> String {
        let switches = self.switches().map(|(switch, is_on)| (switch.name, is_on));
        format!("session.save_path = \"{data}/sessions\"\n{}", self.lines(&switches))
    }

    fn lines(&self, switches: &[(&str, bool)]) -> String {
        let switches = switches.iter().map(|(name, is_on)| format!("{name} = {}\n", u8::from(*is_on)));
        let settings = self.settings.iter().map(|(name, value)| match switch(value) {
            // In quotes they are 0 to settings that have a number, too, such as output_buffering.
            Some(_) => format!("{name} = {value}\n"),
            None => format!("{name} = \"{}\"\n", value.replace('"', "\\\"")),
        });
        switches.chain(settings).collect()
    }

    /// Writes it, makes the folder of sessions, and gives the variables of the environment that make PHP read it.
    pub fn prepare(&self, place: &Place) -> Result<Vec<(String, String)>, Error> {
        let sessions = place.data.join("sessions");
        if !sessions.exists() {
            std::fs::create_dir(&sessions).map_err(Error::file("create", &sessions))?;
            crate::web::user().map_or(Ok(()), |user| {
                std::os::unix::fs::chown(&sessions, Some(user.uid), Some(user.gid))
                    .map_err(Error::file("change the owner of", &sessions))
            })?;
        }
        let folder = place.run.join("php");
        let ini = folder.join("surefoot.ini");
        std::fs::create_dir_all(&folder).map_err(Error::file("create", &folder))?;
        std::fs::write(&ini, self.ini(&place.data.to_string_lossy())).map_err(Error::file("write", &ini))?;
        // The empty part is the folder that PHP was built with.
        Ok(vec![(SCANNED.into(), format!(":{}", folder.display()))])
    }

    /// What is in effect, asked from a program of PHP that reads the same files (`php-cgi -i`).
    pub fn effects(&self, name: &str, program: Option<&Path>, environment: &[(String, String)]) -> Effects {
        let Some(program) = program else { return Effects::default() };
        let mut command = Command::new(program);
        command.arg("-i").current_dir("/").env_clear().envs(environment.iter().cloned());
        // Settings may name code that PHP loads (`extension`, `opcache.preload`): who loads it is whom the server runs as.
        if let Some(user) = crate::web::user() {
            command.uid(user.uid).gid(user.gid);
        }
        let said = command.output().map(|output| output.stdout).unwrap_or_default();
        // `php8.2`, and neither `php-cgi8.2` nor `php-fpm8.2`.
        let after = program.file_name().and_then(|program| program.to_str()?.strip_prefix("php"));
        let is_command_line = after.is_some_and(|after| after.starts_with(|c: char| c.is_ascii_digit()));
        self.in_force(name, &String::from_utf8_lossy(&said), if is_command_line { OF_COMMAND_LINE } else { "" })
    }

    /// The same of what it said: a line is `name => value here => value of the files`, or that as a row of HTML. Who said it has values of
    /// its own for `untold`, and can't tell what they are elsewhere.
    fn in_force(&self, name: &str, said: &str, untold: &str) -> Effects {
        let mut effects = Effects::default();
        let said = said.replace("<tr><td class=\"e\">", "").replace("</td><td class=\"v\">", " => ");
        let said = said.replace("</td></tr>", "").replace("<i>no value</i>", NO_VALUE);
        let known: BTreeMap<&str, &str> = said
            .lines()
            .filter_map(|line| line.split_once(" => "))
            .map(|(name, values)| (name, values.split(" => ").next().unwrap_or_default()))
            .collect();
        let switches = self.switches().map(|(switch, is_on)| (switch.name, if is_on { "On" } else { "Off" }));
        // `off` in a file is the empty text.
        let is_empty = |value: &str| value.is_empty() || switch(value) == Some(false);
        for (setting, value) in self.settings.iter().map(|(name, value)| (&**name, &**value)).chain(switches) {
            match known.get(setting) {
                Some(_) if is_among(setting, untold) => {
                    effects.facts.insert(format!("{name}.php.{setting}"), value.to_string());
                }
                Some(found) if effect::same(value, found, 1.0) || is_empty(value) && *found == NO_VALUE => {
                    effects.facts.insert(format!("{name}.php.{setting}"), (*found).to_string());
                }
                Some(found) => effects.ineffective.push(format!("PHP has {setting} = {found}, not {value}")),
                // An extension that is not there has no settings; who wants none of it has that.
                None if value == "Off" => {}
                None => effects.ineffective.push(format!("PHP has no setting {setting}")),
            }
        }
        effects.ineffective.extend(self.jit_in_vain(&known));
        effects
    }

    /// Without memory there is no JIT, and memory for one that is off does nothing. By themselves PHP up to 8.3 has no memory for it, and later
    /// ones have it off (PHP's manual, "OPcache Runtime Configuration").
    fn jit_in_vain(&self, known: &BTreeMap<&str, &str>) -> Option<String> {
        let is_off = |value: &str| {
            ["", "0", "disable", NO_VALUE].contains(&value.to_ascii_lowercase().as_str())
                || switch(value) == Some(false)
        };
        let [mode, memory] = JIT.map(|name| self.settings.get(name));
        let (asked, value, other) = match (mode, memory) {
            (Some(mode), None) => (JIT[0], mode, JIT[1]),
            (None, Some(memory)) => (JIT[1], memory, JIT[0]),
            _ => return None,
        };
        let found = known.get(other)?;
        let in_vain = !is_off(value) && is_off(found);
        in_vain.then(|| format!("{asked} = {value} has no effect: PHP has {other} = {found}, so set both"))
    }
}

/// Whether it is on, of a word that php.ini has for a switch.
fn switch(value: &str) -> Option<bool> {
    const WORDS: [[&str; 3]; 2] = [["off", "no", "false"], ["on", "yes", "true"]];
    let is_in = |words: &[&str; 3]| words.iter().any(|word| word.eq_ignore_ascii_case(value));
    WORDS.iter().position(is_in).map(|at| at == 1)
}

/// The environment in which a program of PHP reads the files of another of Debian's forms (`apache2`, `fpm`), and then what an
/// environment adds to them; that environment, where Debian's files are not there.
pub fn reading(form: &str, version: &str, environment: &[(String, String)]) -> Vec<(String, String)> {
    let folder = format!("/etc/php/{version}/{form}");
    if !Path::new(&folder).is_dir() {
        return environment.to_vec();
    }
    let of_form = |(name, value): &(String, String)| match &**name {
        // Its empty part stands for the program's own folder.
        SCANNED => (name.clone(), format!("{folder}/conf.d{value}")),
        _ => (name.clone(), value.clone()),
    };
    environment.iter().map(of_form).chain([(RC.to_string(), folder.clone())]).collect()
}

/// A program that tells what a module of this version has in effect: one of another version has other values by itself. Debian's modules bring
/// the one of the command line.
pub fn program_of(folder: &Path, version: &str) -> Option<PathBuf> {
    let mut programs = ["php-cgi", "php"].into_iter().map(|name| folder.join(format!("{name}{version}")));
    programs.find(|program| program.is_file())
}

/// The newest of a program or module of PHP, like `/usr/sbin/php-fpm8.2`, with its version.
pub fn newest(folder: &str, before: &str, after: &str) -> Option<(PathBuf, String)> {
    let version = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        let version = name.strip_prefix(before)?.strip_suffix(after)?;
        let numbers: Vec<u32> = version.split('.').map(str::parse).collect::<Result<_, _>>().ok()?;
        Some((numbers, entry.path(), version.to_string()))
    };
    let found = Path::new(folder).read_dir().into_iter().flatten().flatten().filter_map(version).max()?;
    Some((found.1, found.2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::applied::tests::printed;
    use serde_json::{Value, json};
    use settings::configuration::Setup;

    fn texts(recorded: Value) -> Vec<String> {
        let setup = Setup { version: "8.2".into(), ..Setup::default() };
        let of_php = |file: &Configuration| file.path.ends_with("/fpm/conf.d/90-surefoot.ini");
        printed("php-fpm", recorded, &setup).into_iter().filter(of_php).map(|file| file.text).collect()
    }

    /// Programs that keep their data in APCu, as Nextcloud does, end with an error where it is switched off.
    #[test]
    fn a_cache_of_which_the_study_says_nothing_is_left_alone() {
        assert!(texts(json!({})).is_empty() && texts(json!({ "apcu": false, "opcache": true })).is_empty());
        let memory = json!({ "php_settings": { "memory_limit": "64M" } });
        assert_eq!(texts(memory), ["memory_limit = \"64M\"\n"]);
        assert_eq!(texts(json!({ "apcu": true })), ["apc.enabled = 1\n"]);
        assert_eq!(texts(json!({ "opcache": false })), ["opcache.enable = 0\n"]);
    }

    /// `output_buffering = "on"` is 0 to PHP 8.2, and `php -i` calls it on.
    #[test]
    fn on_and_off_are_what_they_are_in_a_file_of_php() {
        let written = json!({ "output_buffering": "On", "html_errors": false, "date.timezone": "UTC" });
        assert!(
            with(written).ini("/d").ends_with("\ndate.timezone = \"UTC\"\nhtml_errors = off\noutput_buffering = On\n")
        );
        let said = "opcache.enable => On\napc.enabled => Off\noutput_buffering => no value => no value\n";
        assert!(with(json!({ "output_buffering": false })).in_force("x", said, "").ineffective.is_empty());
        assert_eq!(with(json!({ "output_buffering": true })).in_force("x", said, "").ineffective.len(), 1);
    }

    fn with(written: Value) -> Php {
        let written = json!({ "php_settings": written });
        let checked = settings::check_all(&[OPCACHE, APCU, SETTINGS], written.as_object().expect("a table"));
        settings::typed(&checked.expect("right"))
    }

    /// As PHP 8.2 says it, in both of its forms.
    #[test]
    fn an_empty_value_is_in_force_where_php_has_none() {
        let html = "<tr><td class=\"e\">disable_functions</td><td class=\"v\"><i>no value</i></td><td class=\"v\"><i>no value</i></td></tr>";
        let switches = "opcache.enable => On => On\napc.enabled => Off => Off\n";
        let effects =
            |said: &str| with(json!({ "disable_functions": "" })).in_force("x", &format!("{switches}{said}\n"), "");
        for said in [html, "disable_functions => no value => no value"] {
            let effects = effects(said);
            assert_eq!((effects.ineffective.len(), &*effects.facts["x.php.disable_functions"]), (0, "no value"));
        }
        assert_eq!(effects("disable_functions => exec => exec").ineffective.len(), 1);
    }

    /// Apache's module may have no other program of its version beside it than the command line's.
    #[test]
    fn what_the_command_line_has_for_itself_is_not_held_against_a_server() {
        let switches = "opcache.enable => On => On\napc.enabled => Off => Off\n";
        let said = format!("{switches}max_execution_time => 0 => 0\nmemory_limit => 128M => 128M\n");
        let php = with(json!({ "max_execution_time": 60, "memory_limit": "64M" }));
        assert_eq!(php.in_force("x", &said, "").ineffective.len(), 2);
        let effects = php.in_force("x", &said, OF_COMMAND_LINE);
        assert_eq!(effects.ineffective, ["PHP has memory_limit = 128M, not 64M"]);
        assert_eq!(effects.facts["x.php.max_execution_time"], "60");
    }

    /// A server has neither; with another `PHPRC` it was asked of files that the server does not read.
    #[test]
    fn php_is_asked_outside_of_our_environment() {
        let php = with(json!({ "CARGO_MANIFEST_DIR": "x", "memory_limit": "1" }));
        let said = php.effects("x", Some(Path::new("/usr/bin/php")), &[]).ineffective.join(", ");
        assert!(said.contains("PHP has memory_limit"), "package php-cli: {said}");
        assert!(said.contains("PHP has no setting CARGO_MANIFEST_DIR"), "{said}");
    }

    /// One of 8.4 says of a JIT that 8.2 has on by itself that it is off.
    #[test]
    fn a_module_is_told_of_by_its_own_version() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["php8.2", "php8.4", "php-cgi8.4"] {
            std::fs::write(folder.path().join(name), "").expect("written");
        }
        let program = |version: &str| {
            program_of(folder.path(), version)
                .map(|path| path.strip_prefix(folder.path()).expect("in it").to_path_buf())
        };
        assert_eq!(program("8.2"), Some("php8.2".into()));
        assert_eq!((program("8.4"), program("8.3")), (Some("php-cgi8.4".into()), None));
    }

    /// As PHP 8.2 and 8.4 say what they have by themselves; such levels were compared as if they were real.
    #[test]
    fn half_a_jit_is_none() {
        let ineffective = |written: Value, [mode, memory]: [&str; 2]| {
            let switches = "opcache.enable => On => On\napc.enabled => Off => Off\n";
            let said =
                format!("{switches}opcache.jit => {mode} => {mode}\nopcache.jit_buffer_size => {memory} => {memory}\n");
            with(written).in_force("x", &said, "").ineffective.concat()
        };
        let older = ineffective(json!({ "opcache.jit": "tracing" }), ["tracing", "0"]);
        assert_eq!(older, "opcache.jit = tracing has no effect: PHP has opcache.jit_buffer_size = 0, so set both");
        let newer = ineffective(json!({ "opcache.jit_buffer_size": "64M" }), ["disable", "64M"]);
        assert!(newer.starts_with("opcache.jit_buffer_size = 64M has no effect"), "{newer}");
        let both = json!({ "opcache.jit": "tracing", "opcache.jit_buffer_size": "64M" });
        assert_eq!(ineffective(both, ["tracing", "64M"]), "");
        assert_eq!(ineffective(json!({ "opcache.jit_buffer_size": "64M" }), ["tracing", "64M"]), "");
        assert_eq!(ineffective(json!({ "opcache.jit": "disable" }), ["disable", "0"]), "");
    }

    /// `php -c FILE -r 'var_dump(error_reporting());'` says 0 of `error_reporting = "E_ALL"`, and `php -i` that it is E_ALL.
    #[test]
    fn words_that_php_takes_for_nothing_are_refused() {
        let problems = |value: Value| with(json!({ "error_reporting": value })).problems();
        assert!(problems(json!("E_ALL & ~E_NOTICE"))[0].contains("give its number"));
        assert_eq!((problems(json!(32767)).len(), problems(json!("-1")).len()), (0, 0));
    }

    #[test]
    fn each_trial_is_told_of_both_caches() {
        let php: Php = settings::typed(&settings::defaults(&[OPCACHE, APCU, SETTINGS]));
        assert_eq!(php.ini("/d"), "session.save_path = \"/d/sessions\"\nopcache.enable = 1\napc.enabled = 0\n");
    }
}
