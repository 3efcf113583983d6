//! Connections are made beside the load: a server takes milliseconds for one, and statements of others are due meanwhile.

use crate::workload::Error;
use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender};
use wire::Connection;

/// How a connection is made.
pub type Connect<'a> = &'a (dyn Fn() -> Result<Box<dyn Connection>, Error> + Sync);

/// A session's number, and its connection.
pub type Made = (usize, Result<Box<dyn Connection>, Error>);

/// Makes a connection for each number that is asked for, and says so by a byte on the other end of `wake`.
pub fn make(connect: Connect<'_>, asked: &Receiver<usize>, made: &Sender<Made>, mut wake: UnixStream) {
    for number in asked {
        // Who asked may be gone: the run was ended.
        if made.send((number, connect())).is_err() || wake.write_all(&[0]).is_err() {
            return;
        }
    }
}
