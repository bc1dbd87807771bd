//! What goes on with a file, and what is still to be told about it.
//!
//! Called by `io` with the file to itself, and by the methods of [`File`](super::File) that take it by reference, under its
//! lock. Knows how work gets to a blocking thread and back; not what it is for.
//!
//! At most one piece of work is under way; a write takes more of its kind along while it is (`behind`). The bytes travel with it, so the desk has them only while it is idle. A piece that is lost,
//! because it panicked or the runtime shut down, leaves the desk idle and empty.
//!
//! Tests: `tests/fs/faults.rs`.

use super::behind::{Behind, Writer};
use super::buf::Buf;
use super::known::Known;
use super::nowait::Nowait;
use nezumi_core::spawn::{spawn_blocking, spawn_mandatory_blocking};
use nezumi_core::task::JoinHandle;
use nezumi_wake::coop;
use std::fs::File;
use std::future::poll_fn;
use std::io::{self, IoSlice, Seek, SeekFrom};
use std::panic::UnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

#[derive(Debug)]
pub(super) struct Desk {
    pub(super) state: State,
    known: Known,
    /// A write has succeeded: the next will, but for a disk that is full or fails.
    is_writable: bool,
    /// Where writes wait for the one that is under way.
    behind: Option<nezumi_prim::sync::Arc<Behind>>,
    /// Shared with the handles that [`File::try_clone`](super::File::try_clone) made, which have the same cursor.
    cursor: Option<Arc<()>>,
    /// A write failed, and nobody has been told.
    write_error: Option<io::Error>,
    /// A seek that is done, and nobody has asked for.
    sought: Option<io::Result<u64>>,
    /// Where the last seek went that somebody asked for.
    position: u64,
}

#[derive(Debug)]
pub(super) enum State {
    /// What a cancelled read left is in the buffer.
    Idle(Buf),
    Busy(JoinHandle<Back>),
}

/// What comes back from the blocking thread.
#[derive(Debug)]
pub(super) struct Back {
    done: Done,
    buf: Buf,
    known: Known,
}

#[derive(Debug)]
pub(super) enum Done {
    /// The bytes are in the buffer.
    Read(io::Result<()>),
    Wrote(io::Result<()>),
    Sought(io::Result<u64>),
    /// The cursor is where it was, the length may not be.
    Resized(io::Result<()>),
}

// Code that is not ours, a waker, may panic while a desk is in use: it is in a good state whenever it calls one.
impl UnwindSafe for Desk {}

impl Desk {
    pub(super) fn new(known: Known) -> Self {
        Self {
            state: State::Idle(Buf::default()),
            known,
            is_writable: false,
            behind: None,
            cursor: None,
            write_error: None,
            sought: None,
            position: 0,
        }
    }

    /// A desk for another handle with the same cursor.
    pub(super) fn share(&mut self) -> Desk {
        let cursor = self.cursor.get_or_insert_default().clone();
        Desk { cursor: Some(cursor), ..Desk::new(self.known) }
    }

    /// What is known of reading without waiting; nothing is, while there are other handles: the OS lets one at a time move a cursor,
    /// and one that waits for the disk would hold up this thread.
    pub(super) fn nowait(&mut self) -> Option<&mut Nowait> {
        self.is_alone().then_some(&mut self.known.nowait)
    }

    /// Lets writes wait for the one that is about to be handed over. Not while there are other handles, which could write in between; not
    /// of a file for which each write is an event; and not before one has succeeded, so that the errors that are most likely are told
    /// by the very next write.
    pub(super) fn open_behind(&mut self) -> Option<Writer> {
        let may_wait = self.known.is_regular && self.is_writable && self.is_alone();
        may_wait.then(|| Behind::open(self.behind.get_or_insert_with(Behind::new)))
    }

    fn is_alone(&self) -> bool {
        self.cursor.as_ref().is_none_or(|cursor| Arc::strong_count(cursor) == 1)
    }

    /// Puts a write behind the one that is under way, if there is one that will look for it.
    pub(super) fn poll_push(
        &mut self,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
        most: usize,
    ) -> Poll<Option<usize>> {
        let (State::Busy(_), Some(behind), None) = (&self.state, &self.behind, &self.write_error) else {
            return Poll::Ready(None);
        };
        let spent = ready!(coop::poll_proceed(cx));
        let pushed = behind.push(slices, most);
        if pushed.is_some() {
            spent.made_progress();
        }
        Poll::Ready(pushed)
    }

    /// Hands `work` to a blocking thread. The desk must be idle.
    pub(super) fn hand_over<W>(&mut self, file: &Arc<File>, work: W)
    where
        W: FnOnce(&File, &mut Buf) -> Done + Send + 'static,
    {
        let package = self.pack(file, work);
        self.state = State::Busy(spawn_blocking(package));
    }

    /// The same for work that is done even if the runtime shuts down.
    ///
    /// # Errors
    ///
    /// When it is too late for that.
    pub(super) fn hand_over_for_good<W>(&mut self, file: &Arc<File>, work: W) -> io::Result<()>
    where
        W: FnOnce(&File, &mut Buf) -> Done + Send + 'static,
    {
        let package = self.pack(file, work);
        let working =
            spawn_mandatory_blocking(package).ok_or_else(|| io::Error::other("background task failed"))?;
        self.state = State::Busy(working);
        Ok(())
    }

    fn pack<W>(&mut self, file: &Arc<File>, work: W) -> impl FnOnce() -> Back + Send + use<W>
    where
        W: FnOnce(&File, &mut Buf) -> Done + Send + 'static,
    {
        self.forget_seek();
        let mut buf = match &mut self.state {
            State::Idle(buf) => std::mem::take(buf),
            State::Busy(_) => unreachable!("one thing at a time"),
        };
        let (file, known) = (file.clone(), self.known);
        move || {
            let done = work(&file, &mut buf);
            let known = if known == Known::NOTHING { Known::find_out(&file) } else { known };
            Back { done, buf, known }
        }
    }

    /// Waits for what is under way, of which there must be something. Then the desk is idle.
    ///
    /// # Errors
    ///
    /// When the work was lost.
    pub(super) fn poll_back(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Done>> {
        let State::Busy(working) = &mut self.state else { unreachable!("nothing is under way") };
        let back = ready!(Pin::new(working).poll(cx));
        self.state = State::Idle(Buf::default());
        let Back { done, buf, known } = back?;
        self.state = State::Idle(buf);
        self.known = known;
        self.is_writable |= matches!(done, Done::Wrote(Ok(())));
        Poll::Ready(Ok(done))
    }

    /// Waits until what was written is with the OS.
    ///
    /// # Errors
    ///
    /// When a write failed of which nobody has been told.
    pub(super) fn poll_written(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(error) = self.write_error.take() {
            return Poll::Ready(Err(error));
        }
        if let State::Busy(_) = self.state {
            match ready!(self.poll_back(cx))? {
                Done::Wrote(outcome) => return Poll::Ready(outcome),
                Done::Sought(outcome) => self.keep_seek(outcome),
                // What was read is in the buffer; if it failed, it will again.
                Done::Read(_) | Done::Resized(_) => {}
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Keeps the outcome of a write for the next write or flush.
    pub(super) fn keep_write_error(&mut self, outcome: io::Result<()>) {
        if let Err(error) = outcome {
            self.write_error.get_or_insert(error);
        }
    }

    /// Keeps the outcome of a seek for who asks.
    pub(super) fn keep_seek(&mut self, outcome: io::Result<u64>) {
        self.sought = Some(outcome);
    }

    /// Nobody is to be told of the last seek any more, unless he asks where it went.
    pub(super) fn forget_seek(&mut self) {
        if let Some(Ok(position)) = self.sought.take() {
            self.position = position;
        }
    }

    /// A seek whose outcome nobody has asked for.
    pub(super) fn has_sought(&self) -> bool {
        self.sought.is_some()
    }

    /// Tells where the last seek went, or that it failed.
    pub(super) fn tell_seek(&mut self) -> io::Result<u64> {
        if let Some(outcome) = self.sought.take() {
            self.position = outcome?;
        }
        Ok(self.position)
    }

    /// Waits until nothing is under way.
    pub(super) async fn settle(&mut self) {
        poll_fn(|cx| self.poll_settle(cx)).await;
    }

    /// Whether nothing is under way.
    pub(super) fn settle_now(&mut self) -> bool {
        let mut cx = Context::from_waker(Waker::noop());
        coop::with_unconstrained(|| self.poll_settle(&mut cx)).is_ready()
    }

    fn poll_settle(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let State::Busy(_) = self.state {
            match ready!(self.poll_back(cx)) {
                Ok(Done::Wrote(outcome)) => self.keep_write_error(outcome),
                Ok(Done::Sought(outcome)) => self.keep_seek(outcome),
                // What was read is in the buffer; if it failed, it will again.
                Ok(Done::Read(_) | Done::Resized(_)) => {}
                Err(lost) => self.keep_write_error(Err(lost)),
            }
        }
        Poll::Ready(())
    }

    /// Forgets what a cancelled read left. Returns how the cursor gets back to before it. Nothing must be under way.
    pub(super) fn unread(&mut self) -> Option<SeekFrom> {
        match &mut self.state {
            State::Idle(buf) => buf.unread(),
            State::Busy(_) => unreachable!("one thing at a time"),
        }
    }

    /// Moves the cursor back over what a cancelled read left. Nothing must be under way.
    pub(super) async fn give_back(&mut self, file: &Arc<File>) -> io::Result<()> {
        let State::Idle(buf) = &self.state else { unreachable!("one thing at a time") };
        if buf.is_empty() {
            return Ok(());
        }
        self.hand_over(file, |mut file, buf| match buf.unread() {
            Some(back) => Done::Sought(file.seek(back)),
            None => Done::Resized(Ok(())),
        });
        poll_fn(|cx| self.poll_back(cx)).await.map(drop)
    }

    /// Changes the length. Nothing must be under way.
    pub(super) async fn set_len(&mut self, file: &Arc<File>, size: u64) -> io::Result<()> {
        self.hand_over(file, move |mut file, buf| {
            let back = buf.unread().map_or(Ok(0), |back| file.seek(back));
            Done::Resized(back.and_then(|_| file.set_len(size)))
        });
        match poll_fn(|cx| self.poll_back(cx)).await? {
            Done::Resized(outcome) => outcome,
            _ => unreachable!("the desk was ours all the while"),
        }
    }
}
