//! The buffer a reader reads into.
//!
//! Called by every `poll_read`. Knows nothing of readers.
//!
//! Promise: safe code can fill it, shrink it, zero it and hand parts of it on, and never sees a byte that nobody wrote.
//!
//! ```text
//! 0        filled        initialized        capacity
//! | filled | unfilled, initialized | uninitialized |
//!          | ------------ unfilled --------------- |
//! ```
//!
//! `filled <= initialized <= capacity` always. `initialized` never shrinks, so zeroing is paid once per byte however
//! often the buffer is used again.
//!
//! A reader gets `&mut ReadBuf` and may put an unrelated `ReadBuf` in its place (`mem::swap` is safe code). Whoever owns
//! the memory and wants to believe the counters asks [`ReadBuf::origin`] before and after.
//!
//! Tests: `follows_a_plain_reference` (property, and from seeds under Miri), `capacity_is_never_exceeded`, `a_swapped_buffer_is_recognised`.

use bytes::BufMut;
use bytes::buf::UninitSlice;
use std::fmt;
use std::mem::MaybeUninit;

/// A borrowed byte buffer that is filled step by step and need not be initialized beforehand.
///
/// It remembers two marks: bytes up to the first are *filled*, that is, read; bytes up to the second are *initialized*,
/// that is, known to hold some value. Filled bytes are always initialized. A reader either copies into the buffer with
/// [`put_slice`](Self::put_slice), or lets something else write into
/// [`initialize_unfilled`](Self::initialize_unfilled) and then [`advance`](Self::advance)s; only in the second case is
/// memory zeroed, and each byte at most once.
///
/// # Examples
///
/// ```
/// use nezumi::io::ReadBuf;
/// use std::mem::MaybeUninit;
///
/// let mut memory = [MaybeUninit::uninit(); 8];
/// let mut buf = ReadBuf::uninit(&mut memory);
/// buf.put_slice(b"abc");
/// buf.initialize_unfilled()[0] = b'd';
/// buf.advance(1);
/// assert_eq!(buf.filled(), b"abcd");
/// assert_eq!(buf.remaining(), 4);
/// ```
pub struct ReadBuf<'a> {
    memory: &'a mut [MaybeUninit<u8>],
    filled: usize,
    initialized: usize,
}

impl<'a> ReadBuf<'a> {
    /// An empty buffer over memory that is initialized throughout.
    #[inline]
    pub fn new(buf: &'a mut [u8]) -> ReadBuf<'a> {
        let initialized = buf.len();
        // SAFETY: `MaybeUninit<u8>` has the layout of `u8`. The borrow of `buf` is moved in, and of the methods that hand
        // out `MaybeUninit`s the safe ones mark no byte uninitialized and the unsafe ones make that their caller's debt.
        let memory = unsafe { &mut *(std::ptr::from_mut(buf) as *mut [MaybeUninit<u8>]) };
        ReadBuf { memory, filled: 0, initialized }
    }

    /// An empty buffer over memory of which nothing is known to be initialized.
    ///
    /// Use [`assume_init`](Self::assume_init) if part of it is.
    #[inline]
    pub fn uninit(buf: &'a mut [MaybeUninit<u8>]) -> ReadBuf<'a> {
        ReadBuf { memory: buf, filled: 0, initialized: 0 }
    }

    /// How many bytes the buffer holds when it is full.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.memory.len()
    }

    /// The bytes that have been read.
    #[inline]
    pub fn filled(&self) -> &[u8] {
        // SAFETY: `filled <= initialized`.
        unsafe { written(&self.memory[..self.filled]) }
    }

    /// The bytes that have been read, to be changed in place.
    #[inline]
    pub fn filled_mut(&mut self) -> &mut [u8] {
        // SAFETY: `filled <= initialized`.
        unsafe { written_mut(&mut self.memory[..self.filled]) }
    }

    /// A buffer of its own over the first `n` unfilled bytes, or over all of them if there are fewer.
    ///
    /// What is read into it does not count for `self` until its owner says so with [`assume_init`](Self::assume_init) and
    /// [`advance`](Self::advance).
    #[inline]
    pub fn take(&mut self, n: usize) -> ReadBuf<'_> {
        let n = n.min(self.remaining());
        let initialized = n.min(self.initialized - self.filled);
        ReadBuf { memory: &mut self.memory[self.filled..][..n], filled: 0, initialized }
    }

    /// The bytes known to hold a value: those read, and those after them that were written before.
    #[inline]
    pub fn initialized(&self) -> &[u8] {
        // SAFETY: this is what `initialized` says.
        unsafe { written(&self.memory[..self.initialized]) }
    }

    /// As [`initialized`](Self::initialized), to be changed in place.
    #[inline]
    pub fn initialized_mut(&mut self) -> &mut [u8] {
        // SAFETY: this is what `initialized` says.
        unsafe { written_mut(&mut self.memory[..self.initialized]) }
    }

    /// The whole memory, whether initialized or not.
    ///
    /// Who initializes some of it tells the buffer with [`assume_init`](Self::assume_init).
    ///
    /// # Safety
    ///
    /// No byte may be made uninitialized, not even one that the buffer believes to be so already.
    #[inline]
    pub unsafe fn inner_mut(&mut self) -> &mut [MaybeUninit<u8>] {
        self.memory
    }

    /// The memory after the filled part, whether initialized or not.
    ///
    /// # Safety
    ///
    /// No byte may be made uninitialized, not even one that the buffer believes to be so already.
    #[inline]
    pub unsafe fn unfilled_mut(&mut self) -> &mut [MaybeUninit<u8>] {
        &mut self.memory[self.filled..]
    }

    /// All of the unfilled part, after zeroing what of it was not initialized.
    #[inline]
    pub fn initialize_unfilled(&mut self) -> &mut [u8] {
        let n = self.remaining();
        self.initialize_unfilled_to(n)
    }

    /// The first `n` unfilled bytes, after zeroing what of them was not initialized.
    ///
    /// # Panics
    ///
    /// If `n` is more than [`remaining`](Self::remaining).
    #[inline]
    #[track_caller]
    pub fn initialize_unfilled_to(&mut self, n: usize) -> &mut [u8] {
        assert!(n <= self.remaining(), "n overflows remaining");
        let end = self.filled + n;
        if self.initialized < end {
            self.memory[self.initialized..end].fill(MaybeUninit::new(0));
            self.initialized = end;
        }
        // SAFETY: `end <= initialized`, by the lines above.
        unsafe { written_mut(&mut self.memory[self.filled..end]) }
    }

    /// How many bytes can still be read.
    #[inline]
    pub fn remaining(&self) -> usize {
        self.memory.len() - self.filled
    }

    /// Forgets what was read. What is initialized stays so.
    #[inline]
    pub fn clear(&mut self) {
        self.filled = 0;
    }

    /// Says that `n` more bytes have been read.
    ///
    /// # Panics
    ///
    /// If they are not all initialized.
    #[inline]
    #[track_caller]
    pub fn advance(&mut self, n: usize) {
        let filled = self.filled.checked_add(n).expect("filled overflow");
        self.set_filled(filled);
    }

    /// Says that the first `n` bytes of the buffer are what has been read. `n` may be less than before.
    ///
    /// # Panics
    ///
    /// If they are not all initialized.
    #[inline]
    #[track_caller]
    pub fn set_filled(&mut self, n: usize) {
        assert!(n <= self.initialized, "filled must not become larger than initialized");
        self.filled = n;
    }

    /// Says that the first `n` unfilled bytes are initialized. Never takes back what was known before.
    ///
    /// # Safety
    ///
    /// They must be, and there must be as many.
    #[inline]
    pub unsafe fn assume_init(&mut self, n: usize) {
        debug_assert!(n <= self.remaining(), "assume_init past the end of the buffer");
        self.initialized = self.initialized.max(self.filled + n);
    }

    /// Copies `buf` behind the filled part and counts it as read.
    ///
    /// # Panics
    ///
    /// If `buf` is longer than [`remaining`](Self::remaining).
    #[inline]
    #[track_caller]
    pub fn put_slice(&mut self, buf: &[u8]) {
        let (len, remaining) = (buf.len(), self.remaining());
        assert!(
            len <= remaining,
            "buf.len() must fit in remaining(); buf.len() = {len}, remaining() = {remaining}"
        );
        let end = self.filled + len;
        // SAFETY: `u8` and `MaybeUninit<u8>` have one layout, and a written byte is a fine `MaybeUninit`.
        let source = unsafe { &*(std::ptr::from_ref(buf) as *const [MaybeUninit<u8>]) };
        self.memory[self.filled..end].copy_from_slice(source);
        self.initialized = self.initialized.max(end);
        self.filled = end;
    }

    /// What tells this buffer from any other: compare it before and after a reader had the buffer.
    #[inline]
    pub(crate) fn origin(&self) -> Origin {
        Origin { start: self.memory.as_ptr(), capacity: self.memory.len() }
    }
}

/// Where a buffer's memory lies. Two buffers that are alive at once and not empty never have the same.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Origin {
    start: *const MaybeUninit<u8>,
    capacity: usize,
}

impl Origin {
    /// Panics unless `buf` is the buffer this was asked of.
    #[inline]
    #[track_caller]
    pub(crate) fn expect_same(self, buf: &ReadBuf<'_>) {
        assert!(
            self == buf.origin(),
            "the reader replaced the `ReadBuf` it was given: it must fill it in place"
        );
    }
}

// SAFETY: `chunk_mut` is the unfilled part, `remaining_mut` its length, and `advance_mut` moves its start; all by the same
// field.
unsafe impl BufMut for ReadBuf<'_> {
    #[inline]
    fn remaining_mut(&self) -> usize {
        self.remaining()
    }

    #[inline]
    unsafe fn advance_mut(&mut self, cnt: usize) {
        // SAFETY: the caller of `advance_mut` owes that `cnt` bytes of the chunk were initialized.
        unsafe { self.assume_init(cnt) };
        self.advance(cnt);
    }

    #[inline]
    fn chunk_mut(&mut self) -> &mut UninitSlice {
        UninitSlice::uninit(&mut self.memory[self.filled..])
    }
}

impl fmt::Debug for ReadBuf<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadBuf")
            .field("filled", &self.filled)
            .field("initialized", &self.initialized)
            .field("capacity", &self.capacity())
            .finish()
    }
}

/// # Safety
///
/// Every byte of `bytes` must have been written.
#[inline]
unsafe fn written(bytes: &[MaybeUninit<u8>]) -> &[u8] {
    // SAFETY: one layout, and the caller says that there are values.
    unsafe { &*(std::ptr::from_ref(bytes) as *const [u8]) }
}

/// # Safety
///
/// Every byte of `bytes` must have been written.
#[inline]
unsafe fn written_mut(bytes: &mut [MaybeUninit<u8>]) -> &mut [u8] {
    // SAFETY: as in `written`; through the result only values can be put in.
    unsafe { &mut *(std::ptr::from_mut(bytes) as *mut [u8]) }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::*;
    use nezumi_prim::FastRand;
    #[cfg(not(miri))]
    use proptest::prelude::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[derive(Clone, Debug)]
    enum Step {
        Put(Vec<u8>),
        Initialize(usize),
        Advance(usize),
        SetFilled(usize),
        Clear,
        Take(usize),
        BufMut(Vec<u8>),
    }

    #[cfg(not(miri))]
    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            prop::collection::vec(any::<u8>(), 0..6).prop_map(Step::Put),
            (0..12_usize).prop_map(Step::Initialize),
            (0..12_usize).prop_map(Step::Advance),
            (0..20_usize).prop_map(Step::SetFilled),
            Just(Step::Clear),
            (0..20_usize).prop_map(Step::Take),
            prop::collection::vec(any::<u8>(), 0..6).prop_map(Step::BufMut),
        ]
    }

    /// What the buffer should be: `None` for a byte never written.
    struct Reference {
        bytes: Vec<Option<u8>>,
        filled: usize,
        initialized: usize,
    }

    impl Reference {
        fn put(&mut self, bytes: &[u8]) {
            for &byte in bytes {
                self.bytes[self.filled] = Some(byte);
                self.filled += 1;
            }
            self.initialized = self.initialized.max(self.filled);
        }

        fn initialize(&mut self, n: usize) {
            for byte in self.bytes[..self.filled + n].iter_mut().skip(self.initialized) {
                *byte = Some(0);
            }
            self.initialized = self.initialized.max(self.filled + n);
        }

        fn agrees_with(&self, buf: &ReadBuf<'_>) {
            let values = |n: usize| self.bytes[..n].iter().map(|b| b.unwrap()).collect::<Vec<_>>();
            assert_eq!(buf.filled(), values(self.filled));
            assert_eq!(buf.initialized(), values(self.initialized));
            assert_eq!(buf.capacity(), self.bytes.len());
            assert_eq!(buf.remaining(), self.bytes.len() - self.filled);
        }
    }

    /// Takes the step on both; both refuse or both go on.
    fn take_step(buf: &mut ReadBuf<'_>, reference: &mut Reference, step: &Step) {
        let room = buf.remaining();
        let allowed = match step {
            Step::Put(bytes) => bytes.len() <= room,
            Step::BufMut(_) | Step::Clear | Step::Take(_) => true,
            Step::Initialize(n) => *n <= room,
            Step::Advance(n) => reference.filled + n <= reference.initialized,
            Step::SetFilled(n) => *n <= reference.initialized,
        };
        let done = catch_unwind(AssertUnwindSafe(|| match step {
            Step::Put(bytes) => buf.put_slice(bytes),
            Step::Initialize(n) => assert_eq!(buf.initialize_unfilled_to(*n).len(), *n),
            Step::Advance(n) => buf.advance(*n),
            Step::SetFilled(n) => buf.set_filled(*n),
            Step::Clear => buf.clear(),
            Step::Take(n) => {
                let part = buf.take(*n);
                assert_eq!(part.capacity(), room.min(*n));
                assert_eq!((part.filled().len(), part.remaining()), (0, part.capacity()));
                assert!(part.initialized().len() <= part.capacity());
            }
            Step::BufMut(bytes) => buf.put(&bytes[..bytes.len().min(room)]),
        }));
        assert_eq!(done.is_ok(), allowed, "{step:?}");
        if allowed {
            match step {
                Step::Put(bytes) => reference.put(bytes),
                Step::BufMut(bytes) => reference.put(&bytes[..bytes.len().min(room)]),
                Step::Initialize(n) => reference.initialize(*n),
                Step::Advance(n) => reference.filled += n,
                Step::SetFilled(n) => reference.filled = *n,
                Step::Clear => reference.filled = 0,
                Step::Take(_) => {}
            }
        }
        reference.agrees_with(buf);
    }

    #[cfg(not(miri))] // Generating the cases takes Miri minutes.
    proptest! {
        #![proptest_config(crate::script::cases(256))]

        #[test]
        fn follows_a_plain_reference(
            uninit in any::<bool>(),
            steps in prop::collection::vec(step(), 0..24),
        ) {
            check(uninit, &steps);
        }
    }

    fn check(uninit: bool, steps: &[Step]) {
        let mut bytes = [7_u8; 16];
        let mut memory = [MaybeUninit::uninit(); 16];
        let mut buf = if uninit { ReadBuf::uninit(&mut memory) } else { ReadBuf::new(&mut bytes) };
        let mut reference = if uninit {
            Reference { bytes: vec![None; 16], filled: 0, initialized: 0 }
        } else {
            Reference { bytes: vec![Some(7); 16], filled: 0, initialized: 16 }
        };
        for step in steps {
            take_step(&mut buf, &mut reference, step);
        }
    }

    /// The same, made up by something that Miri is quick at.
    #[test]
    fn follows_a_plain_reference_from_a_seed() {
        for seed in 0..if cfg!(miri) { 24 } else { 1000 } {
            let rand = FastRand::new(seed);
            let below = |n| rand.below(n) as usize;
            let bytes = || (0..below(6)).map(|_| rand.next_u64() as u8).collect();
            let steps: Vec<_> = (0..12)
                .map(|_| match below(7) {
                    0 => Step::Put(bytes()),
                    1 => Step::Initialize(below(12)),
                    2 => Step::Advance(below(12)),
                    3 => Step::SetFilled(below(20)),
                    4 => Step::Clear,
                    5 => Step::Take(below(20)),
                    _ => Step::BufMut(bytes()),
                })
                .collect();
            check(seed % 2 == 0, &steps);
        }
    }

    #[track_caller]
    fn panics_with(phrase: &str, f: impl FnOnce()) {
        let payload = catch_unwind(AssertUnwindSafe(f)).unwrap_err();
        let text = payload.downcast_ref::<String>().cloned();
        let text = text.unwrap_or_else(|| (*payload.downcast_ref::<&str>().unwrap()).to_owned());
        assert_eq!(text, phrase);
    }

    #[test]
    fn capacity_is_never_exceeded() {
        let mut memory = [MaybeUninit::uninit(); 4];
        let mut buf = ReadBuf::uninit(&mut memory);
        panics_with("n overflows remaining", || {
            buf.initialize_unfilled_to(5);
        });
        panics_with("filled must not become larger than initialized", || buf.advance(1));
        panics_with("filled must not become larger than initialized", || buf.set_filled(1));
        panics_with("buf.len() must fit in remaining(); buf.len() = 5, remaining() = 4", || {
            buf.put_slice(b"12345");
        });
        buf.put_slice(b"1");
        panics_with("filled overflow", || buf.advance(usize::MAX));
        assert_eq!(buf.filled(), b"1");
        assert_eq!(format!("{buf:?}"), "ReadBuf { filled: 1, initialized: 1, capacity: 4 }");
    }

    #[test]
    fn what_was_initialized_is_not_zeroed_again() {
        let mut memory = [MaybeUninit::uninit(); 4];
        let mut buf = ReadBuf::uninit(&mut memory);
        buf.initialize_unfilled_to(2).copy_from_slice(b"xy");
        assert_eq!(buf.initialize_unfilled(), b"xy\0\0");
        buf.set_filled(3);
        buf.filled_mut()[0] = b'z';
        buf.clear();
        buf.initialized_mut()[3] = b'!';
        assert_eq!(buf.initialized(), b"zy\0!");
        assert_eq!(buf.take(9).initialized(), b"zy\0!");
    }

    #[test]
    fn a_swapped_buffer_is_recognised() {
        let mut own = [0; 4];
        let mut foreign = [0; 4];
        let mut buf = ReadBuf::new(&mut own);
        let origin = buf.origin();
        origin.expect_same(&buf);
        buf = ReadBuf::new(&mut foreign);
        catch_unwind(AssertUnwindSafe(|| origin.expect_same(&buf))).unwrap_err();
    }
}
