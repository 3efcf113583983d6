//! Pairing files: what an agent and the studies that may use it know of each other. Made as a pair by one command, one file for each side.
//!
//! Each side has its own private key and the other's public one, and both have a token. Whoever reads a file can be that side, so it
//! may be read by its owner only.

use crate::Error;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// A file is some 500 bytes; a longer one is something else.
const FILE_BYTES_MAX: u64 = 64 << 10;

const TOKEN_BYTES: usize = 32;

/// The file's form.
const VERSION: u32 = 1;

/// RFC 8410: an Ed25519 key as SubjectPublicKeyInfo is this, and then its 32 bytes.
const PUBLIC_KEY_HEAD: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// Whose file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The machine that the load comes from.
    Agent,
    /// The machine with the server and the study.
    Study,
}

impl Side {
    fn word(self) -> &'static str {
        ["agent", "study"][self as usize]
    }
}

/// What one side knows.
#[derive(Clone, PartialEq, Eq)]
pub struct Pairing {
    /// Its private key, PKCS #8.
    pub(crate) key: Vec<u8>,
    /// The other's public key, SubjectPublicKeyInfo.
    pub(crate) other: Vec<u8>,
    /// What both know.
    pub(crate) token: String,
}

#[derive(Serialize, Deserialize)]
struct Written {
    surefoot_pairing: u32,
    side: Side,
    key: String,
    other: String,
    token: String,
}

/// Makes a pair of files, `NAME.agent` and `NAME.study`; none may be there yet.
///
/// # Errors
/// When one is there, or can't be written.
pub fn make(name: &Path) -> Result<[PathBuf; 2], Error> {
    let files = [Side::Agent, Side::Study].map(|side| {
        let mut file = name.as_os_str().to_os_string();
        file.push(format!(".{}", side.word()));
        PathBuf::from(file)
    });
    let [agent, study] = pair();
    for (path, side, pairing) in [(&files[0], Side::Agent, agent), (&files[1], Side::Study, study)] {
        write(path, side, &pairing).map_err(|source| Error::File { action: "write", path: path.clone(), source })?;
    }
    Ok(files)
}

/// Both sides of a new pair.
fn pair() -> [Pairing; 2] {
    let random = SystemRandom::new();
    let key = || Ed25519KeyPair::generate_pkcs8(&random).expect("the system has random numbers").as_ref().to_vec();
    let public = |key: &[u8]| {
        let key = Ed25519KeyPair::from_pkcs8(key).expect("it was made just now");
        [&PUBLIC_KEY_HEAD, key.public_key().as_ref()].concat()
    };
    let mut token = [0; TOKEN_BYTES];
    random.fill(&mut token).expect("the system has random numbers");
    let token = STANDARD.encode(token);
    let (agent, study) = (key(), key());
    let (of_agent, of_study) = (public(&agent), public(&study));
    [Pairing { key: agent, other: of_study, token: token.clone() }, Pairing { key: study, other: of_agent, token }]
}

fn write(path: &Path, side: Side, pairing: &Pairing) -> std::io::Result<()> {
    let written = Written {
        surefoot_pairing: VERSION,
        side,
        key: STANDARD.encode(&pairing.key),
        other: STANDARD.encode(&pairing.other),
        token: pairing.token.clone(),
    };
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(path)?;
    let text = serde_json::to_string_pretty(&written).expect("plain data");
    file.write_all(text.as_bytes())?;
    file.write_all(b"\n")
}

impl Pairing {
    /// Reads the file of one side.
    ///
    /// # Errors
    /// When others may read it, it is the other side's, or no pairing at all.
    pub fn read(path: &Path, side: Side) -> Result<Pairing, Error> {
        let failed = |source| Error::File { action: "read", path: path.into(), source };
        let wrong = |problem: String| Error::Pairing { path: path.into(), problem };
        let file = File::open(path).map_err(failed)?;
        let mode = file.metadata().map_err(failed)?.mode();
        if mode & 0o077 != 0 {
            return Err(wrong(format!("may be read or written by others: chmod 600 {}", path.display())));
        }
        let mut text = String::new();
        file.take(FILE_BYTES_MAX).read_to_string(&mut text).map_err(failed)?;
        let written: Written = serde_json::from_str(&text)
            .map_err(|_| wrong("is none: `surefoot load-agent --pair NAME` makes a pair".into()))?;
        if written.surefoot_pairing != VERSION {
            let form = written.surefoot_pairing;
            return Err(wrong(format!("has form {form}, and this surefoot reads form {VERSION}")));
        }
        if written.side != side {
            let (found, wanted) = (written.side.word(), side.word());
            return Err(wrong(format!("is the {found}'s: its twin NAME.{wanted} is wanted here")));
        }
        let bytes = |text: &str| STANDARD.decode(text).map_err(|_| wrong("is damaged".into()));
        Ok(Pairing { key: bytes(&written.key)?, other: bytes(&written.other)?, token: written.token })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_pair_is_two_private_files_that_know_each_other() {
        let folder = tempfile::tempdir().expect("a folder");
        let name = folder.path().join("lab");
        let [agent, study] = make(&name).expect("it is made");
        assert!(make(&name).is_err(), "none is written over");
        let mode = |path: &Path| std::fs::metadata(path).expect("it is there").mode() & 0o777;
        assert_eq!((mode(&agent), mode(&study)), (0o600, 0o600));
        let ours = Pairing::read(&agent, Side::Agent).expect("it is read");
        let theirs = Pairing::read(&study, Side::Study).expect("it is read");
        assert!(ours.token == theirs.token && ours.key != theirs.key && ours.other != theirs.other);
        let of = |path: &Path, side| Pairing::read(path, side).err().expect("refused").to_string();
        assert!(of(&study, Side::Agent).contains("its twin NAME.agent"));
        set_permissions(&agent, Permissions::from_mode(0o640)).expect("ours");
        assert!(of(&agent, Side::Agent).contains("chmod 600"));
        std::fs::write(&study, "{").expect("ours");
        assert!(of(&study, Side::Study).contains("is none"));
    }
}
