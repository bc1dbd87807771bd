//! Between the process and the C library: calls that fail, and a clock that steps back, when a case asks for it.
//!
//! The functions here have the names of the C library's, and as they are part of the program, all of it calls these: Nezumi, mio and the standard
//! library. The libraries under test know nothing of it, and are built as for everybody. While nothing is asked for, each hands its
//! arguments on.
//!
//! Only what a system may really do is done: no read of a socket is cut short, and none says that it would block, while there is more in it,
//! because readiness that is told once per edge rests on that.

use crate::seed::Seed;
use nezumi_prim::FastRand;
use std::ffi::{c_int, c_void};
use std::mem::transmute;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// What can be made to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// The selector of a driver.
    EpollCreate,
    /// The registration of a descriptor; that one is taken back never fails.
    EpollAdd,
    EpollWait,
    /// What a driver is woken by.
    EventFd,
    /// A second descriptor for the same.
    Dup,
    Accept,
    ThreadCreate,
    /// `read` and `write` of files: each fails now and then, and moves a few bytes else.
    FileIo,
    /// Does not fail, but says what it said some time ago.
    Clock,
}

const CALLS: usize = Call::Clock as usize + 1;

/// What happens to one kind of call.
struct Plan {
    /// 0: nothing.
    errno: AtomicI32,
    /// One call in so many; 0: the one that counts `nth` down.
    one_in: AtomicU32,
    nth: AtomicI64,
    hits: AtomicU64,
}

static PLANS: [Plan; CALLS] = [const {
    Plan {
        errno: AtomicI32::new(0),
        one_in: AtomicU32::new(0),
        nth: AtomicI64::new(0),
        hits: AtomicU64::new(0),
    }
}; CALLS];

/// Calls fail for as long as it stands. One at a time for each kind.
#[derive(Debug)]
pub(crate) struct Failing(Call);

impl Failing {
    /// One call in so many, at random.
    pub(crate) fn one_in(call: Call, errno: c_int, one_in: u32) -> Self {
        Self::plan(call, errno, one_in, 0)
    }

    /// Only the one that has so many before it.
    pub(crate) fn after(call: Call, errno: c_int, others: i64) -> Self {
        Self::plan(call, errno, 0, others + 1)
    }

    fn plan(call: Call, errno: c_int, one_in: u32, nth: i64) -> Self {
        let plan = &PLANS[call as usize];
        plan.hits.store(0, Ordering::Relaxed);
        plan.one_in.store(one_in, Ordering::Relaxed);
        plan.nth.store(nth, Ordering::Relaxed);
        // Release: pairs with the load in `is_hit`.
        plan.errno.store(errno, Ordering::Release);
        Failing(call)
    }

    /// How many calls have failed.
    pub(crate) fn hits(&self) -> u64 {
        PLANS[self.0 as usize].hits.load(Ordering::Relaxed)
    }
}

impl Drop for Failing {
    fn drop(&mut self) {
        PLANS[self.0 as usize].errno.store(0, Ordering::Relaxed);
    }
}

static STATE: AtomicU64 = AtomicU64::new(0);

/// What is random from now on follows from the seed, and from the order of the calls.
pub(crate) fn begin(seed: Seed) {
    STATE.store(seed.0, Ordering::Relaxed);
}

fn random() -> u64 {
    FastRand::new(STATE.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed)).next_u64()
}

/// The error that this call fails with, if it does.
fn hit(call: Call) -> Option<c_int> {
    let plan = &PLANS[call as usize];
    let errno = plan.errno.load(Ordering::Acquire);
    if errno == 0 {
        return None;
    }
    let is_hit = match plan.one_in.load(Ordering::Relaxed) {
        0 => plan.nth.fetch_sub(1, Ordering::Relaxed) == 1,
        one_in => random() % u64::from(one_in) == 0,
    };
    is_hit.then(|| {
        plan.hits.fetch_add(1, Ordering::Relaxed);
        errno
    })
}

fn failed(errno: c_int) -> c_int {
    // SAFETY: the address is that of this thread's own number.
    unsafe { *libc::__errno_location() = errno };
    -1
}

/// The C library's function of that name, looked up once.
fn real(name: &std::ffi::CStr, found: &AtomicPtr<c_void>) -> *mut c_void {
    let mut function = found.load(Ordering::Relaxed);
    if function.is_null() {
        // SAFETY: the name ends with a zero.
        function = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
        assert!(!function.is_null(), "the C library has no {name:?}");
        found.store(function, Ordering::Relaxed);
    }
    function
}

macro_rules! shims {
    ($($call:ident => fn $name:ident($($argument:ident: $type:ty),*) -> $output:ty $(, if $when:expr)?;)*) => {$(
        // SAFETY: the name is meant; the arguments and the result are those of the C library's function.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> $output {
            static REAL: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
            let is_meant = true $(&& $when)?;
            if let Some(errno) = is_meant.then(|| hit(Call::$call)).flatten() {
                return failed(errno);
            }
            let name = const {
                match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => panic!("a name without zeros"),
                }
            };
            // SAFETY: that function has this type; what it asks for the caller has promised.
            unsafe {
                let real: unsafe extern "C" fn($($type),*) -> $output = transmute(real(name, &REAL));
                real($($argument),*)
            }
        }
    )*};
}

shims! {
    EpollCreate => fn epoll_create1(flags: c_int) -> c_int;
    EpollAdd => fn epoll_ctl(epoll: c_int, op: c_int, fd: c_int, event: *mut libc::epoll_event) -> c_int,
        if op == libc::EPOLL_CTL_ADD;
    EpollWait => fn epoll_wait(epoll: c_int, events: *mut libc::epoll_event, most: c_int, timeout: c_int) -> c_int;
    EventFd => fn eventfd(initial: u32, flags: c_int) -> c_int;
    // Variadic in C; on the systems that this is for, a third argument is passed like that of any function.
    Dup => fn fcntl(fd: c_int, command: c_int, argument: usize) -> c_int, if command == libc::F_DUPFD_CLOEXEC;
    Accept => fn accept4(
        fd: c_int, address: *mut libc::sockaddr, length: *mut libc::socklen_t, flags: c_int
    ) -> c_int;
}

/// What says that it failed by its result, and not by `errno`.
// SAFETY: the name is meant; the arguments and the result are those of the C library's function.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_create(
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    begin: extern "C" fn(*mut c_void) -> *mut c_void,
    argument: *mut c_void,
) -> c_int {
    type Real = unsafe extern "C" fn(
        *mut libc::pthread_t,
        *const libc::pthread_attr_t,
        extern "C" fn(*mut c_void) -> *mut c_void,
        *mut c_void,
    ) -> c_int;
    static REAL: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
    if let Some(errno) = hit(Call::ThreadCreate) {
        return errno;
    }
    // SAFETY: that function has this type; what it asks for the caller has promised.
    unsafe {
        transmute::<*mut c_void, Real>(real(c"pthread_create", &REAL))(thread, attributes, begin, argument)
    }
}

/// Whether pieces of this one may be read and written.
fn is_file(fd: c_int) -> bool {
    if PLANS[Call::FileIo as usize].errno.load(Ordering::Relaxed) == 0 {
        return false;
    }
    // SAFETY: plain data, all of whose bits may be zero, and which has room for the answer.
    unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        libc::fstat(fd, &raw mut stat) == 0 && stat.st_mode & libc::S_IFMT == libc::S_IFREG
    }
}

/// How many of `count` bytes go this time, or the result of a call that fails.
fn share(fd: c_int, count: usize) -> Result<usize, isize> {
    if !is_file(fd) {
        return Ok(count);
    }
    match hit(Call::FileIo) {
        Some(errno) => Err(failed(errno) as isize),
        None => Ok(count.min(1 + (random() % 100) as usize)),
    }
}

// SAFETY: the name is meant; the arguments and the result are those of the C library's function.
#[unsafe(no_mangle)]
unsafe extern "C" fn read(fd: c_int, bytes: *mut c_void, count: usize) -> isize {
    match share(fd, count) {
        // SAFETY: the caller's promise, for no more than it said.
        Ok(count) => unsafe { libc::syscall(libc::SYS_read, fd, bytes, count) as isize },
        Err(result) => result,
    }
}

// SAFETY: the name is meant; the arguments and the result are those of the C library's function.
#[unsafe(no_mangle)]
unsafe extern "C" fn write(fd: c_int, bytes: *const c_void, count: usize) -> isize {
    match share(fd, count) {
        // SAFETY: the caller's promise, for no more than it said.
        Ok(count) => unsafe { libc::syscall(libc::SYS_write, fd, bytes, count) as isize },
        Err(result) => result,
    }
}

/// The most that the clock steps back.
const BACK_NANOS: u64 = 50_000_000;

// SAFETY: the name is meant; the arguments and the result are those of the C library's function.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: libc::clockid_t, time: *mut libc::timespec) -> c_int {
    type Real = unsafe extern "C" fn(libc::clockid_t, *mut libc::timespec) -> c_int;
    static REAL: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
    // SAFETY: that function has this type; what it asks for the caller has promised. The time is the caller's, and was written.
    unsafe {
        let result = transmute::<*mut c_void, Real>(real(c"clock_gettime", &REAL))(clock, time);
        if result == 0 && clock == libc::CLOCK_MONOTONIC && hit(Call::Clock).is_some() {
            let nanos = (*time).tv_sec as u64 * 1_000_000_000 + (*time).tv_nsec as u64;
            let earlier = nanos.saturating_sub(random() % BACK_NANOS);
            (*time).tv_sec = (earlier / 1_000_000_000) as libc::time_t;
            (*time).tv_nsec = (earlier % 1_000_000_000) as _;
        }
        result
    }
}
