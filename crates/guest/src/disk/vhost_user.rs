//! The talk between a guest kernel and a device that another process serves: vhost-user, the part that User-Mode Linux uses.
//!
//! Own code, because the crates for it refuse this kernel's SET_MEM_TABLE, which always has room for two regions. Source: the
//! protocol's specification (QEMU, docs/interop/vhost-user.rst) and arch/um/drivers/vhost_user.h.

use super::Server;
use nix::cmsg_space;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg};
use std::fs::File;
use std::io::{self, IoSliceMut, Read as _, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use virtio_bindings::virtio_config::VIRTIO_F_VERSION_1;
use virtio_queue::{Queue, QueueOwnedT as _, QueueT as _};
use vm_memory::{FileOffset, GuestAddress, GuestMemoryMmap};

/// `VHOST_USER_F_PROTOCOL_FEATURES`.
const HAS_PROTOCOL_FEATURES: u64 = 1 << 30;
/// `VHOST_USER_PROTOCOL_F_REPLY_ACK`, `_BACKEND_REQ` and `_CONFIG`. We never ask anything of the guest, but only with the second
/// does this kernel give a device an interrupt of its own.
const PROTOCOL_FEATURES: u64 = 1 << 3 | 1 << 5 | 1 << 9;

/// In a message's flags: its version, that it is an answer, that it wants one.
const VERSION: u32 = 1;
const IS_REPLY: u32 = 1 << 2;
const NEEDS_REPLY: u32 = 1 << 3;

/// In a message about a descriptor: there is none.
const NO_DESCRIPTOR: u64 = 1 << 8;

/// Requests under way at most.
pub(super) const QUEUE_SIZE: u16 = 256;

/// The largest message: a configuration.
const PAYLOAD_BYTES_MAX: usize = 4096;

/// The queue of requests in the guest's memory.
pub(super) struct Ring {
    queue: Queue,
    memory: GuestMemoryMmap,
    call: Option<File>,
}

impl Ring {
    /// The next request: what to call it when it is done, and its pieces of memory.
    pub(super) fn next(&mut self) -> io::Result<Option<(u16, Vec<super::Piece>)>> {
        let mut waiting = self.queue.iter(&self.memory).map_err(io::Error::other)?;
        let Some(chain) = waiting.next() else { return Ok(None) };
        let head = chain.head_index();
        Ok(Some((head, chain.map(|piece| (piece.addr(), piece.len(), piece.is_write_only())).collect())))
    }

    /// The guest's memory.
    pub(super) fn memory(&self) -> &GuestMemoryMmap {
        &self.memory
    }

    /// Hands a request back.
    pub(super) fn done(&mut self, head: u16, written: u32) -> io::Result<()> {
        self.queue.add_used(&self.memory, head, written).map_err(io::Error::other)
    }

    /// Tells the guest that something was handed back, when it wants to be told.
    pub(super) fn tell(&mut self) -> io::Result<()> {
        if self.queue.needs_notification(&self.memory).map_err(io::Error::other)?
            && let Some(call) = &mut self.call
        {
            call.write_all(&1_u64.to_ne_bytes())?;
        }
        Ok(())
    }
}

/// Serves a disk, a device with one queue, until the guest hangs up.
pub(super) fn serve(guest: UnixStream, device: &mut Server) -> io::Result<()> {
    let queue = Queue::new(QUEUE_SIZE).map_err(io::Error::other)?;
    let ring = Ring { queue, memory: GuestMemoryMmap::default(), call: None };
    let mut talk = Talk { guest, device, ring, kick: None, back_channel: None, user_to_guest: 0 };
    let served = talk.hold();
    let settled = talk.device.settle(&mut talk.ring);
    if settled.is_err() {
        // The host's kernel may still write there: it stays mapped.
        std::mem::forget(talk.ring.memory.clone());
    }
    served.and(settled)
}

struct Talk<'a> {
    guest: UnixStream,
    device: &'a mut Server,
    ring: Ring,
    kick: Option<File>,
    back_channel: Option<File>,
    /// What to add to one of its own addresses to get the guest's physical one.
    user_to_guest: u64,
}

/// One message.
struct Message {
    request: u32,
    flags: u32,
    payload: Vec<u8>,
    descriptor: Option<File>,
}

impl Message {
    fn u32(&self, index: usize) -> io::Result<u32> {
        let bytes = self.payload.get(index * 4..index * 4 + 4).ok_or(io::ErrorKind::InvalidData)?;
        Ok(u32::from_le_bytes(bytes.try_into().expect("four bytes")))
    }

    fn u64(&self, index: usize) -> io::Result<u64> {
        let bytes = self.payload.get(index * 8..index * 8 + 8).ok_or(io::ErrorKind::InvalidData)?;
        Ok(u64::from_le_bytes(bytes.try_into().expect("eight bytes")))
    }
}

impl Talk<'_> {
    fn hold(&mut self) -> io::Result<()> {
        loop {
            let kick = self.kick.as_ref().map(File::as_fd);
            let all = [Some(self.guest.as_fd()), kick, self.device.under_way()];
            let mut ready: Vec<PollFd> = all.iter().flatten().map(|fd| PollFd::new(*fd, PollFlags::POLLIN)).collect();
            match poll(&mut ready, PollTimeout::NONE) {
                Err(Errno::EINTR) => continue,
                other => other?,
            };
            let mut ready = ready.iter().map(|fd| fd.any().unwrap_or(false));
            let [said, kicked, ended] = all.map(|fd| fd.is_some() && ready.next().unwrap_or(false));
            if ended {
                self.device.finish(&mut self.ring)?;
            }
            if kicked && let Some(kick) = &mut self.kick {
                // The flag alone counts: the ring says how much there is.
                let _ = kick.read(&mut [0; 8]);
                self.device.work(&mut self.ring)?;
            }
            if said {
                // Nothing is under way in a memory or ring that a message may take away.
                self.device.settle(&mut self.ring)?;
                if !self.hear()? {
                    return Ok(());
                }
            }
        }
    }

    /// Hears one message and does what it says; false when the guest has hung up.
    fn hear(&mut self) -> io::Result<bool> {
        let Some(mut message) = self.read()? else { return Ok(false) };
        let answer = self.obey(&mut message);
        match answer {
            Ok(Some(payload)) => self.reply(&message, &payload)?,
            Ok(None) if message.flags & NEEDS_REPLY != 0 => self.reply(&message, &0_u64.to_le_bytes())?,
            Ok(None) => {}
            Err(error) => {
                if message.flags & NEEDS_REPLY != 0 {
                    self.reply(&message, &1_u64.to_le_bytes())?;
                }
                return Err(error);
            }
        }
        Ok(true)
    }

    fn obey(&mut self, message: &mut Message) -> io::Result<Option<Vec<u8>>> {
        let number = |value: u64| Ok(Some(value.to_le_bytes().to_vec()));
        match message.request {
            // GET_FEATURES
            1 => return number(self.device.features() | 1 << VIRTIO_F_VERSION_1 | HAS_PROTOCOL_FEATURES),
            // GET_PROTOCOL_FEATURES
            15 => return number(PROTOCOL_FEATURES),
            // SET_FEATURES, SET_OWNER, SET_VRING_ERR, SET_PROTOCOL_FEATURES: nothing of it changes what we do.
            2 | 3 | 14 | 16 => {}
            5 => self.map_memory(message)?,
            // SET_VRING_NUM
            8 => self.ring.queue.set_size(u16::try_from(message.u32(1)?).map_err(io::Error::other)?),
            9 => self.place_ring(message)?,
            // SET_VRING_BASE
            10 => self.ring.queue.set_next_avail(u16::try_from(message.u32(1)?).map_err(io::Error::other)?),
            // GET_VRING_BASE: the ring stops here.
            11 => {
                self.ring.queue.set_ready(false);
                let next = u32::from(self.ring.queue.next_avail()).to_le_bytes();
                return Ok(Some([message.u32(0)?.to_le_bytes(), next].concat()));
            }
            // SET_VRING_KICK, SET_VRING_CALL
            12 | 13 => {
                let descriptor =
                    message.descriptor.take().filter(|_| message.u64(0).is_ok_and(|n| n & NO_DESCRIPTOR == 0));
                let place = if message.request == 12 { &mut self.kick } else { &mut self.ring.call };
                *place = descriptor;
            }
            // SET_BACKEND_REQ_FD: held, or the guest would hear that it was closed.
            21 => self.back_channel = message.descriptor.take(),
            // SET_VRING_ENABLE
            18 => self.ring.queue.set_ready(message.u32(1)? == 1),
            // GET_CONFIG: offset, size, flags, and room for the bytes.
            24 => {
                let (offset, size) = (message.u32(0)? as usize, message.u32(1)? as usize);
                let mut all = self.device.configuration();
                all.resize(all.len().max(offset + size.min(PAYLOAD_BYTES_MAX)), 0);
                let mut payload = message.payload.clone();
                payload.truncate(12);
                payload.extend_from_slice(all.get(offset..offset + size).ok_or(io::ErrorKind::InvalidData)?);
                return Ok(Some(payload));
            }
            other => return Err(io::Error::other(format!("the guest's request {other} is not known"))),
        }
        Ok(None)
    }

    /// SET_MEM_TABLE: the file behind the guest's memory.
    fn map_memory(&mut self, message: &mut Message) -> io::Result<()> {
        if message.u32(0)? != 1 {
            return Err(io::Error::other("the guest has not one region of memory"));
        }
        let (guest, size, user, offset) = (message.u64(1)?, message.u64(2)?, message.u64(3)?, message.u64(4)?);
        let file = message.descriptor.take().ok_or(io::ErrorKind::InvalidData)?;
        let size = usize::try_from(size).map_err(io::Error::other)?;
        let range = (GuestAddress(guest), size, Some(FileOffset::new(file, offset)));
        self.ring.memory = GuestMemoryMmap::from_ranges_with_files([range]).map_err(io::Error::other)?;
        self.user_to_guest = guest.wrapping_sub(user);
        Ok(())
    }

    /// SET_VRING_ADDR: index, flags, then the places of descriptors, used and available entries.
    fn place_ring(&mut self, message: &Message) -> io::Result<()> {
        let halves = |index: usize| -> io::Result<(Option<u32>, Option<u32>)> {
            let at = message.u64(index)?.wrapping_add(self.user_to_guest);
            Ok((Some(at as u32), Some((at >> 32) as u32)))
        };
        let (descriptors, used, available) = (halves(1)?, halves(2)?, halves(3)?);
        let queue = &mut self.ring.queue;
        queue.set_desc_table_address(descriptors.0, descriptors.1);
        queue.set_used_ring_address(used.0, used.1);
        queue.set_avail_ring_address(available.0, available.1);
        Ok(())
    }

    fn read(&mut self) -> io::Result<Option<Message>> {
        let mut head = [0; 12];
        let mut space = cmsg_space!([RawFd; 2]);
        let (count, descriptor) = {
            let mut vectors = [IoSliceMut::new(&mut head)];
            let flags = MsgFlags::MSG_CMSG_CLOEXEC | MsgFlags::MSG_WAITALL;
            let said = recvmsg::<()>(self.guest.as_raw_fd(), &mut vectors, Some(&mut space), flags)?;
            let mut descriptors = Vec::new();
            for control in said.cmsgs()? {
                if let ControlMessageOwned::ScmRights(all) = control {
                    // SAFETY: the kernel has just made these descriptors for us, and nobody else knows them.
                    descriptors.extend(all.into_iter().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }));
                }
            }
            (said.bytes, descriptors.into_iter().next().map(File::from))
        };
        if count == 0 {
            return Ok(None);
        }
        let word = |index: usize| u32::from_le_bytes(head[index * 4..index * 4 + 4].try_into().expect("four bytes"));
        let size = word(2) as usize;
        if count != head.len() || size > PAYLOAD_BYTES_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut payload = vec![0; size];
        self.guest.read_exact(&mut payload)?;
        Ok(Some(Message { request: word(0), flags: word(1), payload, descriptor }))
    }

    fn reply(&mut self, to: &Message, payload: &[u8]) -> io::Result<()> {
        let size = u32::try_from(payload.len()).expect("a short answer");
        let mut all: Vec<u8> =
            [to.request, VERSION | IS_REPLY, size].iter().flat_map(|word| word.to_le_bytes()).collect();
        all.extend_from_slice(payload);
        self.guest.write_all(&all)
    }
}
