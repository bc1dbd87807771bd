//! The end of a process, and its pipes, on Windows.
//!
//! The first wait has the system call us when the process ends: on a thread of its own, which waits for many handles. The pipes that the
//! standard library makes are read and written on the threads of the blocking pool.
//!
//! Nothing is left of a process here once its handles are closed, so there are no orphans to look after.
//!
//! The call and the drop of a wait may meet. `UnregisterWaitEx` is told to wait for a call that is under way, so that the handle of the
//! process is not closed beneath it; but not when the drop comes out of that very call, from a waker. A wait holds two counts of its
//! `Notice`: its own, and one for the call, which the call gives back; if there has been none, the drop does.

use crate::stdio::{Reader, Writer};
use nezumi_core::runtime::Handle;
use nezumi_io::{AsyncRead, AsyncWrite, ReadBuf};
use nezumi_wake::{AtomicWaker, coop};
use std::cell::Cell;
use std::ffi::c_void;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::windows::io::{AsRawHandle, OwnedHandle, RawHandle};
use std::pin::Pin;
use std::process::{Child as StdChild, ExitStatus};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use windows_sys::Win32::Foundation::{HANDLE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::System::Threading::{
    INFINITE, RegisterWaitForSingleObject, UnregisterWaitEx, WT_EXECUTEINWAITTHREAD, WT_EXECUTEONLYONCE,
};

/// A process that was not seen to end.
pub(super) struct Process {
    /// Dropped before the child, whose handle it waits for.
    wait: Option<Wait>,
    child: StdChild,
    pub(super) kill_on_drop: bool,
}

/// There is nothing to see to before a process is started.
pub(super) fn before_spawn() {}

impl Process {
    pub(super) fn new(child: StdChild, _runtime: Handle, kill_on_drop: bool) -> Self {
        Self { wait: None, child, kill_on_drop }
    }

    /// How it ended, if it was waited for before it came to us. The number of a process is its own as long as its handle is open, so it
    /// makes no difference.
    pub(super) fn known_end(&mut self) -> Option<ExitStatus> {
        None
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn raw_handle(&self) -> RawHandle {
        self.child.as_raw_handle()
    }

    pub(super) fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    pub(super) fn kill(&mut self) -> io::Result<()> {
        self.child.kill()
    }

    /// Waits for the end. Of the tasks that call this only the last is woken.
    pub(super) fn poll_wait(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<ExitStatus>> {
        let coop = ready!(coop::poll_proceed(cx));
        if let Some(wait) = &self.wait {
            wait.notice.task.register(cx.waker());
        }
        // Register first, look then: an end in between is told of.
        loop {
            if let Some(status) = self.child.try_wait()? {
                coop.made_progress();
                return Poll::Ready(Ok(status));
            }
            if self.wait.is_some() {
                return Poll::Pending;
            }
            self.wait = Some(Wait::new(self.child.as_raw_handle(), cx)?);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.kill_on_drop && matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
        }
    }
}

impl fmt::Debug for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Process")
            .field("pid", &self.id())
            .field("kill_on_drop", &self.kill_on_drop)
            .finish_non_exhaustive()
    }
}

/// The system waits for us.
struct Wait {
    registered: HANDLE,
    notice: Arc<Notice>,
}

#[derive(Default)]
struct Notice {
    task: AtomicWaker,
    /// The call has begun: it gives its count back.
    called: AtomicBool,
}

// SAFETY: the handle of a registration may be used on any thread.
unsafe impl Send for Wait {}
// SAFETY: as above; and through a reference nothing is done with it.
unsafe impl Sync for Wait {}

thread_local! {
    /// The notice whose call this thread is in.
    static IN_CALL: Cell<*const Notice> = const { Cell::new(ptr::null()) };
}

impl Wait {
    fn new(process: RawHandle, cx: &Context<'_>) -> io::Result<Self> {
        let notice = Arc::new(Notice::default());
        notice.task.register(cx.waker());
        let of_call = Arc::into_raw(Arc::clone(&notice));
        let mut registered = ptr::null_mut();
        // SAFETY: the handle is the child's, which is dropped after this; `call` takes what it is given here, once at most.
        let done = unsafe {
            RegisterWaitForSingleObject(
                &mut registered,
                process,
                Some(call),
                of_call.cast(),
                INFINITE,
                WT_EXECUTEINWAITTHREAD | WT_EXECUTEONLYONCE,
            )
        };
        if done == 0 {
            let error = io::Error::last_os_error();
            // SAFETY: there will be no call, whose count this is.
            drop(unsafe { Arc::from_raw(of_call) });
            return Err(error);
        }
        Ok(Self { registered, notice })
    }
}

/// Called by the system when the process has ended.
unsafe extern "system" fn call(notice: *mut c_void, _timed_out: bool) {
    // SAFETY: the count that `Wait::new` has made for this call; the flag, set next, says that it is taken.
    let notice = unsafe { Arc::from_raw(notice.cast::<Notice>().cast_const()) };
    notice.called.store(true, Ordering::Release);
    IN_CALL.set(Arc::as_ptr(&notice));
    notice.task.wake();
    IN_CALL.set(ptr::null());
}

impl Drop for Wait {
    fn drop(&mut self) {
        let inside = IN_CALL.get() == Arc::as_ptr(&self.notice);
        let until = if inside { ptr::null_mut() } else { INVALID_HANDLE_VALUE };
        // SAFETY: registered in `new`, and ended here only. That a call is under way, inside of it, is no failure.
        unsafe { UnregisterWaitEx(self.registered, until) };
        // Acquire: pairs with the Release in `call`. There is no call any more that has not begun.
        if !self.notice.called.load(Ordering::Acquire) {
            // SAFETY: nobody has taken the count that was made for the call, and nobody will.
            unsafe { Arc::decrement_strong_count(Arc::as_ptr(&self.notice)) };
        }
    }
}

/// Our end of a pipe to a process.
#[derive(Debug)]
pub(crate) struct Sender {
    writer: Writer<File>,
}

/// Our end of a pipe from a process.
#[derive(Debug)]
pub(crate) struct Receiver {
    reader: Reader<File>,
}

impl Sender {
    pub(crate) fn of_process(pipe: impl Into<OwnedHandle>) -> io::Result<Self> {
        Ok(Self { writer: Writer::new(pipe.into().into()) })
    }

    /// Takes the handle out: another one for the same pipe, as a write may be under way.
    pub(crate) fn into_owned(self) -> io::Result<OwnedHandle> {
        self.writer.sink().try_clone().map(OwnedHandle::from)
    }
}

impl Receiver {
    pub(crate) fn of_process(pipe: impl Into<OwnedHandle>) -> io::Result<Self> {
        Ok(Self { reader: Reader::new(pipe.into().into()) })
    }

    /// Takes the handle out: another one for the same pipe, as a read may be under way.
    pub(crate) fn into_owned(self) -> io::Result<OwnedHandle> {
        self.reader.source().try_clone().map(OwnedHandle::from)
    }
}

impl AsRawHandle for Sender {
    fn as_raw_handle(&self) -> RawHandle {
        self.writer.sink().as_raw_handle()
    }
}

impl AsRawHandle for Receiver {
    fn as_raw_handle(&self) -> RawHandle {
        self.reader.source().as_raw_handle()
    }
}

impl AsyncWrite for Sender {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.get_mut().writer.poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().writer.poll_flush(cx)
    }

    /// The same as a flush: a pipe is closed by dropping it.
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().writer.poll_flush(cx)
    }
}

impl AsyncRead for Receiver {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.get_mut().reader.poll_read(cx, buf)
    }
}
