//! The library that a guest kernel is started with, in a tracer that knows only a part of its process's registers.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use guest::registers;
use libc::{PTRACE_GETREGSET, PTRACE_SETREGSET, PTRACE_TRACEME};
use std::process::Command;

const NAME: &str = "registers_beyond_a_tracers_buffer_stay_as_they_are";

/// `NT_X86_XSTATE`, include/uapi/linux/elf.h.
const XSTATE: usize = 0x202;

/// The legacy area, the header, and a little of what follows: less than any CPU with AVX has.
const PART_BYTES: usize = 640;

/// How the tracer ends.
const DONE: i32 = 10;
const REFUSED: i32 = 11;

#[test]
fn registers_beyond_a_tracers_buffer_stay_as_they_are() {
    if std::env::var_os("IS_TRACER").is_some() {
        // SAFETY: the child makes two system calls and waits to be killed.
        std::process::exit(unsafe { trace() });
    }
    let folder = tempfile::tempdir().expect("a folder");
    let library = folder.path().join("registers.so");
    registers::write_library(&library).expect("written");
    let tracer = || {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(["--exact", NAME, "--nocapture"]).env("IS_TRACER", "1");
        command
    };
    let ended = |mut command: Command| command.status().expect("it starts").code();
    assert_eq!(ended(tracer()), Some(REFUSED), "the kernel takes a part of the registers: is the library of use?");
    let mut helped = tracer();
    helped.env(registers::LOADED_BY, &library);
    assert_eq!(ended(helped), Some(DONE));
}

/// Writes a part of a process's registers back.
unsafe fn trace() -> i32 {
    let process = unsafe { libc::fork() };
    if process == 0 {
        unsafe {
            libc::ptrace(PTRACE_TRACEME, 0, 0, 0);
            libc::raise(libc::SIGSTOP);
            libc::_exit(0);
        }
    }
    unsafe { libc::waitpid(process, std::ptr::null_mut(), 0) };
    let ask = |request, buffer: &mut Vec<u8>| {
        let mut vector = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        let answer = unsafe { libc::ptrace(request, process, XSTATE, &raw mut vector) };
        buffer.truncate(vector.iov_len);
        answer
    };
    let all = || {
        let mut buffer = vec![0; 1 << 16];
        assert_eq!(ask(PTRACE_GETREGSET, &mut buffer), 0);
        buffer
    };
    let before = all();
    assert!(before.len() > PART_BYTES, "{} bytes", before.len());
    let mut part = vec![0; PART_BYTES];
    assert_eq!((ask(PTRACE_GETREGSET, &mut part), part.len()), (0, PART_BYTES));
    let is_set = ask(PTRACE_SETREGSET, &mut part) == 0;
    let after = all();
    unsafe {
        libc::kill(process, libc::SIGKILL);
        libc::waitpid(process, std::ptr::null_mut(), 0);
    }
    assert!(before == after, "other registers than before");
    if is_set { DONE } else { REFUSED }
}
