//! TLS between the loop and a network: requests go through a session on their way out, answers on their way in, and neither side
//! knows of it.
//!
//! The loop hears of a connection when its handshake is over, so that the time to connect has it.

use super::network::{Event, Network, See, Step, Wait};
use super::tls::Tls;
use rustls::client::ClientConnection;
use std::io::{self, BufRead as _, Write as _};

/// A network, and a session on each of its connections.
pub struct Secured<N> {
    network: N,
    tls: Tls,
    lines: Vec<Line>,
    /// Lines that have the next part of their handshake to send, told by a wait.
    to_send: Vec<usize>,
    /// Lines whose answer goes on, although the loop has nothing to see yet.
    to_receive: Vec<usize>,
}

#[derive(Default)]
struct Line {
    request: Vec<u8>,
    session: Option<ClientConnection>,
}

impl<N: Network> Secured<N> {
    /// Over a network of so many connections.
    pub fn new(network: N, tls: Tls, lines: usize) -> Secured<N> {
        let lines = (0..lines).map(|_| Line::default()).collect();
        Secured { network, tls, lines, to_send: Vec::new(), to_receive: Vec::new() }
    }

    /// Hands the request to the session. Before the handshake's end, the session keeps it.
    fn encrypt(&mut self, line: usize) {
        let Line { request, session } = &mut self.lines[line];
        let session = session.as_mut().expect("the loop sends on open connections");
        session.writer().write_all(request).expect("the session takes any length");
        drain(session, self.network.request(line));
    }
}

/// All that a session has to send.
fn drain(session: &mut ClientConnection, out: &mut Vec<u8>) {
    out.clear();
    while session.wants_write() {
        session.write_tls(out).expect("memory takes any length");
    }
}

impl<N: Network> Network for Secured<N> {
    fn request(&mut self, line: usize) -> &mut Vec<u8> {
        &mut self.lines[line].request
    }

    fn open(&mut self, line: usize, address: usize) {
        self.lines[line].session = Some(self.tls.session());
        self.encrypt(line);
        self.network.open(line, address);
    }

    fn send(&mut self, line: usize) {
        self.encrypt(line);
        self.network.send(line);
    }

    fn more(&mut self, line: usize) {
        self.network.more(line);
    }

    fn is_sent(&self, line: usize) -> bool {
        self.network.is_sent(line)
    }

    fn close(&mut self, line: usize) {
        self.lines[line].session = None;
        self.network.close(line);
    }

    fn wait(&mut self, wait: Wait, see: &mut See) -> io::Result<()> {
        let Secured { network, lines, to_send, to_receive, .. } = self;
        network.wait(wait, &mut |line, event, now| {
            let Some(session) = &mut lines[line].session else { return };
            match event {
                // The handshake is still to come.
                Event::Connected => {}
                Event::Received(bytes) => {
                    let was_secure = !session.is_handshaking();
                    let has_told = decrypt(session, bytes, &mut |event| see(line, event, now));
                    // Later a send may be under way; what a session then wants to send goes with the next request.
                    if !was_secure && session.wants_write() {
                        to_send.push(line);
                    } else if !has_told {
                        to_receive.push(line);
                    }
                }
                Event::Ended | Event::Failed(..) => see(line, event, now),
            }
        })?;
        for line in to_send.drain(..) {
            let session = lines[line].session.as_mut().expect("nothing closes it in a wait");
            drain(session, network.request(line));
            network.send(line);
        }
        to_receive.drain(..).for_each(|line| network.more(line));
        Ok(())
    }
}

/// Gives what has come to a session; whether there was anything for the loop to go on with.
fn decrypt(session: &mut ClientConnection, mut bytes: &[u8], see: &mut dyn FnMut(Event)) -> bool {
    let mut has_told = false;
    while !bytes.is_empty() {
        let was_secure = !session.is_handshaking();
        let taken = session.read_tls(&mut bytes).and_then(|_| session.process_new_packets().map_err(io::Error::other));
        let state = match taken {
            Ok(state) => state,
            Err(error) => {
                see(Event::Failed(Step::Secure, error));
                return true;
            }
        };
        if !was_secure && !session.is_handshaking() {
            see(Event::Connected);
        }
        let mut plain = session.reader();
        while let Ok(bytes @ [_, ..]) = plain.fill_buf() {
            let length = bytes.len();
            see(Event::Received(bytes));
            plain.consume(length);
            has_told = true;
        }
        if state.peer_has_closed() {
            see(Event::Ended);
            return true;
        }
    }
    has_told
}
