//! Connections by `io_uring`: nearly all that a request costs is system calls, and here one serves many connections.
//!
//! A connection is a direct descriptor, so that no call looks one up. Opening is one chain of socket, connect, send and
//! receive; on a connection that is kept, a receive stays armed and each request is one send. What is received lies in
//! buffers that all connections share, so that memory does not grow with them. Completions are run when this thread enters
//! the kernel. Needs Linux 6.1.

use super::batch::{self, Batch};
use super::network::{Event, Network, See, Step, Wait};
use io_uring::types::{BufRingEntry, CancelBuilder, DestinationSlot, Fixed, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};
use nix::sys::socket::{SockaddrLike as _, SockaddrStorage};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Instant;

/// Shared buffers; a power of two.
const BUFFERS: u16 = 128;

const BUFFER_BYTES: usize = 32 << 10;

const GROUP: u16 = 0;

/// A request up to this size goes into the empty send buffer of a socket at once, so nobody needs to hear that it did.
const SMALL_BYTES: usize = 4096;

/// Submissions of one chain, and of the cancel and close before it.
const CHAIN: usize = 6;

/// Completions that a connection can have between two looks: of its connect, two receives and a cancel.
const COMPLETIONS: usize = 4;

/// The kernel's own limit.
const COMPLETIONS_MAX: usize = 65536;

/// The ring and its connections.
pub struct Uring {
    ring: IoUring,
    addresses: Vec<SockaddrStorage>,
    buffers: Buffers,
    lines: Vec<Line>,
    /// Lines whose receive found no free buffer.
    starved: Vec<usize>,
    /// Whether connections are used for more than one request.
    kept: bool,
    batch: Batch,
}

/// A connection.
#[derive(Default)]
struct Line {
    request: Vec<u8>,
    /// Tells events of this connection from those of one before it.
    generation: u32,
    /// Whether a receive is under way.
    is_receiving: bool,
    /// Whether the kernel may still look at the request.
    is_sending: bool,
    is_open: bool,
    /// Whether a connect is under way, of this connection or of one that was closed before it was made.
    is_connecting: bool,
    /// The address to open when the connect of the closed one is over: its chain must not go on with the new socket.
    opens_later: Option<usize>,
    /// Requests that connections before this one did not finish sending, by generation: the kernel may look at them until it tells of that send.
    abandoned: Vec<(u32, Vec<u8>)>,
}

/// What a completion is of.
#[derive(Clone, Copy)]
enum Op {
    Socket,
    Connect,
    Send,
    Receive,
    Close,
}

const OPS: [Op; 5] = [Op::Socket, Op::Connect, Op::Send, Op::Receive, Op::Close];

impl Uring {
    /// A ring for so many connections.
    ///
    /// # Errors
    /// When the kernel has no `io_uring` that can do this, or forbids it.
    pub fn set_up(addresses: &[SocketAddr], lines: usize, kept: bool) -> io::Result<Uring> {
        let entries = (lines * CHAIN).next_power_of_two().clamp(64, 4096) as u32;
        let completions = (lines * COMPLETIONS).next_power_of_two().clamp(2 * entries as usize, COMPLETIONS_MAX) as u32;
        let mut builder = IoUring::builder();
        let ring = builder.setup_single_issuer().setup_defer_taskrun().setup_cqsize(completions).build(entries)?;
        ring.submitter().register_files_sparse(lines as u32)?;
        let buffers = Buffers::register(&ring)?;
        let line = || Line { request: Vec::with_capacity(SMALL_BYTES), ..Line::default() };
        let addresses = addresses.iter().copied().map(SockaddrStorage::from).collect();
        let lines = (0..lines).map(|_| line()).collect();
        let batch = Batch::new(Instant::now());
        Ok(Uring { ring, addresses, buffers, lines, starved: Vec::new(), kept, batch })
    }

    fn push(&mut self, entry: &squeue::Entry) {
        // SAFETY: what an entry points to lives as long as the ring: requests until their send is over (see `is_sending`),
        // addresses and buffers always.
        while unsafe { self.ring.submission().push(entry) }.is_err() {
            // The queue is full: the kernel takes all of it.
            let _ = self.ring.submit();
        }
    }

    fn send_entry(&mut self, line: usize) -> squeue::Entry {
        let at = &mut self.lines[line];
        let (pointer, length) = (at.request.as_ptr(), at.request.len());
        let flags = libc::MSG_WAITALL | libc::MSG_NOSIGNAL;
        let entry = opcode::Send::new(Fixed(line as u32), pointer, length as u32).flags(flags).build();
        let entry = entry.user_data(tag(line, Op::Send, at.generation));
        at.is_sending = length > SMALL_BYTES;
        if at.is_sending { entry } else { entry.flags(squeue::Flags::SKIP_SUCCESS) }
    }

    fn receive_entry(&mut self, line: usize) -> squeue::Entry {
        let at = &mut self.lines[line];
        at.is_receiving = true;
        let entry = if self.kept {
            opcode::RecvMulti::new(Fixed(line as u32), GROUP).build()
        } else {
            let any = std::ptr::null_mut();
            let receive = opcode::Recv::new(Fixed(line as u32), any, BUFFER_BYTES as u32).buf_group(GROUP);
            receive.build().flags(squeue::Flags::BUFFER_SELECT)
        };
        entry.user_data(tag(line, Op::Receive, at.generation))
    }

    fn complete(&mut self, entry: &cqueue::Entry, see: &mut dyn FnMut(usize, Event)) {
        let (line, op, generation) = untag(entry.user_data());
        let buffer = cqueue::buffer_select(entry.flags());
        let at = &mut self.lines[line];
        // Of a socket nothing is told but that it was refused; then nothing is told of the connect behind it, either.
        let is_connect_over = matches!(op, Op::Connect | Op::Socket);
        if is_connect_over {
            at.is_connecting = false;
        }
        if at.generation != generation && matches!(op, Op::Send) {
            at.abandoned.retain(|(of, _)| *of != generation);
        }
        if at.generation == generation {
            let result = entry.result();
            match op {
                Op::Receive => {
                    at.is_receiving = cqueue::more(entry.flags());
                    match result {
                        0 => see(line, Event::Ended),
                        1.. => see(line, Event::Received(self.buffers.bytes(buffer, result as usize))),
                        // There will be free buffers when this batch has been looked at.
                        _ if -result == libc::ENOBUFS => self.starved.push(line),
                        _ => fail(line, Step::Receive, result, see),
                    }
                }
                Op::Send => {
                    at.is_sending = false;
                    if result < 0 {
                        fail(line, Step::Send, result, see);
                    }
                }
                Op::Connect if result == 0 => see(line, Event::Connected),
                Op::Connect => fail(line, Step::Connect, result, see),
                Op::Socket if result < 0 => fail(line, Step::Socket, result, see),
                Op::Socket | Op::Close => {}
            }
        }
        if let Some(buffer) = buffer {
            self.buffers.give_back(buffer);
        }
        if let Some(address) = self.lines[line].opens_later.take_if(|_| is_connect_over) {
            self.open(line, address);
        }
    }

    /// Submits, and waits; gives how many completions there are, and the time.
    fn enter(&mut self, wait: Wait) -> io::Result<(usize, Instant)> {
        let began = Instant::now();
        let events = self.batch.events(wait.events, began);
        let until = if events > 1 { wait.until.min(began + batch::TIME_MAX) } else { wait.until };
        let time = Timespec::from(until.saturating_duration_since(began));
        match self.ring.submitter().submit_with_args(events, &SubmitArgs::new().timespec(&time)) {
            Ok(_) => {}
            // Out of time; a signal; more completions than fit, which are taken now.
            Err(error) if matches!(error.raw_os_error(), Some(libc::ETIME | libc::EINTR | libc::EBUSY)) => {}
            Err(error) => return Err(error),
        }
        let (count, now) = (self.ring.completion().len(), Instant::now());
        self.batch.learn(count, events, began, now);
        Ok((count, now))
    }
}

impl Network for Uring {
    fn request(&mut self, line: usize) -> &mut Vec<u8> {
        &mut self.lines[line].request
    }

    fn open(&mut self, line: usize, address: usize) {
        let linked = |entry: squeue::Entry| entry.flags(squeue::Flags::IO_LINK);
        if self.lines[line].is_connecting {
            self.lines[line].opens_later = Some(address);
            return;
        }
        let to = &self.addresses[address];
        let slot = DestinationSlot::try_from_slot_target(line as u32).expect("there are fewer connections than slots");
        (self.lines[line].is_open, self.lines[line].is_connecting) = (true, true);
        let generation = self.lines[line].generation;
        let family = to.family().map_or(libc::AF_UNSPEC, |family| family as i32);
        let socket = opcode::Socket::new(family, libc::SOCK_STREAM, 0).file_index(Some(slot)).build();
        let socket = socket.user_data(tag(line, Op::Socket, generation));
        let connect = opcode::Connect::new(Fixed(line as u32), to.as_ptr(), to.len()).build();
        let connect = connect.user_data(tag(line, Op::Connect, generation));
        // A chain must be in one submission.
        let queue = self.ring.submission();
        let room = queue.capacity() - queue.len();
        drop(queue);
        if room < CHAIN {
            let _ = self.ring.submit();
        }
        self.push(&linked(socket.flags(squeue::Flags::SKIP_SUCCESS)));
        self.push(&linked(connect));
        let send = self.send_entry(line);
        self.push(&linked(send));
        let receive = self.receive_entry(line);
        self.push(&receive);
    }

    fn send(&mut self, line: usize) {
        let send = self.send_entry(line);
        self.push(&send);
        self.more(line);
    }

    fn more(&mut self, line: usize) {
        if !self.lines[line].is_receiving {
            let receive = self.receive_entry(line);
            self.push(&receive);
        }
    }

    fn is_sent(&self, line: usize) -> bool {
        !self.lines[line].is_sending
    }

    fn close(&mut self, line: usize) {
        let at = &mut self.lines[line];
        at.opens_later = None;
        if !std::mem::take(&mut at.is_open) {
            return;
        }
        let generation = at.generation;
        at.generation = (generation + 1) & GENERATION_MASK;
        let under_way = std::mem::take(&mut at.is_receiving) | at.is_sending;
        if std::mem::take(&mut at.is_sending) {
            let request = std::mem::replace(&mut at.request, Vec::with_capacity(SMALL_BYTES));
            at.abandoned.push((generation, request));
        }
        let tag = tag(line, Op::Close, at.generation);
        if under_way {
            let cancel = opcode::AsyncCancel2::new(CancelBuilder::fd(Fixed(line as u32)).all()).build();
            self.push(&cancel.user_data(tag));
        }
        let close = opcode::Close::new(Fixed(line as u32)).build();
        self.push(&close.user_data(tag).flags(squeue::Flags::SKIP_SUCCESS));
    }

    fn wait(&mut self, wait: Wait, see: &mut See) -> io::Result<()> {
        // Completions that come while these are looked at wait for the next call.
        let (count, now) = self.enter(wait)?;
        for _ in 0..count {
            let Some(entry) = self.ring.completion().next() else { break };
            self.complete(&entry, &mut |line, event| see(line, event, now));
        }
        while let Some(line) = self.starved.pop() {
            self.more(line);
        }
        Ok(())
    }
}

fn fail(line: usize, step: Step, result: i32, see: &mut dyn FnMut(usize, Event)) {
    // A link of a chain that broke before it; the one that broke it has told why.
    if -result != libc::ECANCELED {
        see(line, Event::Failed(step, io::Error::from_raw_os_error(-result)));
    }
}

const GENERATION_MASK: u32 = (1 << 24) - 1;

fn tag(line: usize, op: Op, generation: u32) -> u64 {
    (line as u64) << 32 | (op as u64) << 24 | u64::from(generation)
}

fn untag(tag: u64) -> (usize, Op, u32) {
    ((tag >> 32) as usize, OPS[(tag >> 24) as usize & 7], tag as u32 & GENERATION_MASK)
}

/// The shared buffers, and the ring in which the kernel finds free ones.
struct Buffers {
    memory: Vec<u8>,
    entries: Pages,
    tail: u16,
}

/// Memory that begins at a page, as the kernel wants a buffer ring.
struct Pages(*mut BufRingEntry);

impl Pages {
    const LAYOUT: std::alloc::Layout =
        match std::alloc::Layout::from_size_align(BUFFERS as usize * size_of::<BufRingEntry>(), 4096) {
            Ok(layout) => layout,
            Err(_) => panic!("a power of two is an alignment"),
        };

    fn new() -> Pages {
        // SAFETY: the layout has a size.
        let memory = unsafe { std::alloc::alloc_zeroed(Pages::LAYOUT) };
        assert!(!memory.is_null(), "there is no memory");
        Pages(memory.cast())
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { std::alloc::dealloc(self.0.cast(), Pages::LAYOUT) };
    }
}

impl Buffers {
    fn register(ring: &IoUring) -> io::Result<Buffers> {
        let entries = Pages::new();
        // SAFETY: the pages hold `BUFFERS` entries and live as long as the ring does (see `Uring`'s order of fields).
        unsafe { ring.submitter().register_buf_ring_with_flags(entries.0 as u64, BUFFERS, GROUP, 0)? };
        let memory = vec![0; BUFFER_BYTES * usize::from(BUFFERS)];
        let mut buffers = Buffers { memory, entries, tail: 0 };
        (0..BUFFERS).for_each(|buffer| buffers.give_back(buffer));
        Ok(buffers)
    }

    fn bytes(&self, buffer: Option<u16>, length: usize) -> &[u8] {
        let buffer = usize::from(buffer.expect("what is received lies in a buffer"));
        &self.memory[buffer * BUFFER_BYTES..][..length]
    }

    fn give_back(&mut self, buffer: u16) {
        let address = self.memory[usize::from(buffer) * BUFFER_BYTES..].as_mut_ptr() as u64;
        // SAFETY: the entry lies in the pages, and the kernel looks at it only after the tail has passed it.
        let entry = unsafe { &mut *self.entries.0.add(usize::from(self.tail % BUFFERS)) };
        entry.set_addr(address);
        entry.set_len(BUFFER_BYTES as u32);
        entry.set_bid(buffer);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the tail is part of the ring's first entry, and only this thread writes it.
        let tail = unsafe { &*BufRingEntry::tail(self.entries.0).cast::<AtomicU16>() };
        tail.store(self.tail, Ordering::Release);
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        // No buffer may be written after it is gone: everything under way is ended and waited for.
        let cancel = CancelBuilder::any().all();
        let _ = self.ring.submitter().register_sync_cancel(None, cancel);
        let _ = self.ring.submitter().unregister_buf_ring(GROUP);
        let _ = self.ring.submitter().unregister_files();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// As where the system is out of files: the next request on such a line waited for a connect that was never made.
    #[test]
    fn a_socket_that_is_refused_is_told_each_time() {
        let mut ring =
            Uring::set_up(&[SocketAddr::from(([127, 0, 0, 1], 1))], 1, true).expect("io_uring can be used here");
        let length = size_of::<libc::sockaddr>() as libc::socklen_t;
        // SAFETY: zeros are an address, of a family that no system has, and the length is theirs.
        let nowhere = unsafe { SockaddrStorage::from_raw(&std::mem::zeroed::<libc::sockaddr>(), Some(length)) };
        ring.addresses[0] = nowhere.expect("it is long enough");
        for _ in 0..3 {
            ring.open(0, 0);
            let (mut is_refused, until) = (false, Instant::now() + Duration::from_secs(20));
            while !is_refused && Instant::now() < until {
                let wait = Wait { events: 1, until };
                ring.wait(wait, &mut |_, event, _| is_refused |= matches!(event, Event::Failed(Step::Socket, _)))
                    .expect("waited");
            }
            assert!(is_refused);
            ring.close(0);
        }
    }

    /// The peer reads nothing, and two sockets hold less.
    #[test]
    fn a_request_that_is_given_up_goes_when_its_send_is_over() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let mut ring = Uring::set_up(&[address], 1, true).expect("io_uring can be used here");
        let until = Instant::now() + Duration::from_secs(20);
        ring.request(0).resize(16 << 20, b'x');
        ring.open(0, 0);
        let mut is_connected = false;
        while !is_connected && Instant::now() < until {
            let wait = Wait { events: 1, until };
            ring.wait(wait, &mut |_, event, _| is_connected |= matches!(event, Event::Connected)).expect("waited");
        }
        ring.close(0);
        assert_eq!((is_connected, ring.lines[0].abandoned.len()), (true, 1));
        while !ring.lines[0].abandoned.is_empty() && Instant::now() < until {
            ring.wait(Wait { events: 1, until }, &mut |_, _, _| {}).expect("waited");
        }
        assert_eq!(ring.lines[0].abandoned.len(), 0);
    }
}
