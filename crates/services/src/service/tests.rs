//! What servers say of their failures.

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

#[test]
fn what_servers_call_errors_is_told_from_their_everyday_words() {
    let said = "2026-11-23 19:59:13 0 [Note] InnoDB: IO Error: 5 during write of 16384 bytes, for file ./a.ibd(21), returned 0\n\
                2026-11-23 19:59:13 0 [Note] mariadbd: ready for connections.\n\
                7:C 23 Nov 2026 19:59:13.104 # oO0OoO0OoO0Oo Redis is starting oO0OoO0OoO0Oo\n\
                7:M 23 Nov 2026 19:59:13.104 * Ready to accept connections\n\
                7:M 23 Nov 2026 19:59:13.105 # Error writing to the AOF file: Input/output error\n\
                2026-11-23 19:59:13.2 UTC [7] FATAL:  the database system is starting up\n\
                2026-11-23 19:59:13.3 UTC [7] PANIC:  could not fdatasync file \"1\": Input/output error\n";
    let expected = [
        "InnoDB: IO Error: 5 during write of 16384 bytes, for file ./a.ibd(21), returned 0",
        "Error writing to the AOF file: Input/output error",
        "PANIC:  could not fdatasync file \"1\": Input/output error",
    ];
    assert_eq!(complaints(said), expected);
}
