//! A policy that forbids `io_uring`, as containers have it.

use super::*;

/// Makes `io_uring_setup` fail for this thread and those that it starts.
fn forbid_uring() {
    const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    const EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    const RETURN: u32 = libc::BPF_RET | libc::BPF_K;
    let step = |code: u32, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf, k };
    // The call's number is the first field of what a filter sees.
    let mut steps = [
        step(LOAD, 0, 0),
        step(EQUAL, 1, libc::SYS_io_uring_setup as u32),
        step(RETURN, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        step(RETURN, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    // SAFETY: plain numbers, and a program that lives during the call.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program), 0);
    }
}

#[test]
fn where_io_uring_is_forbidden_it_goes_without_and_says_so_where_it_was_asked_for() {
    let server = Server::start(well);
    std::thread::spawn(move || {
        forbid_uring();
        let tally = run(&client(server.address, 5, true, Engine::Auto), numbered(100));
        assert_eq!((tally.answers, tally.faults()), (100, 0), "{:?}", tally.first);
        assert!(tally.engine_note().is_some_and(|note| note.contains("Operation not permitted")), "{tally:?}");
        let mut source = targets(numbered(1), true);
        let asked_for = client(server.address, 5, true, Engine::Uring);
        let error = drive(&asked_for, &mut source, &AtomicBool::new(false), &mut |_, _| {}).expect_err("forbidden");
        assert!(error.to_string().contains("io_uring"), "{error}");
    })
    .join()
    .expect("no panic");
}
