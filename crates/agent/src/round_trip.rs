//! A network's own round trip: a small message there and back over TCP, one at a time, waited for as loads wait.

use load::readiness::{Interest, Readiness};
use serde::{Deserialize, Serialize};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// About what a statement and a small answer have.
const MESSAGE_BYTES: usize = 64;
/// As many as there is time for, up to this; the first few warm up.
const COUNT_MAX: usize = 1000;
const WARM_UP: usize = 10;
/// At least so many, however slow the network.
const COUNT_MIN: usize = 20;
/// No longer than this, once there are enough.
const TIME_MAX: Duration = Duration::from_secs(1);
/// A message that takes longer is lost.
const MESSAGE_MAX: Duration = Duration::from_secs(10);
/// How long the other side may take to come.
const COMING_MAX: Duration = Duration::from_secs(10);

/// Times of small messages there and back.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RoundTrip {
    /// How many were measured.
    pub count: usize,
    /// Their median.
    pub seconds_median: f64,
    /// Their 99th percentile; of fewer than a hundred, the longest.
    pub seconds_p99: f64,
}

impl RoundTrip {
    /// Of times in any order; none: there were none.
    pub fn of(mut times: Vec<f64>) -> Option<RoundTrip> {
        times.sort_by(f64::total_cmp);
        // The nearest rank.
        let at = |part: f64| times.get(((times.len() as f64 * part).ceil() as usize).max(1) - 1).copied();
        Some(RoundTrip { count: times.len(), seconds_median: at(0.5)?, seconds_p99: at(0.99)? })
    }
}

/// Sends back what comes from one machine, until that ends.
pub fn echo(listener: &TcpListener, client: IpAddr) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let deadline = Instant::now() + COMING_MAX;
    let mut stream = loop {
        match listener.accept() {
            Ok((stream, from)) if from.ip() == client => break stream,
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::sleep(Duration::from_millis(1)),
            Err(error) => return Err(error),
        }
        if Instant::now() > deadline {
            return Err(ErrorKind::TimedOut.into());
        }
    };
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(MESSAGE_MAX))?;
    let mut message = [0; MESSAGE_BYTES];
    loop {
        match stream.read(&mut message)? {
            0 => return Ok(()),
            count => stream.write_all(&message[..count])?,
        }
    }
}

/// Measures it against [`echo`].
pub fn measure(address: SocketAddr) -> io::Result<RoundTrip> {
    let mut stream = TcpStream::connect_timeout(&address, COMING_MAX)?;
    stream.set_nodelay(true)?;
    stream.set_nonblocking(true)?;
    let mut readiness = Readiness::new(1)?;
    readiness.add(&stream, 0, Interest::Read)?;
    let (mut times, begun) = (Vec::new(), Instant::now());
    while times.len() < COUNT_MAX + WARM_UP && (times.len() < COUNT_MIN + WARM_UP || begun.elapsed() < TIME_MAX) {
        times.push(once(&mut stream, &mut readiness)?);
    }
    RoundTrip::of(times.split_off(WARM_UP)).ok_or_else(|| ErrorKind::UnexpectedEof.into())
}

fn once(stream: &mut TcpStream, readiness: &mut Readiness) -> io::Result<f64> {
    let (mut message, mut come, mut ready) = ([0x2e; MESSAGE_BYTES], 0, Vec::new());
    let begun = Instant::now();
    stream.write_all(&message)?;
    while come < MESSAGE_BYTES {
        readiness.wait(MESSAGE_MAX, &mut ready)?;
        match stream.read(&mut message[come..]) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => come += count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        if begun.elapsed() > MESSAGE_MAX {
            return Err(ErrorKind::TimedOut.into());
        }
    }
    Ok(begun.elapsed().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_and_the_99th_percentile_are_of_nearest_ranks() {
        let times: Vec<f64> = (1..=200).rev().map(f64::from).collect();
        let found = RoundTrip::of(times).expect("there are some");
        assert_eq!((found.count, found.seconds_median, found.seconds_p99), (200, 100.0, 198.0));
        assert_eq!(RoundTrip::of(vec![3.0]).map(|one| (one.seconds_median, one.seconds_p99)), Some((3.0, 3.0)));
        assert_eq!(RoundTrip::of(Vec::new()), None);
    }

    #[test]
    fn small_messages_go_there_and_back() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let echoing = std::thread::spawn(move || echo(&listener, address.ip()));
        let found = measure(address).expect("measured");
        echoing.join().expect("it does not panic").expect("it echoes");
        assert!(found.count >= COUNT_MIN && found.seconds_median > 0.0 && found.seconds_p99 >= found.seconds_median);
    }
}
