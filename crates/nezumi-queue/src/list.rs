//! A doubly linked list of nodes that live in their owners: waiting futures, timers, I/O waiters.
//!
//! Called by whoever keeps waiters under a lock (`nezumi-sync`, `nezumi-core::timer`, `nezumi-core::driver`). Knows
//! neither what the nodes wait for nor the lock. Every operation is O(1) and allocates nothing.
//!
//! Promise: a node is in at most one list; [`LinkedList::remove`] finds out by itself whether it is in one, so that the
//! drop of a waiter may call it always; and a node can be taken out of the middle of a wake-all loop while that loop has
//! released the lock to wake others ([`Drained`]).
//!
//! Who may touch what: the links of a node belong to the holder of the lock that guards the list, from the push until
//! the node has come out again. All of them are `nezumi_prim` cells, so that a model sees an access outside the lock.
//!
//! How removal needs no search: a node's two links are null outside a list, and never null inside one: at the ends of a
//! [`LinkedList`] stands the mark `END`, and a [`Drained`] list is a circle through a sentinel. So a node knows that it
//! is linked; an `END` beside it says that the head or tail of the list is to be mended, and anything else is a
//! neighbour to be mended, whichever of the two lists it hangs in.
//!
//! Tests: `property::behaves_like_a_deque`, `a_node_leaves_a_drained_list`, `a_dropped_drain_unlinks_the_rest`.

use nezumi_prim::cell::UnsafeCell;
use nezumi_prim::sync::Mutex;
use std::fmt;
use std::marker::{PhantomData, PhantomPinned};
use std::mem::align_of;
use std::pin::Pin;
use std::ptr::{self, NonNull};

/// A type that can hang in a [`LinkedList`], by a field of type [`Links`].
///
/// # Safety
///
/// `OFFSET` must be that of a field of type [`Links`] inside `Self` (`std::mem::offset_of!(Self, links)`), and nothing
/// but this module touches that field.
pub unsafe trait Link: Sized {
    /// Where in `Self` the [`Links`] are, in bytes.
    const OFFSET: usize;
}

/// The two links of a node. Makes the node `!Unpin`, since its neighbours point at it.
pub struct Links {
    cell: UnsafeCell<Pair>,
    _pin: PhantomPinned,
}

#[derive(Clone, Copy)]
struct Pair {
    prev: *mut Links,
    next: *mut Links,
}

/// What stands beside the first and the last node of a [`LinkedList`]: neither null nor an address.
const END: *mut Links = ptr::without_provenance_mut(align_of::<Links>());
const UNLINKED: Pair = Pair { prev: ptr::null_mut(), next: ptr::null_mut() };

// SAFETY: the pointers are only followed under the contract of the list's operations: by the holder of the list's lock.
unsafe impl Send for Links {}
// SAFETY: as above; through `&Links` alone nothing is read or written.
unsafe impl Sync for Links {}

impl Links {
    /// The links of a node in no list.
    #[must_use]
    pub fn new() -> Self {
        Self { cell: UnsafeCell::new(UNLINKED), _pin: PhantomPinned }
    }
}

impl Default for Links {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Links {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Links")
    }
}

/// # Safety
///
/// `links` points to live `Links` that the caller may read (module header).
unsafe fn get(links: *mut Links) -> Pair {
    // SAFETY: handed on.
    unsafe { (*links).cell.with(|pair| *pair) }
}

/// # Safety
///
/// `links` points to live `Links` that the caller may write (module header).
unsafe fn change(links: *mut Links, f: impl FnOnce(&mut Pair)) {
    // SAFETY: handed on; the reference ends with the call, and `f` below only assigns.
    unsafe { (*links).cell.with_mut(|pair| f(&mut *pair)) }
}

fn links_of<T: Link>(node: NonNull<T>) -> *mut Links {
    // In bounds by the contract of `Link`; the pointer keeps the provenance of the whole node for the way back.
    node.as_ptr().cast::<u8>().wrapping_add(T::OFFSET).cast()
}

/// # Safety
///
/// `links` came out of `links_of::<T>`.
unsafe fn node_of<T: Link>(links: *mut Links) -> NonNull<T> {
    // SAFETY: undoes `links_of`, which started from a non-null pointer.
    unsafe { NonNull::new_unchecked(links.cast::<u8>().wrapping_sub(T::OFFSET).cast()) }
}

/// An intrusive doubly linked list. Owns its order, not its nodes.
///
/// Dropping it leaves the nodes as they are: whoever owns both takes the nodes out first, or never touches them again.
pub struct LinkedList<T: Link> {
    head: *mut Links,
    tail: *mut Links,
    _nodes: PhantomData<NonNull<T>>,
}

// SAFETY: the list is a pair of addresses; what is done with the nodes is the callers' contract, and to move the list to
// another thread hands out nodes there, which `T: Send` allows.
unsafe impl<T: Link + Send> Send for LinkedList<T> {}
// SAFETY: through `&LinkedList` one can only compare and copy addresses.
unsafe impl<T: Link + Send> Sync for LinkedList<T> {}

impl<T: Link> Default for LinkedList<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Link> fmt::Debug for LinkedList<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LinkedList").field("is_empty", &self.is_empty()).finish()
    }
}

impl<T: Link> LinkedList<T> {
    /// An empty list.
    #[must_use]
    pub const fn new() -> Self {
        Self { head: END, tail: END, _nodes: PhantomData }
    }

    /// Whether no node is in it.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.head == END
    }

    /// The first node, left where it is.
    #[inline]
    #[must_use]
    pub fn front(&self) -> Option<NonNull<T>> {
        // SAFETY: what is not END was put there by a push, from `links_of`.
        (self.head != END).then(|| unsafe { node_of(self.head) })
    }

    /// The last node, left where it is.
    #[inline]
    #[must_use]
    pub fn back(&self) -> Option<NonNull<T>> {
        // SAFETY: as in `front`.
        (self.tail != END).then(|| unsafe { node_of(self.tail) })
    }

    /// Puts `node` before all others.
    ///
    /// # Safety
    ///
    /// `node` is in no list. Until it has come out of this one it is neither moved nor freed, and its links are
    /// touched only through this list and under the lock that guards it.
    pub unsafe fn push_front(&mut self, node: NonNull<T>) {
        let new = links_of(node);
        // SAFETY: the contract makes the links ours, and those of `head` too, which is in this list.
        unsafe {
            debug_assert!(get(new).prev.is_null(), "the node is in a list already");
            change(new, |pair| *pair = Pair { prev: END, next: self.head });
            if self.head == END {
                self.tail = new;
            } else {
                change(self.head, |pair| pair.prev = new);
            }
        }
        self.head = new;
    }

    /// Puts `node` after all others.
    ///
    /// # Safety
    ///
    /// As for [`push_front`](Self::push_front).
    pub unsafe fn push_back(&mut self, node: NonNull<T>) {
        let new = links_of(node);
        // SAFETY: the contract makes the links ours, and those of `tail` too, which is in this list.
        unsafe {
            debug_assert!(get(new).prev.is_null(), "the node is in a list already");
            change(new, |pair| *pair = Pair { prev: self.tail, next: END });
            if self.tail == END {
                self.head = new;
            } else {
                change(self.tail, |pair| pair.next = new);
            }
        }
        self.tail = new;
    }

    /// Takes the first node out.
    pub fn pop_front(&mut self) -> Option<NonNull<T>> {
        let node = self.front()?;
        // SAFETY: it is in this list, and `&mut self` stands for the lock (contract of the pushes).
        unsafe { self.unlink(links_of(node)) };
        Some(node)
    }

    /// Takes the last node out.
    pub fn pop_back(&mut self) -> Option<NonNull<T>> {
        let node = self.back()?;
        // SAFETY: it is in this list, and `&mut self` stands for the lock (contract of the pushes).
        unsafe { self.unlink(links_of(node)) };
        Some(node)
    }

    /// Takes `node` out, wherever in the list it is. Returns whether it was in one.
    ///
    /// # Safety
    ///
    /// `node` is live, and in no list, or in this one, or in a [`Drained`] that was filled from this one. The caller holds
    /// the lock that guards both.
    pub unsafe fn remove(&mut self, node: NonNull<T>) -> bool {
        let links = links_of(node);
        // SAFETY: the contract lets us read the links, and `unlink` is called only for a node that is in a list.
        unsafe {
            if get(links).prev.is_null() {
                return false;
            }
            self.unlink(links);
        }
        true
    }

    /// Takes the nodes out, from front to back, for which `chosen` says yes.
    ///
    /// The nodes that the iterator has not reached when it is dropped stay.
    pub fn extract_if<F: FnMut(NonNull<T>) -> bool>(&mut self, chosen: F) -> ExtractIf<'_, T, F> {
        ExtractIf { next: self.head, list: self, chosen }
    }

    /// Moves every node into `drained`, which must be empty, in the same order.
    ///
    /// # Safety
    ///
    /// The caller holds the mutex that `drained` was made for, and that mutex guards this list.
    pub unsafe fn drain_into<L>(&mut self, mut drained: Pin<&mut Drained<'_, T, L>>) {
        let sentinel = drained.as_mut().sentinel();
        // SAFETY: the lock is held, so the links of both lists are ours; the sentinel is pinned until `Drained` is dropped,
        // which unlinks what is left.
        unsafe {
            debug_assert!(get(sentinel).prev.is_null(), "a list is drained into an empty one");
            if self.is_empty() {
                return;
            }
            change(sentinel, |pair| *pair = Pair { prev: self.tail, next: self.head });
            change(self.head, |pair| pair.prev = sentinel);
            change(self.tail, |pair| pair.next = sentinel);
        }
        *self = Self::new();
        // SAFETY: the flag is no part of what is pinned, and the lock is held.
        unsafe { drained.get_unchecked_mut().filled = true };
    }

    /// # Safety
    ///
    /// `links` is in this list, or in one drained from it, and the lock is held.
    unsafe fn unlink(&mut self, links: *mut Links) {
        // SAFETY: by contract these links and those of the neighbours are ours.
        unsafe {
            let Pair { prev, next } = get(links);
            if prev == END {
                debug_assert!(self.head == links, "the node is in another list");
                self.head = next;
            } else {
                change(prev, |pair| pair.next = next);
            }
            if next == END {
                debug_assert!(self.tail == links, "the node is in another list");
                self.tail = prev;
            } else {
                change(next, |pair| pair.prev = prev);
            }
            change(links, |pair| *pair = UNLINKED);
        }
    }
}

/// What [`LinkedList::extract_if`] returns.
pub struct ExtractIf<'a, T: Link, F> {
    list: &'a mut LinkedList<T>,
    next: *mut Links,
    chosen: F,
}

impl<T: Link, F> fmt::Debug for ExtractIf<'_, T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ExtractIf")
    }
}

impl<T: Link, F: FnMut(NonNull<T>) -> bool> Iterator for ExtractIf<'_, T, F> {
    type Item = NonNull<T>;

    fn next(&mut self) -> Option<NonNull<T>> {
        while self.next != END {
            let links = self.next;
            // SAFETY: `links` is in the list, which is borrowed for as long as we are, and came out of `links_of`.
            let node = unsafe {
                self.next = get(links).next;
                node_of(links)
            };
            if (self.chosen)(node) {
                // SAFETY: still in the list; the next one was read before.
                unsafe { self.list.unlink(links) };
                return Some(node);
            }
        }
        None
    }
}

/// The nodes of a wake-all loop that are still to be woken.
///
/// Pin it to the stack, fill it under the lock with [`LinkedList::drain_into`], and pop from it batch by batch, releasing
/// the lock to wake each batch. A node whose owner goes away in the meantime takes itself out through
/// [`LinkedList::remove`]; nodes that come to wait meanwhile go into the list itself and are not met by the loop. If the loop
/// is left early, by a panicking waker, the rest is unlinked under the lock and otherwise left alone: mark nodes as woken
/// before the loop, or go on in a drop guard, where that is not enough.
///
/// ```ignore
/// let mut drained = pin!(Drained::new(&self.waiters));
/// let mut waiters = self.waiters.lock();
/// unsafe { waiters.drain_into(drained.as_mut()) };
/// let mut wakers = WakeList::new();
/// loop {
///     while wakers.can_push() {
///         let Some(waiter) = (unsafe { drained.as_mut().pop_front() }) else {
///             drop(waiters);
///             return wakers.wake_all();
///         };
///         // ... note on the waiter that it was woken, and push its waker
///     }
///     drop(waiters);
///     wakers.wake_all();
///     waiters = self.waiters.lock();
/// }
/// ```
pub struct Drained<'a, T: Link, L> {
    /// Null links: empty, and the nodes know nothing of us any more.
    sentinel: Links,
    /// Whether nodes may still point at the sentinel. Written by the loop's thread alone, under the lock.
    filled: bool,
    lock: &'a Mutex<L>,
    _nodes: PhantomData<NonNull<T>>,
}

impl<'a, T: Link, L> Drained<'a, T, L> {
    /// An empty one, for a list that `lock` guards.
    #[must_use]
    pub fn new(lock: &'a Mutex<L>) -> Self {
        Self { sentinel: Links::new(), filled: false, lock, _nodes: PhantomData }
    }
}

impl<T: Link, L> Drained<'_, T, L> {
    /// Takes the first node out.
    ///
    /// # Safety
    ///
    /// The caller holds the mutex that this was made for.
    pub unsafe fn pop_front(mut self: Pin<&mut Self>) -> Option<NonNull<T>> {
        if !self.filled {
            return None;
        }
        let sentinel = self.as_mut().sentinel();
        // SAFETY: the lock is held, and a filled circle is made of the sentinel and of linked, hence live, nodes.
        unsafe {
            let first = get(sentinel).next;
            if first == sentinel {
                change(sentinel, |pair| *pair = UNLINKED);
                self.get_unchecked_mut().filled = false;
                return None;
            }
            let after = get(first).next;
            change(sentinel, |pair| pair.next = after);
            change(after, |pair| pair.prev = sentinel);
            change(first, |pair| *pair = UNLINKED);
            Some(node_of(first))
        }
    }

    fn sentinel(self: Pin<&mut Self>) -> *mut Links {
        // SAFETY: nothing is moved out of the reference.
        unsafe { &raw mut self.get_unchecked_mut().sentinel }
    }
}

impl<T: Link, L> Drop for Drained<'_, T, L> {
    fn drop(&mut self) {
        if self.filled {
            let _held = self.lock.lock();
            // SAFETY: it was pinned when it was filled, and is not moved in its drop; the lock is held.
            unsafe { while Pin::new_unchecked(&mut *self).pop_front().is_some() {} }
        }
    }
}

impl<T: Link, L> fmt::Debug for Drained<'_, T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drained").field("filled", &self.filled).finish()
    }
}

#[cfg(all(test, not(any(nezumi_loom, nezumi_shuttle))))]
mod tests {
    use super::{Drained, Link, LinkedList, Links};
    use nezumi_prim::sync::Mutex;
    use std::collections::VecDeque;
    use std::mem::offset_of;
    use std::pin::pin;
    use std::ptr::NonNull;

    struct Node {
        value: u32,
        links: Links,
    }

    // SAFETY: the offset is the field's, which only the list touches.
    unsafe impl Link for Node {
        const OFFSET: usize = offset_of!(Node, links);
    }

    /// Nodes that stay where they are, and the pointers to them.
    fn nodes(count: u32) -> Vec<NonNull<Node>> {
        (0..count)
            .map(|value| NonNull::from(Box::leak(Box::new(Node { value, links: Links::new() }))))
            .collect()
    }

    fn free(nodes: Vec<NonNull<Node>>) {
        for node in nodes {
            // SAFETY: leaked by `nodes`, freed once, at the end of a test.
            drop(unsafe { Box::from_raw(node.as_ptr()) });
        }
    }

    fn value(node: NonNull<Node>) -> u32 {
        // SAFETY: the tests keep their nodes until they call `free`.
        unsafe { (*node.as_ptr()).value }
    }

    #[derive(Clone, Copy, Debug)]
    enum Op {
        PushFront(u32),
        PushBack(u32),
        PopFront,
        PopBack,
        Remove(u32),
        ExtractEven,
    }

    fn check(ops: &[Op]) {
        let nodes = nodes(8);
        let mut list = LinkedList::new();
        let mut deque = VecDeque::new();
        for &op in ops {
            match op {
                // SAFETY (all): one thread; a node is pushed only if the reference says that it is in no list.
                Op::PushFront(n) if !deque.contains(&n) => {
                    deque.push_front(n);
                    // SAFETY: as said above.
                    unsafe { list.push_front(nodes[n as usize]) }
                }
                Op::PushBack(n) if !deque.contains(&n) => {
                    deque.push_back(n);
                    // SAFETY: as said above.
                    unsafe { list.push_back(nodes[n as usize]) }
                }
                Op::PushFront(_) | Op::PushBack(_) => {}
                Op::PopFront => assert_eq!(list.pop_front().map(value), deque.pop_front()),
                Op::PopBack => assert_eq!(list.pop_back().map(value), deque.pop_back()),
                Op::Remove(n) => {
                    let linked = deque.contains(&n);
                    deque.retain(|&other| other != n);
                    // SAFETY: the node is live, and in no other list.
                    assert_eq!(unsafe { list.remove(nodes[n as usize]) }, linked);
                }
                Op::ExtractEven => {
                    let out: Vec<u32> = list.extract_if(|node| value(node) % 2 == 0).map(value).collect();
                    let even: Vec<u32> = deque.iter().copied().filter(|n| n % 2 == 0).collect();
                    deque.retain(|n| n % 2 != 0);
                    assert_eq!(out, even);
                }
            }
            assert_eq!(list.is_empty(), deque.is_empty());
            assert_eq!(list.front().map(value), deque.front().copied());
            assert_eq!(list.back().map(value), deque.back().copied());
        }
        while let Some(node) = list.pop_front() {
            assert_eq!(Some(value(node)), deque.pop_front());
        }
        assert!(deque.is_empty());
        free(nodes);
    }

    #[cfg(not(miri))]
    mod property {
        use super::{Op, check};
        use proptest::prelude::*;

        fn op() -> impl Strategy<Value = Op> {
            prop_oneof![
                3 => (0..8u32).prop_map(Op::PushFront),
                3 => (0..8u32).prop_map(Op::PushBack),
                1 => Just(Op::PopFront),
                1 => Just(Op::PopBack),
                3 => (0..8u32).prop_map(Op::Remove),
                1 => Just(Op::ExtractEven),
            ]
        }

        proptest! {
            #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

            #[test]
            fn behaves_like_a_deque(ops in proptest::collection::vec(op(), 0..64)) {
                check(&ops);
            }
        }
    }

    #[test]
    fn a_list_of_two_and_back() {
        use Op::{ExtractEven, PopBack, PopFront, PushBack, PushFront, Remove};
        check(&[PushBack(0), PushFront(1), Remove(0), PushBack(0), Remove(1), PopBack, PopFront]);
        check(&[
            PushFront(2),
            PushFront(3),
            PushBack(4),
            ExtractEven,
            PushBack(2),
            Remove(2),
            Remove(2),
            PopFront,
        ]);
    }

    #[test]
    fn a_node_leaves_a_drained_list() {
        // Which of five nodes goes away during the loop: the first, one in the middle, the last, all.
        for gone in [&[0][..], &[2], &[4], &[0, 1, 2, 3, 4]] {
            let nodes = nodes(6);
            let lock = Mutex::new(LinkedList::new());
            let mut drained = pin!(Drained::new(&lock));
            let mut list = lock.lock();
            // SAFETY: the nodes are live and unlinked, and the lock is held throughout.
            unsafe {
                nodes[..5].iter().for_each(|&node| list.push_back(node));
                list.drain_into(drained.as_mut());
                assert!(list.is_empty());
                list.push_back(nodes[5]);
                for &n in gone {
                    assert!(list.remove(nodes[n]));
                    assert!(!list.remove(nodes[n]));
                }
                let mut rest = Vec::new();
                while let Some(node) = drained.as_mut().pop_front() {
                    rest.push(value(node) as usize);
                }
                assert_eq!(rest, (0..5).filter(|n| !gone.contains(n)).collect::<Vec<_>>());
                assert!(drained.as_mut().pop_front().is_none());
                assert_eq!(list.pop_front(), Some(nodes[5]), "who came later waits in the list");
            }
            drop(list);
            free(nodes);
        }
    }

    #[test]
    fn a_dropped_drain_unlinks_the_rest() {
        let nodes = nodes(3);
        let lock = Mutex::new(LinkedList::new());
        {
            let mut drained = pin!(Drained::new(&lock));
            let mut list = lock.lock();
            // SAFETY: the nodes are live and unlinked, and the lock is held.
            unsafe {
                nodes.iter().for_each(|&node| list.push_back(node));
                list.drain_into(drained.as_mut());
                assert_eq!(drained.as_mut().pop_front(), Some(nodes[0]));
            }
        }
        for &node in &nodes {
            // SAFETY: live nodes, and the lock is held.
            assert!(!unsafe { lock.lock().remove(node) });
        }
        free(nodes);
    }

    #[test]
    fn draining_nothing_is_nothing() {
        let lock = Mutex::new(LinkedList::<Node>::new());
        let mut drained = pin!(Drained::new(&lock));
        // SAFETY: the lock is held in both calls.
        unsafe {
            lock.lock().drain_into(drained.as_mut());
            let _held = lock.lock();
            assert!(drained.as_mut().pop_front().is_none());
        }
    }
}
