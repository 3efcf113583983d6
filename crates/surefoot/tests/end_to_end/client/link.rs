//! Two network namespaces and a link between them: a TUN device in each, and threads that pass packets on after a delay, lose one in so
//! many, or all of them. Real IP packets, so that TCP does what it does on a network.

use crate::harness::tool;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// One end.
#[derive(Clone, Copy)]
pub struct End {
    name: &'static str,
    number: u32,
}

/// Where servers are.
pub const SERVER: End = End { name: "server", number: 1 };
/// Where the load is.
pub const AGENT: End = End { name: "agent", number: 2 };

const PACKET_BYTES_MAX: usize = 2048;

/// Numbers of links, so that tests have their own.
static LINKS: AtomicU32 = AtomicU32::new(0);

/// The link; it goes with this.
pub struct Link {
    number: u32,
    is_cut: Arc<AtomicBool>,
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Link {
    /// With a delay each way, which loses one packet in so many (0: none) each way.
    pub fn new(delay: Duration, lost: u32) -> Link {
        let number = LINKS.fetch_add(1, Ordering::Relaxed);
        let (is_cut, is_over) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let mut link = Link { number, is_cut, is_over, threads: Vec::new() };
        let [server, agent] = [SERVER, AGENT].map(|end| link.end(end));
        let clone = |file: &File| file.try_clone().expect("a descriptor");
        for (from, to) in [(clone(&server), clone(&agent)), (agent, server)] {
            let (is_cut, is_over) = (link.is_cut.clone(), link.is_over.clone());
            link.threads.push(std::thread::spawn(move || pass(from, to, delay, lost, (&is_cut, &is_over))));
        }
        link
    }

    /// Loses all packets, or none more than it was made to.
    pub fn cut(&self, is_cut: bool) {
        self.is_cut.store(is_cut, Ordering::Relaxed);
    }

    /// A command that is run in the network of this end, with what is added to it.
    pub fn inside(&self, end: End) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{}", self.namespace(end))).arg("--");
        command
    }

    /// The address of this end, which no other link has.
    pub fn address(&self, end: End) -> String {
        format!("10.77.{}.{}", self.number, end.number)
    }

    fn namespace(&self, end: End) -> String {
        format!("surefoot-{}-{}-{}", std::process::id(), self.number, end.name)
    }

    /// Makes a namespace with a TUN device, and gives the device's other side.
    fn end(&self, end: End) -> File {
        let namespace = self.namespace(end);
        tool("ip", &["netns", "add", &namespace]);
        let file = File::open(format!("/run/netns/{namespace}")).expect("the namespace");
        // A thread of its own enters the namespace; the descriptor that it leaves behind works anywhere.
        let tun = std::thread::spawn(move || {
            nix::sched::setns(file, nix::sched::CloneFlags::CLONE_NEWNET).expect("root may enter it");
            open_tun()
        });
        let tun = tun.join().expect("a TUN device");
        tool("ip", &["-n", &namespace, "address", "add", &format!("{}/24", self.address(end)), "dev", "link0"]);
        tool("ip", &["-n", &namespace, "link", "set", "link0", "up"]);
        tool("ip", &["-n", &namespace, "link", "set", "lo", "up"]);
        tun
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        for end in [SERVER, AGENT] {
            let _ = Command::new("ip").args(["netns", "delete", &self.namespace(end)]).status();
        }
    }
}

/// linux/if_tun.h.
fn open_tun() -> File {
    nix::ioctl_write_int!(set_interface, b'T', 202);
    let file = File::options().read(true).write(true).open("/dev/net/tun").expect("the kernel has TUN devices");
    // SAFETY: an ifreq of zeros is one, and its name has room for this one.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"link0") {
        *to = *from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: TUNSETIFF reads an ifreq, which outlives the call.
    unsafe { set_interface(file.as_raw_fd(), (&raw mut request) as libc::c_ulong) }.expect("root may make one");
    let flags = nix::fcntl::OFlag::O_NONBLOCK;
    nix::fcntl::fcntl(&file, nix::fcntl::FcntlArg::F_SETFL(flags)).expect("it does not block");
    file
}

/// Passes packets on, each when its time has come.
fn pass(mut from: File, mut to: File, delay: Duration, lost: u32, (is_cut, is_over): (&AtomicBool, &AtomicBool)) {
    use nix::poll::{PollFd, PollFlags, poll};
    let (mut waiting, mut count) = (VecDeque::<(Instant, Vec<u8>)>::new(), 0u32);
    let mut packet = [0; PACKET_BYTES_MAX];
    while !is_over.load(Ordering::Relaxed) {
        let next = waiting
            .front()
            .map_or(Duration::from_millis(100), |(due, _)| due.saturating_duration_since(Instant::now()));
        // Whole milliseconds: late by one at most, never early.
        let wait = next.as_millis().min(100) as u16 + u16::from(!next.is_zero());
        let _ = poll(&mut [PollFd::new(from.as_fd(), PollFlags::POLLIN)], wait);
        while let Ok(length) = from.read(&mut packet) {
            count += 1;
            let is_lost = is_cut.load(Ordering::Relaxed) || lost > 0 && count.is_multiple_of(lost);
            if !is_lost {
                waiting.push_back((Instant::now() + delay, packet[..length].to_vec()));
            }
        }
        while waiting.front().is_some_and(|(due, _)| *due <= Instant::now()) {
            let (_, packet) = waiting.pop_front().expect("it is there");
            // A full queue loses packets, as networks do.
            let _ = to.write(&packet);
        }
    }
}
