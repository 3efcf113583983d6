//! What all web servers share: the document root, the address that they tell in a file, and what PHP below them is told.

use crate::effect::Effects;
use crate::process::{AtWork, Start};
use crate::service::{Error, Missing, Place, Program, Running, Service, ServiceSettings, User};
use nix::sys::signal::Signal;
use serde::Deserialize;
use settings::{Kind as Is, Setting};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The document root, in the data folder.
pub const SITE: &str = "site";

/// Users that web servers run as, Debian's first.
pub const USERS: &[&str] = &["www-data", "nobody"];

/// `access_log`.
pub const ACCESS_LOG: Setting = Setting::new("access_log", Is::Boolean, "true")
    .help("Whether it writes an access log, on the filesystem under test.");

/// `virtual_hosts`.
pub const VIRTUAL_HOSTS: Setting = Setting::new("virtual_hosts", Is::Boolean, "false").help(
    "Whether each host that is asked for has a document root of its own: the folder of the site that has its name.",
);

/// `data`.
pub const DATA: Setting = Setting::new("data", Is::Choice(&["template", "load"]), "template").help(
    "`template`: the site is made once, then copied for each trial. `load`: made anew on the filesystem under test.",
);

/// `tls`.
pub const TLS: Setting = Setting::new("tls", Is::Boolean, "false")
    .help("Whether it speaks HTTPS only, with a certificate that is made for the trial; the load follows.");

/// Where one listens that is started by hand.
pub const BY_HAND: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);

/// An address without its port, as configurations have it.
pub fn host(address: SocketAddr) -> String {
    if address.is_ipv6() { format!("[{}]", address.ip()) } else { address.ip().to_string() }
}

/// Where a server listens: a port of loopback, or where a load on another machine reaches it.
struct Door {
    address: SocketAddr,
    is_secure: bool,
}

impl Door {
    /// The one that it is to have, or a free one, which nobody else takes: a trial has a network of its own. A secure one gets its key
    /// and certificate.
    fn find(place: &Place, is_secure: bool) -> Result<Door, Error> {
        let free = || TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
        let given = place.network.as_ref().map(|network| network.address);
        let address = given.map_or_else(free, Ok).map_err(Error::file("take a port of", "loopback"))?;
        if is_secure {
            let arguments = certify(&place.run.to_string_lossy()).split(' ').map(String::from).collect();
            let (program, user, log) = (Path::new(OPENSSL), user(), place.run.join("openssl"));
            let user = user.as_ref();
            Start { program, arguments, user, cpus: &[], log, environment: Vec::new() }.run()?;
        }
        Ok(Door { address, is_secure })
    }

    fn url(&self) -> String {
        format!("http{}://{}", if self.is_secure { "s" } else { "" }, self.address)
    }
}

/// A server closes a connection on which nothing comes within this time; where it does not, nobody waits for it.
const CLOSED_WITHIN: Duration = Duration::from_secs(5);

const OPENSSL: &str = "/usr/bin/openssl";

/// The arguments of openssl that make a key and its certificate in a folder: of `localhost`, signed by itself.
fn certify(folder: &str) -> String {
    format!(
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=localhost \
         -keyout {folder}/key.pem -out {folder}/certificate.pem"
    )
}

/// Settings that web servers share.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct WebSettings {
    /// `access_log`.
    pub access_log: bool,
    /// `virtual_hosts`.
    pub virtual_hosts: bool,
    /// `tls`, of those that have it.
    #[serde(default)]
    pub tls: bool,
}

impl WebSettings {
    /// Where it speaks HTTPS, the shell command that makes key and certificate in a folder.
    pub fn certify_by_hand(&self, folder: &str) -> Option<String> {
        self.tls.then(|| format!("openssl {}", certify(folder)))
    }

    /// What is missing for HTTPS.
    pub fn missing(&self) -> Option<Missing> {
        (self.tls && !Path::new(OPENSSL).is_file()).then(|| Missing::package("openssl", "openssl"))
    }
}

/// What programs are told by their environment: names and values.
pub type Told = [(String, String)];

/// What programs of a site find in their environment: the sockets of the servers beside them, as `MARIADB_SOCKET`.
pub fn environment(place: &Place) -> Vec<(String, String)> {
    let named = |(service, socket): (&String, &PathBuf)| {
        (format!("{}_SOCKET", service.to_uppercase().replace('-', "_")), socket.to_string_lossy().into_owned())
    };
    place.sockets.iter().map(named).collect()
}

/// Why a setting that compresses answers is refused, where it is not off: no load asks for such answers, and on and off would be alike.
pub fn compression(settings: &BTreeMap<String, String>, name: &str) -> Option<String> {
    settings.get(name).filter(|value| !value.eq_ignore_ascii_case("off"))?;
    Some(format!("settings.{name}: loads ask for no compressed answers, so that it has no effect: leave it out"))
}

/// Why settings of HTTP/2 and 3, whose names begin so in lower case, are refused where they are not off: loads speak HTTP/1.1, and on and off
/// would be alike.
pub fn newer_protocols(settings: &BTreeMap<String, String>, begins: &[&str]) -> Vec<String> {
    let is_one = |name: &str| begins.iter().any(|begin| name.to_ascii_lowercase().starts_with(begin));
    let asked = settings.iter().filter(|(name, value)| is_one(name) && !value.eq_ignore_ascii_case("off"));
    asked
        .map(|(name, _)| format!("settings.{name}: loads speak HTTP/1.1 only, so that it has no effect: leave it out"))
        .collect()
}

/// A server's version and settings under its name. Unless it says that it ignores or changes one, what it started with is in effect.
pub fn effects(name: &str, version: &str, settings: &BTreeMap<String, String>) -> Effects {
    let settings = settings.iter().map(|(setting, value)| (format!("{name}.{setting}"), value.clone()));
    let facts = settings.chain([(format!("{name}.version"), version.to_string())]).collect();
    Effects { facts, ..Effects::default() }
}

/// A web server to be started: stopped by SIGTERM, in an environment of its own.
pub struct Launch {
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Variables of its environment.
    pub environment: Vec<(String, String)>,
    /// What is in effect once it runs.
    pub effects: Effects,
    /// The signal that stops it in order.
    pub stop: Signal,
}

impl Launch {
    /// With these arguments.
    pub fn new<const N: usize>(arguments: [&str; N], effects: Effects) -> Launch {
        let arguments = arguments.map(String::from).to_vec();
        Launch { arguments, environment: Vec::new(), effects, stop: Signal::SIGTERM }
    }
}

/// A web server's settings: what differs from one to the next.
pub trait WebServer: ServiceSettings {
    /// Writes the configuration of this version, for this address, and says how it is started with it.
    fn launch(&self, version: &str, place: &Place, address: SocketAddr) -> Result<Launch, Error>;

    /// Heeds what its messages say of settings that it ignores or changes; most refuse what they do not know.
    fn heed(&self, _messages: &str, _effects: &mut Effects) {}

    /// As [`Service::commands`], of this program.
    fn commands(&self, program: &Path) -> Vec<String>;
}

/// A web server that is installed, with its settings.
pub struct Installed<S> {
    /// Its program.
    pub program: Program,
    /// What is asked of it.
    pub asked: S,
}

impl<S: WebServer> Service for Installed<S> {
    fn program(&self) -> &Program {
        &self.program
    }

    /// The empty document root.
    fn create(&self, place: &Place) -> Result<(), Error> {
        let site = place.data.join(SITE);
        std::fs::create_dir_all(&site).map_err(Error::file("create", site))
    }

    /// Starts it, waits until it takes connections, and tells its address in a file.
    fn start(&self, place: &Place) -> Result<Box<dyn Running>, Error> {
        let door = Door::find(place, self.asked.is_secure())?;
        let launch = self.asked.launch(&self.program.version, place, door.address)?;
        let Launch { arguments, environment, mut effects, stop } = launch;
        let messages = place.run.join("messages");
        let start = Start::new(&self.program, arguments, place, messages.clone());
        let mut server = Start { environment, ..start }.server()?;
        server.wait_ready(|| takes_connections(door.address).map_err(wire::Error::Lost))?;
        let said = std::fs::read(messages).unwrap_or_default();
        self.asked.heed(&String::from_utf8_lossy(&said), &mut effects);
        let told = place.write("address", &door.url())?.into();
        Ok(Box::new(AtWork::new(server, told, effects, stop)))
    }

    fn commands(&self, _has_log_volume: bool) -> Vec<String> {
        self.asked.commands(&self.program.path)
    }
}

/// Ends when a server has taken a connection and closed it, as nothing is asked: its port is open before it has read all of its settings, and
/// said what it makes of them (lighttpd 1.4.69 starts PHP in between).
fn takes_connections(address: SocketAddr) -> io::Result<()> {
    let connection = TcpStream::connect(address)?;
    connection.set_read_timeout(Some(CLOSED_WITHIN))?;
    // However it ends: a server that waits for more takes connections, too, and so does one that was faster.
    let _ = connection.shutdown(Shutdown::Write);
    let _ = connection.peek(&mut [0]);
    Ok(())
}

/// The user that web servers run as.
pub fn user() -> Option<User> {
    User::first_of(USERS)
}

/// The shell command that writes this text to a file, with `$MOUNT` and `$RUN` filled in.
pub fn file_command(path: &str, text: &str) -> String {
    let text = text.replace('$', "\\$").replace('`', "\\`");
    let text = text.replace("\\$MOUNT", "$MOUNT").replace("\\$RUN", "$RUN");
    format!("cat > {path} <<END\n{text}END")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn a_file_that_a_shell_writes_keeps_its_own_variables() {
        let text = "root $MOUNT/site/$host;\npid $RUN/pid;\n# `date`\n";
        let command = file_command("$RUN/nginx.conf", text);
        let script = format!("MOUNT=/m\nRUN=$(mktemp -d)\n{command}\necho $RUN\ncat $RUN/nginx.conf\nrm -r $RUN");
        let output = std::process::Command::new("sh").args(["-ec", &script]).output().expect("a shell");
        let said = String::from_utf8(output.stdout).expect("text");
        let (run, written) = said.split_once('\n').expect("lines");
        assert_eq!(written, text.replace("$MOUNT", "/m").replace("$RUN", run));
    }

    #[test]
    fn an_open_port_is_no_server_that_has_read_its_settings() {
        let has_read = AtomicBool::new(false);
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(100));
                has_read.store(true, Ordering::SeqCst);
                listener.accept().map(drop).expect("a connection");
            });
            takes_connections(address).expect("it listens");
            assert!(has_read.load(Ordering::SeqCst));
        });
    }
}
