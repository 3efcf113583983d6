//! An address in the form that system calls take.

use std::net::SocketAddr;

/// A `sockaddr` and its length.
pub struct RawAddress {
    storage: libc::sockaddr_storage,
    length: libc::socklen_t,
}

impl RawAddress {
    /// Of this address.
    pub fn new(address: &SocketAddr) -> RawAddress {
        // SAFETY: all zeros are a valid `sockaddr_storage`.
        let mut storage: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
        let length = match address {
            SocketAddr::V4(v4) => {
                let raw = libc::sockaddr_in {
                    sin_family: libc::AF_INET as libc::sa_family_t,
                    sin_port: v4.port().to_be(),
                    sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(v4.ip().octets()) },
                    sin_zero: [0; 8],
                };
                // SAFETY: a `sockaddr_storage` is large enough and aligned for any address.
                unsafe { std::ptr::from_mut(&mut storage).cast::<libc::sockaddr_in>().write(raw) };
                size_of::<libc::sockaddr_in>()
            }
            SocketAddr::V6(v6) => {
                let raw = libc::sockaddr_in6 {
                    sin6_family: libc::AF_INET6 as libc::sa_family_t,
                    sin6_port: v6.port().to_be(),
                    sin6_flowinfo: v6.flowinfo(),
                    sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                    sin6_scope_id: v6.scope_id(),
                };
                // SAFETY: as above.
                unsafe { std::ptr::from_mut(&mut storage).cast::<libc::sockaddr_in6>().write(raw) };
                size_of::<libc::sockaddr_in6>()
            }
        };
        RawAddress { storage, length: length as libc::socklen_t }
    }

    /// `AF_INET` or `AF_INET6`.
    pub fn family(&self) -> i32 {
        i32::from(self.storage.ss_family)
    }

    /// Where it lies; it must not move while the kernel looks at it.
    pub fn pointer(&self) -> *const libc::sockaddr {
        std::ptr::from_ref(&self.storage).cast()
    }

    /// Its length in bytes.
    pub fn length(&self) -> libc::socklen_t {
        self.length
    }
}
