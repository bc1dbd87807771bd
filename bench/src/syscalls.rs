//! How many system calls a round makes.
//!
//! The kernel counts them itself, at the tracepoint `raw_syscalls:sys_enter`, for the calling thread and all that it starts
//! afterwards, which takes privileges (root, or `CAP_PERFMON` and a readable tracefs) and Linux. Without them there is no
//! count, and the README says how to get one from strace. A counted call is a little dearer, so what is counted is not timed.

#[cfg(target_os = "linux")]
pub(crate) use linux::Counter;
#[cfg(not(target_os = "linux"))]
pub(crate) use nowhere::Counter;

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::{self, File};
    use std::io::Read;
    use std::os::fd::{AsRawFd, FromRawFd};

    const TYPE_TRACEPOINT: u32 = 2;
    const FLAG_DISABLED: u64 = 1;
    const FLAG_INHERIT: u64 = 1 << 1;
    const IOC_ENABLE: libc::c_ulong = 0x2400;
    const IOC_DISABLE: libc::c_ulong = 0x2401;

    /// `struct perf_event_attr` as the kernel first had it; a longer one would be all zeroes.
    #[repr(C)]
    #[derive(Default)]
    struct Attributes {
        kind: u32,
        size: u32,
        config: u64,
        sample_period: u64,
        sample_type: u64,
        read_format: u64,
        flags: u64,
        wakeup_events: u32,
        breakpoint_type: u32,
        breakpoint_address: u64,
    }

    /// Counts while started, if it may.
    pub(crate) struct Counter(Option<File>);

    impl Counter {
        /// For this thread and every one that it starts from now on, and those that these start.
        pub(crate) fn open() -> Counter {
            Counter(open())
        }

        pub(crate) fn start(&self) {
            self.control(IOC_ENABLE);
        }

        /// What was counted since it was opened.
        pub(crate) fn stop(&self) -> Option<u64> {
            self.control(IOC_DISABLE);
            let mut count = [0; 8];
            self.0.as_ref()?.read_exact(&mut count).ok()?;
            Some(u64::from_ne_bytes(count))
        }

        fn control(&self, request: libc::c_ulong) {
            if let Some(file) = &self.0 {
                // SAFETY: these two requests take no pointer; the descriptor is open as long as `file` is.
                unsafe { libc::ioctl(file.as_raw_fd(), request, 0) };
            }
        }
    }

    fn open() -> Option<File> {
        let tracefs = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
        let id = tracefs
            .iter()
            .find_map(|root| fs::read_to_string(format!("{root}/events/raw_syscalls/sys_enter/id")).ok())?;
        let attributes = Attributes {
            kind: TYPE_TRACEPOINT,
            size: size_of::<Attributes>() as u32,
            config: id.trim().parse().ok()?,
            flags: FLAG_DISABLED | FLAG_INHERIT,
            ..Attributes::default()
        };
        let (this_thread, any_cpu, no_group, close_on_exec) = (0, -1, -1, 8);
        // SAFETY: `attributes` is laid out as the kernel wants it and says its own size; the kernel only reads it.
        let fd = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                &raw const attributes,
                this_thread,
                any_cpu,
                no_group,
                close_on_exec,
            )
        };
        let fd = i32::try_from(fd).ok().filter(|fd| *fd >= 0)?;
        // SAFETY: the call succeeded, so this is an open descriptor that nobody else owns.
        Some(unsafe { File::from_raw_fd(fd) })
    }
}

#[cfg(not(target_os = "linux"))]
mod nowhere {
    /// Counts nothing.
    pub(crate) struct Counter;

    impl Counter {
        pub(crate) fn open() -> Counter {
            Counter
        }

        pub(crate) fn start(&self) {}

        pub(crate) fn stop(&self) -> Option<u64> {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calls_of_threads_started_later_are_counted_if_any_are() {
        let counter = Counter::open();
        counter.start();
        let calls = || (0..100).for_each(|_| std::thread::yield_now());
        std::thread::spawn(calls).join().unwrap();
        if let Some(count) = counter.stop() {
            assert!((100..1000).contains(&count), "counted {count}");
        }
    }
}
