//! How a server ended: killed, or by itself.

use super::*;

#[test]
fn who_was_killed_is_told_from_who_gave_up() {
    let of = |status: &str| Error::Program { program: "server".into(), status: status.into(), log: String::new() };
    assert!(of("signal 9").was_killed() && of("signal: 9 (SIGKILL)").was_killed());
    for status in ["signal 6", "signal 11", "status 9", "status 137", "exit status: 9", "signal: 6 (SIGABRT)"] {
        assert!(!of(status).was_killed(), "{status}");
    }
    let slow = Error::Slow { server: "server".into(), action: "recover", seconds: 60, log: String::new() };
    assert!(!slow.was_killed());
}
