use super::*;
use std::mem::MaybeUninit;

/// Notes readiness, has `events` come, then clears what was noted. Returns whether it is gone.
fn cleared_after(start: Word, says: Readiness, events: usize) -> bool {
    let slot = Slot::with_word(start);
    dispatch(&slot, Readiness::READABLE);
    let event = slot.word().event(Readiness::READ);
    for _ in 0..events {
        dispatch(&slot, says);
    }
    slot.clear(event);
    slot.word().readiness() & Readiness::READ == Readiness::EMPTY
}

#[test]
fn a_newer_event_is_never_erased_however_many_came() {
    let counts: &[usize] =
        if cfg!(miri) { &[1, 256] } else { &[1, 2, 255, 256, 257, 32_767, 32_768, 65_535, 65_536, 65_537] };
    for start in [Word::NEW, Word::NEW.with_ticks(u32::MAX, u32::MAX), Word::NEW.with_ticks(u32::MAX - 2, 0)]
    {
        assert!(cleared_after(start, Readiness::READABLE, 0));
        for &count in counts {
            assert!(!cleared_after(start, Readiness::READABLE, count), "{count} events");
        }
    }
}

#[test]
fn the_tick_aliases_after_2_to_the_24_and_not_before() {
    if cfg!(miri) {
        return;
    }
    assert!(!cleared_after(Word::NEW, Readiness::READABLE, (1 << 24) - 1));
    assert!(cleared_after(Word::NEW, Readiness::READABLE, 1 << 24), "the tick is wider than documented");
}

#[test]
fn events_about_writing_do_not_keep_a_reader_from_clearing() {
    for count in [1, 100] {
        assert!(cleared_after(Word::NEW, Readiness::WRITABLE, count));
    }
}

#[test]
fn closed_is_not_cleared() {
    let slot = Slot::new();
    dispatch(&slot, Readiness::ALL);
    slot.clear(slot.word().event(Readiness::ALL));
    assert_eq!(slot.word().readiness(), Readiness::CLOSED);
}

#[test]
fn one_direction_is_cleared_without_the_other() {
    let slot = Slot::new();
    dispatch(&slot, Readiness::READABLE | Readiness::WRITABLE);
    slot.clear(slot.word().event(Readiness::WRITE));
    assert_eq!(slot.word().readiness(), Readiness::READABLE);
}

#[test]
fn a_reader_is_not_told_of_what_he_did_not_ask() {
    let slot = Slot::new();
    let (wakeups, waker) = Wakeups::new();
    assert!(slot.poll(Place::Reader, &waker).is_pending());
    dispatch(&slot, Readiness::WRITABLE | Readiness::WRITE_CLOSED | Readiness::ERROR);
    assert_eq!(wakeups.count(), 0);
    assert!(slot.poll(Place::Reader, &waker).is_pending());
    dispatch(&slot, Readiness::READABLE | Readiness::READ_CLOSED);
    assert_eq!(wakeups.count(), 1);
    let Poll::Ready(event) = slot.poll(Place::Reader, &waker) else { panic!("an event was lost") };
    assert_eq!(event.ready, Readiness::READ);
}

#[test]
fn of_two_readers_the_last_is_woken() {
    let slot = Slot::new();
    let ((first, first_waker), (last, last_waker)) = (Wakeups::new(), Wakeups::new());
    assert!(slot.poll(Place::Reader, &first_waker).is_pending());
    assert!(slot.poll(Place::Reader, &last_waker).is_pending());
    dispatch(&slot, Readiness::READABLE);
    assert_eq!((first.count(), last.count()), (0, 1));
}

/// The event comes when the first look has found nothing, and before the place's bit is set: nobody will wake the task.
#[test]
fn an_event_that_comes_while_the_waker_is_left_is_found() {
    struct DispatchesWhenCloned(Arc<Slot>);

    impl DispatchesWhenCloned {
        const VTABLE: RawWakerVTable =
            RawWakerVTable::new(Self::clone, Self::nothing, Self::nothing, Self::nothing);

        unsafe fn clone(this: *const ()) -> RawWaker {
            // SAFETY: the test keeps it for as long as its wakers.
            dispatch(unsafe { &(*this.cast::<Self>()).0 }, Readiness::READABLE | Readiness::WRITABLE);
            RawWaker::new(this, &Self::VTABLE)
        }

        unsafe fn nothing(_: *const ()) {}
    }

    for place in [Place::Reader, Place::Writer] {
        let source = DispatchesWhenCloned(Arc::new(Slot::new()));
        // SAFETY: the table's functions do what they are to, and `source` stays where it is.
        let waker = unsafe { Waker::new((&raw const source).cast(), &DispatchesWhenCloned::VTABLE) };
        assert!(source.0.poll(place, &waker).is_ready(), "the word was not looked at again");
        drop(source.0.leave(1));
    }
}

#[test]
fn every_waiter_of_64_is_woken_once() {
    let slot = Slot::new();
    let (wakeups, waker) = Wakeups::new();
    let mut cx = Context::from_waker(&waker);
    let mut wait_for = |wants| -> Vec<Pin<Box<Wait<'_>>>> {
        let mut waits: Vec<_> = (0..64).map(|_| Box::pin(Wait::new(&slot, wants))).collect();
        assert!(waits.iter_mut().all(|wait| wait.as_mut().poll(&mut cx).is_pending()));
        waits
    };
    let (mut readers, writers) = (wait_for(Readiness::READ), wait_for(Readiness::WRITE));
    dispatch(&slot, Readiness::READABLE);
    assert_eq!(wakeups.count(), 64, "the readers, and not the writers");
    // One of them is quick; for the others it was in vain.
    slot.clear(slot.word().event(Readiness::READ));
    assert!(readers.iter_mut().all(|wait| wait.as_mut().poll(&mut cx).is_pending()));
    dispatch(&slot, Readiness::READABLE);
    assert_eq!(wakeups.count(), 128);
    assert!(readers.iter_mut().all(|wait| wait.as_mut().poll(&mut cx).is_ready()));
    dispatch(&slot, Readiness::READABLE);
    assert_eq!(wakeups.count(), 128);
    drop((readers, writers));
    dispatch(&slot, Readiness::ALL);
    assert_eq!(wakeups.count(), 128, "who is gone is not woken");
}

#[test]
fn a_dropped_waiter_leaves_the_queue() {
    let slot = Slot::new();
    let (wakeups, waker) = Wakeups::new();
    let mut wait = Box::pin(Wait::new(&slot, Readiness::READ));
    assert!(wait.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    drop(waker);
    assert_eq!(Arc::strong_count(&wakeups), 2);
    drop(wait);
    assert_eq!(Arc::strong_count(&wakeups), 1);
    assert!(slot.queue.lock().is_empty());
}

#[test]
fn a_forgotten_waiter_does_not_outstay_the_owner() {
    let slot = Slot::new();
    let (wakeups, waker) = Wakeups::new();
    let mut wait = Box::pin(Wait::new(&slot, Readiness::READ));
    assert!(wait.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    // Pinned memory that is never dropped may stand in the queue for ever.
    // SAFETY: it is not moved, only given back in the end.
    let forgotten = Box::into_raw(unsafe { Pin::into_inner_unchecked(wait) });
    assert!(slot.poll(Place::Reader, &waker).is_pending());
    assert!(slot.poll(Place::Writer, &waker).is_pending());
    drop(waker);
    drop(slot.leave(1));
    assert_eq!(Arc::strong_count(&wakeups), 1);
    assert!(slot.queue.lock().is_empty());
    // SAFETY: it came out of a box, and nobody knows it any more. It is not dropped, but its memory is not lost.
    drop(unsafe { Box::from_raw(forgotten.cast::<MaybeUninit<Wait<'_>>>()) });
}

#[test]
fn the_end_wakes_everybody_and_meets_those_who_come_later() {
    let slot = Slot::new();
    let (wakeups, waker) = Wakeups::new();
    let mut cx = Context::from_waker(&waker);
    let mut wait = Box::pin(Wait::new(&slot, Readiness::PRIORITY));
    assert!(slot.poll(Place::Reader, &waker).is_pending());
    assert!(slot.poll(Place::Writer, &waker).is_pending());
    assert!(wait.as_mut().poll(&mut cx).is_pending());
    let mut wakes = Wakes::default();
    slot.shut_down(&mut wakes);
    wakes.wake_all();
    assert_eq!(wakeups.count(), 3);
    assert!(matches!(slot.poll(Place::Reader, &waker), Poll::Ready(event) if event.is_shut_down));
    assert!(matches!(wait.as_mut().poll(&mut cx), Poll::Ready(event) if event.is_shut_down));
}

#[test]
fn a_waker_may_come_back_to_the_slot() {
    let slot = Arc::new(Slot::new());
    let again = {
        let slot = slot.clone();
        then(move || {
            // Clears, waits again in every place, and leaves: all that needs a lock or a place.
            slot.clear(slot.word().event(Readiness::ALL));
            let mut wait = Box::pin(Wait::new(&slot, Readiness::READ));
            let mut cx = Context::from_waker(Waker::noop());
            assert!(wait.as_mut().poll(&mut cx).is_pending());
            let _ = slot.poll(Place::Reader, Waker::noop());
            dispatch(&slot, Readiness::WRITABLE);
        })
    };
    let mut wait = Box::pin(Wait::new(&slot, Readiness::READ));
    assert!(wait.as_mut().poll(&mut Context::from_waker(&again)).is_pending());
    assert!(slot.poll(Place::Reader, &again).is_pending());
    dispatch(&slot, Readiness::READABLE);
    assert!(slot.word().readiness() == Readiness::WRITABLE);
}

#[test]
fn a_panicking_waker_takes_no_other_wake_with_it() {
    let slot = Slot::new();
    let (wakeups, waker) = Wakeups::new();
    let bad = then(|| panic!("a waker that panics"));
    // More than one batch; a panic costs Miri seconds.
    let count = if cfg!(miri) { 4 } else { 80 };
    let mut waits: Vec<_> = (0..count).map(|_| Box::pin(Wait::new(&slot, Readiness::READ))).collect();
    for (i, wait) in waits.iter_mut().enumerate() {
        let waker = if i % 2 == 0 { &bad } else { &waker };
        assert!(wait.as_mut().poll(&mut Context::from_waker(waker)).is_pending());
    }
    dispatch(&slot, Readiness::READABLE);
    assert_eq!(wakeups.count(), count / 2);
}

struct PanicOnDrop;

impl Wake for PanicOnDrop {
    fn wake(self: Arc<Self>) {}
}

impl Drop for PanicOnDrop {
    fn drop(&mut self) {
        panic!("a waker whose drop panics, on purpose");
    }
}

/// Two drops that panic in one scope would end the process.
#[test]
fn the_wakers_of_reader_and_writer_may_panic_when_dropped() {
    let slots = super::super::slots::Slots::new();
    let (token, slot) = slots.take().unwrap();
    for place in [Place::Reader, Place::Writer] {
        assert!(slot.poll(place, &Waker::from(Arc::new(PanicOnDrop))).is_pending());
    }
    let left = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| slots.give_back(token, slot)));
    assert!(left.is_err());
    assert_eq!(slots.take().unwrap().0.index, token.index, "the slot came back all the same");
}
