//! Options that sockets have in common, for a type with a method `sock_ref() -> SockRef<'_>`.

/// The traffic class and the device: what TCP and UDP sockets of the same systems have.
macro_rules! ip_options {
    () => {
        /// The traffic class of packets sent over IPv6 (`IPV6_TCLASS`).
        ///
        /// # Errors
        ///
        /// Those of the OS.
        #[cfg(any(
            target_os = "android",
            target_os = "dragonfly",
            target_os = "freebsd",
            target_os = "fuchsia",
            target_os = "linux",
            target_os = "macos",
            target_os = "netbsd",
            target_os = "openbsd",
            target_os = "cygwin",
        ))]
        pub fn tclass_v6(&self) -> io::Result<u32> {
            self.sock_ref().tclass_v6()
        }

        /// Sets the traffic class of packets sent over IPv6 (`IPV6_TCLASS`).
        ///
        /// # Errors
        ///
        /// Those of the OS.
        #[cfg(any(
            target_os = "android",
            target_os = "dragonfly",
            target_os = "freebsd",
            target_os = "fuchsia",
            target_os = "linux",
            target_os = "macos",
            target_os = "netbsd",
            target_os = "openbsd",
            target_os = "cygwin",
        ))]
        pub fn set_tclass_v6(&self, tclass: u32) -> io::Result<()> {
            self.sock_ref().set_tclass_v6(tclass)
        }

        /// The type of service of packets sent over IPv4 (`IP_TOS`).
        ///
        /// # Errors
        ///
        /// Those of the OS.
        #[cfg(not(any(
            target_os = "fuchsia",
            target_os = "redox",
            target_os = "solaris",
            target_os = "illumos",
            target_os = "haiku",
            target_os = "wasi",
        )))]
        pub fn tos_v4(&self) -> io::Result<u32> {
            self.sock_ref().tos_v4()
        }

        /// Sets the type of service of packets sent over IPv4 (`IP_TOS`).
        ///
        /// # Errors
        ///
        /// Those of the OS.
        #[cfg(not(any(
            target_os = "fuchsia",
            target_os = "redox",
            target_os = "solaris",
            target_os = "illumos",
            target_os = "haiku",
            target_os = "wasi",
        )))]
        pub fn set_tos_v4(&self, tos: u32) -> io::Result<()> {
            self.sock_ref().set_tos_v4(tos)
        }

        /// The former name of [`tos_v4`](Self::tos_v4).
        ///
        /// # Errors
        ///
        /// Those of the OS.
        #[deprecated = "it is about IPv4 only, and so is its new name: `tos_v4`"]
        #[doc(hidden)]
        #[cfg(not(any(
            target_os = "fuchsia",
            target_os = "redox",
            target_os = "solaris",
            target_os = "illumos",
            target_os = "haiku",
            target_os = "wasi",
        )))]
        pub fn tos(&self) -> io::Result<u32> {
            self.tos_v4()
        }

        /// The former name of [`set_tos_v4`](Self::set_tos_v4).
        ///
        /// # Errors
        ///
        /// Those of the OS.
        #[deprecated = "it is about IPv4 only, and so is its new name: `set_tos_v4`"]
        #[doc(hidden)]
        #[cfg(not(any(
            target_os = "fuchsia",
            target_os = "redox",
            target_os = "solaris",
            target_os = "illumos",
            target_os = "haiku",
            target_os = "wasi",
        )))]
        pub fn set_tos(&self, tos: u32) -> io::Result<()> {
            self.set_tos_v4(tos)
        }

        /// The name of the network interface that the socket is bound to (`SO_BINDTODEVICE`), if it is to one.
        ///
        /// # Errors
        ///
        /// Those of the OS.
        #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
        pub fn device(&self) -> io::Result<Option<Vec<u8>>> {
            self.sock_ref().device()
        }

        /// Has the socket send and receive through the network interface of that name only (`SO_BINDTODEVICE`); through any
        /// with `None`.
        ///
        /// # Errors
        ///
        /// Those of the OS, as when there is no such interface, or the program lacks the right.
        #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
        pub fn bind_device(&self, interface: Option<&[u8]>) -> io::Result<()> {
            self.sock_ref().bind_device(interface)
        }
    };
}

pub(crate) use ip_options;
