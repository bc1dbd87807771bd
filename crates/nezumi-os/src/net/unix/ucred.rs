use super::{gid_t, pid_t, uid_t};
use std::io;
use std::os::fd::{AsRawFd, RawFd};

/// Who the process at the other end of a stream is, or was when it connected: see
/// [`UnixStream::peer_cred`](crate::net::UnixStream::peer_cred).
///
/// # Examples
///
/// ```
/// use nezumi::net::UnixStream;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// let (one, other) = UnixStream::pair().unwrap();
/// // Both are this process.
/// let (of_other, of_one) = (one.peer_cred().unwrap(), other.peer_cred().unwrap());
/// assert_eq!(of_other.uid(), of_one.uid());
/// # }
/// ```
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug)]
pub struct UCred {
    pid: Option<pid_t>,
    uid: uid_t,
    gid: gid_t,
}

impl UCred {
    /// The user that the process runs as.
    pub fn uid(&self) -> uid_t {
        self.uid
    }

    /// The group that the process runs as.
    pub fn gid(&self) -> gid_t {
        self.gid
    }

    /// The process, where the OS tells. By now its number may belong to another one.
    pub fn pid(&self) -> Option<pid_t> {
        self.pid
    }

    pub(super) fn of_peer(socket: &impl AsRawFd) -> io::Result<UCred> {
        imp::of_peer(socket.as_raw_fd())
    }
}

/// Reads a socket option that is a plain struct.
#[cfg(not(any(target_os = "solaris", target_os = "illumos")))]
#[allow(dead_code)] // Not where `getpeereid` says it all.
fn option<T: Copy>(fd: RawFd, level: libc::c_int, name: libc::c_int, mut value: T) -> io::Result<T> {
    let mut len = size_of::<T>() as libc::socklen_t;
    // SAFETY: `value` is `len` bytes of plain data, which the call overwrites at most.
    let result = unsafe { libc::getsockopt(fd, level, name, (&raw mut value).cast(), &mut len) };
    match result {
        0 if len as usize == size_of::<T>() => Ok(value),
        0 => Err(io::Error::new(io::ErrorKind::InvalidData, "credentials of an unexpected size")),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(any(
    target_os = "linux",
    target_os = "android",
    target_os = "redox",
    target_os = "haiku",
    target_os = "cygwin",
    target_os = "openbsd"
))]
mod imp {
    use super::*;
    #[cfg(target_os = "openbsd")]
    use libc::sockpeercred as ucred;
    #[cfg(not(target_os = "openbsd"))]
    use libc::ucred;

    pub(super) fn of_peer(fd: RawFd) -> io::Result<UCred> {
        let cred = option(fd, libc::SOL_SOCKET, libc::SO_PEERCRED, ucred { pid: 0, uid: 0, gid: 0 })?;
        Ok(UCred { pid: Some(cred.pid as pid_t), uid: cred.uid as uid_t, gid: cred.gid as gid_t })
    }
}

#[cfg(any(
    target_vendor = "apple",
    target_os = "freebsd",
    target_os = "netbsd",
    target_os = "dragonfly",
    target_os = "aix",
    target_os = "nto"
))]
mod imp {
    use super::*;

    pub(super) fn of_peer(fd: RawFd) -> io::Result<UCred> {
        let (mut uid, mut gid) = (0, 0);
        // SAFETY: both point to integers of the right type.
        if unsafe { libc::getpeereid(fd, &mut uid, &mut gid) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(UCred { pid: pid(fd)?, uid: uid as uid_t, gid: gid as gid_t })
    }

    #[cfg(target_vendor = "apple")]
    fn pid(fd: RawFd) -> io::Result<Option<pid_t>> {
        option(fd, libc::SOL_LOCAL, libc::LOCAL_PEEREPID, 0 as libc::pid_t).map(|pid| Some(pid as pid_t))
    }

    #[cfg(target_os = "netbsd")]
    fn pid(fd: RawFd) -> io::Result<Option<pid_t>> {
        let id = libc::unpcbid { unp_pid: 0, unp_euid: 0, unp_egid: 0 };
        option(fd, 0, libc::LOCAL_PEEREID, id).map(|id| Some(id.unp_pid as pid_t))
    }

    #[cfg(target_os = "freebsd")]
    fn pid(fd: RawFd) -> io::Result<Option<pid_t>> {
        // SAFETY: plain data, for which zeroes are valid.
        let cred = option(fd, 0, libc::LOCAL_PEERCRED, unsafe { std::mem::zeroed::<libc::xucred>() })?;
        // SAFETY: the call filled the struct in, and this field of its union is an integer.
        let pid = unsafe { cred.cr_pid__c_anonymous_union.cr_pid };
        Ok((pid != 0).then_some(pid as pid_t))
    }

    #[cfg(not(any(target_vendor = "apple", target_os = "netbsd", target_os = "freebsd")))]
    fn pid(_fd: RawFd) -> io::Result<Option<pid_t>> {
        Ok(None)
    }
}

#[cfg(any(target_os = "solaris", target_os = "illumos"))]
mod imp {
    use super::*;

    pub(super) fn of_peer(fd: RawFd) -> io::Result<UCred> {
        let mut cred = std::ptr::null_mut();
        // SAFETY: on success `cred` points to credentials that we own, and free after the last look.
        unsafe {
            if libc::getpeerucred(fd, &mut cred) != 0 {
                return Err(io::Error::last_os_error());
            }
            let found = UCred {
                pid: Some(libc::ucred_getpid(cred) as pid_t),
                uid: libc::ucred_geteuid(cred) as uid_t,
                gid: libc::ucred_getegid(cred) as gid_t,
            };
            libc::ucred_free(cred);
            Ok(found)
        }
    }
}

#[cfg(any(
    target_os = "espidf",
    target_os = "fuchsia",
    target_os = "hurd",
    target_os = "nuttx",
    target_os = "vita"
))]
mod imp {
    use super::*;

    /// There are no users here, or nobody tells.
    pub(super) fn of_peer(_fd: RawFd) -> io::Result<UCred> {
        Ok(UCred { pid: None, uid: 0, gid: 0 })
    }
}
