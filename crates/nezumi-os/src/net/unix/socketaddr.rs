use std::fmt;
use std::io;
#[cfg(target_os = "android")]
use std::os::android::net::SocketAddrExt;
#[cfg(target_os = "linux")]
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::SocketAddr as StdSocketAddr;
use std::path::Path;

/// The address of a Unix socket: a path, a name in the abstract namespace of Linux, or nothing.
///
/// # Examples
///
/// ```
/// use nezumi::net::UnixListener;
///
/// # #[nezumi::main(flavor = "current_thread")]
/// # async fn main() {
/// # let path = std::env::temp_dir().join(format!("nezumi-doc-addr-{}", std::process::id()));
/// let listener = UnixListener::bind(&path).unwrap();
/// assert_eq!(listener.local_addr().unwrap().as_pathname(), Some(&*path));
/// # std::fs::remove_file(&path).unwrap();
/// # }
/// ```
#[derive(Clone)]
pub struct SocketAddr(pub(crate) StdSocketAddr);

impl SocketAddr {
    /// Whether the socket has no address.
    pub fn is_unnamed(&self) -> bool {
        self.0.is_unnamed()
    }

    /// The path, if that is the address.
    pub fn as_pathname(&self) -> Option<&Path> {
        self.0.as_pathname()
    }

    /// The name in the abstract namespace, without the null byte before it, if that is the address.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub fn as_abstract_name(&self) -> Option<&[u8]> {
        self.0.as_abstract_name()
    }

    /// The address that a program writes as a path: one that begins with a null byte is a name in the abstract namespace,
    /// where there is such a thing.
    pub(crate) fn from_path(path: &Path) -> io::Result<SocketAddr> {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if let Some((0, name)) = std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str()).split_first() {
            return StdSocketAddr::from_abstract_name(name).map(SocketAddr);
        }
        StdSocketAddr::from_pathname(path).map(SocketAddr)
    }

    /// The address that a raw call came back with.
    pub(crate) fn from_raw(addr: &socket2::SockAddr) -> io::Result<SocketAddr> {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if let Some(name) = addr.as_abstract_namespace() {
            return StdSocketAddr::from_abstract_name(name).map(SocketAddr);
        }
        // The empty path makes an address without a name.
        StdSocketAddr::from_pathname(addr.as_pathname().unwrap_or(Path::new(""))).map(SocketAddr)
    }
}

impl fmt::Debug for SocketAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<StdSocketAddr> for SocketAddr {
    fn from(value: StdSocketAddr) -> Self {
        SocketAddr(value)
    }
}

impl From<SocketAddr> for StdSocketAddr {
    fn from(value: SocketAddr) -> Self {
        value.0
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn raw_addresses_keep_what_they_are() {
        let named = socket2::SockAddr::unix("/tmp/x").unwrap();
        assert_eq!(SocketAddr::from_raw(&named).unwrap().as_pathname(), Some(Path::new("/tmp/x")));
        let (a, _b) = std::os::unix::net::UnixDatagram::pair().unwrap();
        let unnamed = socket2::SockRef::from(&a).local_addr().unwrap();
        assert!(SocketAddr::from_raw(&unnamed).unwrap().is_unnamed());
        #[cfg(target_os = "linux")]
        {
            let hidden = socket2::SockAddr::unix("\0a name").unwrap();
            assert_eq!(SocketAddr::from_raw(&hidden).unwrap().as_abstract_name(), Some(&b"a name"[..]));
        }
    }

    #[test]
    fn a_path_that_begins_with_null_is_an_abstract_name() {
        assert_eq!(SocketAddr::from_path(Path::new("a/b")).unwrap().as_pathname(), Some(Path::new("a/b")));
        SocketAddr::from_path(Path::new("a\0b")).unwrap_err();
        #[cfg(target_os = "linux")]
        assert_eq!(
            SocketAddr::from_path(Path::new("\0a\0b")).unwrap().as_abstract_name(),
            Some(&b"a\0b"[..])
        );
    }
}
