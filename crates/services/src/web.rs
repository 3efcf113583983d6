//! What all web servers share: the document root, the address that they tell in a file, and what PHP below them is told.

use crate::effect::Effects;
use crate::process::{AtWork, Start};
use crate::service::{Error, Place, Running, User};
use nix::sys::signal::Signal;
use settings::{Kind as Is, Setting};
use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;

/// The document root, in the data folder.
pub const SITE: &str = "site";

/// Users that web servers run as, Debian's first.
pub const USERS: &[&str] = &["www-data", "nobody"];

/// `access_log`.
pub const ACCESS_LOG: Setting = Setting {
    name: "access_log",
    kind: Is::Boolean,
    default: Some("true"),
    help: "Whether it writes an access log, on the filesystem under test.",
};

/// `virtual_hosts`.
pub const VIRTUAL_HOSTS: Setting = Setting {
    name: "virtual_hosts",
    kind: Is::Boolean,
    default: Some("false"),
    help: "Whether each host that is asked for has a document root of its own: the folder of the site that has its name.",
};

/// `data`.
pub const DATA: Setting = Setting {
    name: "data",
    kind: Is::Choice(&["template", "load"]),
    default: Some("template"),
    help: "`template`: the site is made once, then copied for each trial. `load`: made anew on the filesystem under test.",
};

/// Makes the empty document root.
pub fn create(place: &Place) -> Result<(), Error> {
    let site = place.data.join(SITE);
    std::fs::create_dir_all(&site).map_err(Error::file("create", site))
}

/// A free port of loopback. Nobody else takes it: a trial has a network of its own.
pub fn free_address() -> Result<SocketAddr, Error> {
    let free = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
    free.map_err(Error::file("take a port of", "loopback"))
}

/// What programs of a site find in their environment: the sockets of the servers beside them, as `MARIADB_SOCKET`.
pub fn environment(place: &Place) -> Vec<(String, String)> {
    let named = |(service, socket): (&String, &PathBuf)| {
        (format!("{}_SOCKET", service.to_uppercase().replace('-', "_")), socket.to_string_lossy().into_owned())
    };
    place.sockets.iter().map(named).collect()
}

/// A server's version and settings under its name. It refuses what it does not know, so what it started with is in effect.
pub fn effects(name: &str, version: &str, settings: &BTreeMap<String, String>) -> Effects {
    let settings = settings.iter().map(|(setting, value)| (format!("{name}.{setting}"), value.clone()));
    let facts = settings.chain([(format!("{name}.version"), version.to_string())]).collect();
    Effects { facts, ineffective: Vec::new() }
}

/// Starts a server that listens on this address, and waits until it takes connections.
pub fn start(
    start: &Start,
    place: &Place,
    address: SocketAddr,
    effects: Effects,
    stop: Signal,
) -> Result<Box<dyn Running>, Error> {
    let mut server = start.server()?;
    server.wait_ready(|| TcpStream::connect(address).map(drop).map_err(wire::Error::Lost))?;
    let told = place.run.join("address");
    std::fs::write(&told, address.to_string()).map_err(Error::file("write", &told))?;
    Ok(Box::new(AtWork::new(server, told, effects, stop)))
}

/// The user that web servers run as.
pub fn user() -> Option<User> {
    User::first_of(USERS)
}

/// The shell command that writes this text to a file, with `$MOUNT` filled in.
pub fn file_command(path: &str, text: &str) -> String {
    let text = text.replace('$', "\\$").replace("\\$MOUNT", "$MOUNT").replace('`', "\\`");
    format!("cat > {path} <<END\n{text}END")
}
