//! Which machine this is, told apart from a fleet's others.

use crate::member::HOST;
use ledger::model::Host;
use observe::machine::KERNEL_RUN;
use sha2::{Digest as _, Sha256};

/// Letters of a machine's word.
const ID_LETTERS: usize = 12;

/// This machine: by what the scheduler calls it, or else by its host name.
pub fn this(variable: &dyn Fn(&str) -> Option<String>) -> Host {
    let own = || nix::unistd::gethostname().ok().map(|name| name.to_string_lossy().into_owned());
    let name = variable(HOST).or_else(|| variable("SLURMD_NODENAME")).or_else(own).unwrap_or_default();
    Host { name, id: std::fs::read_to_string("/etc/machine-id").map_or_else(|_| String::new(), |id| word(&id)) }
}

/// The fact by which one machine under two names is known: containers of one machine have each their own host name.
pub fn kernel_run() -> Option<(String, String)> {
    crate::noise::boot().map(|boot| (KERNEL_RUN.to_string(), word(&boot)))
}

/// machine-id(5) asks not to be passed on as it is.
fn word(id: &str) -> String {
    let hash = Sha256::digest(format!("surefoot host {}", id.trim()));
    let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    hash[..ID_LETTERS].into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheduler_s_name_comes_before_the_host_s() {
        let named = |names: &'static [&str]| {
            this(&move |variable| names.contains(&variable).then(|| format!("by {variable}"))).name
        };
        assert_eq!(named(&[HOST, "SLURMD_NODENAME"]), "by SUREFOOT_HOST");
        assert_eq!(named(&["SLURMD_NODENAME"]), "by SLURMD_NODENAME");
        assert!(!named(&[]).is_empty());
    }

    #[test]
    fn a_word_is_not_the_machine_s_id() {
        let word = super::word("0123456789abcdef0123456789abcdef\n");
        assert_eq!((word.len(), word.contains("0123")), (ID_LETTERS, false));
        assert_eq!(word, super::word("0123456789abcdef0123456789abcdef"));
    }
}
