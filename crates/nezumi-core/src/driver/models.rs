//! Models of the slot and of the storage of slots. The selector is not in them: an event is a call of `dispatch`.

use super::Readiness;
use super::slot::{Slot, Wakes};
use super::slots::Slots;
use super::waiter::Wait;
use super::word::{Place, ReadyEvent, Word};
use loom::future::block_on;
use loom::thread;
use nezumi_prim::sync::Arc;
use nezumi_prim::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::future::{Future, poll_fn};
use std::task::{Context, Poll, Waker};

fn dispatch(slot: &Slot, generation: u32, says: Readiness) -> bool {
    let mut wakes = Wakes::default();
    let alive = slot.dispatch(generation, says, &mut wakes);
    wakes.wake_all();
    alive
}

fn wait_in(slot: &Slot, place: Place) -> ReadyEvent {
    match place {
        Place::Queue => block_on(Wait::new(slot, Readiness::READ)),
        place => block_on(poll_fn(|cx| slot.poll(place, cx.waker()))),
    }
}

fn an_event_ends_a_wait(place: Place, says: Readiness) {
    loom::model(move || {
        let slot = Arc::new(Slot::new());
        let data = Arc::new(AtomicBool::new(false));
        let turn = {
            let (slot, data) = (slot.clone(), data.clone());
            thread::spawn(move || {
                data.store(true, Ordering::Relaxed);
                dispatch(&slot, 0, says);
            })
        };
        let event = wait_in(&slot, place);
        assert_eq!(event.ready, says);
        assert!(data.load(Ordering::Relaxed), "what came before the event is seen after the wait");
        turn.join().unwrap();
    });
}

#[test]
fn no_event_is_lost_to_a_waiter() {
    an_event_ends_a_wait(Place::Reader, Readiness::READABLE);
    an_event_ends_a_wait(Place::Writer, Readiness::WRITABLE);
    an_event_ends_a_wait(Place::Queue, Readiness::READABLE);
}

#[test]
fn the_end_of_the_driver_is_not_lost_to_a_waiter() {
    for place in [Place::Reader, Place::Queue] {
        loom::model(move || {
            let slot = Arc::new(Slot::new());
            let end = {
                let slot = slot.clone();
                thread::spawn(move || {
                    let mut wakes = Wakes::default();
                    slot.shut_down(&mut wakes);
                    wakes.wake_all();
                })
            };
            assert!(wait_in(&slot, place).is_shut_down);
            end.join().unwrap();
        });
    }
}

/// A socket whose buffer holds `data`: `peer` fills it and has the event dispatched; the reader believes, from an older
/// event, that there is something already.
fn reader_against_peer(word: Word, place: Place) {
    loom::model(move || {
        let slot = Arc::new(Slot::with_word(word));
        let data = Arc::new(AtomicUsize::new(0));
        dispatch(&slot, 0, Readiness::READABLE);
        let peer = {
            let (slot, data) = (slot.clone(), data.clone());
            thread::spawn(move || {
                data.fetch_add(1, Ordering::Relaxed);
                dispatch(&slot, 0, Readiness::READABLE | Readiness::WRITABLE);
            })
        };
        loop {
            let event = wait_in(&slot, place);
            if data.swap(0, Ordering::Relaxed) == 1 {
                break;
            }
            slot.clear(event);
        }
        peer.join().unwrap();
    });
}

#[test]
fn clear_keeps_a_newer_event() {
    reader_against_peer(Word::NEW, Place::Reader);
}

#[test]
fn clear_keeps_a_newer_event_from_waiters_in_the_queue() {
    reader_against_peer(Word::NEW, Place::Queue);
}

#[test]
fn clear_keeps_a_newer_event_across_the_wrap_of_the_tick() {
    for before in [2, 1] {
        reader_against_peer(Word::NEW.with_ticks(0u32.wrapping_sub(before), 0), Place::Reader);
    }
}

#[test]
fn an_event_never_reaches_the_successor() {
    loom::model(|| {
        let slot = Arc::new(Slot::new());
        let turn = {
            let slot = slot.clone();
            thread::spawn(move || dispatch(&slot, 0, Readiness::READABLE | Readiness::READ_CLOSED))
        };
        drop(slot.leave(1));
        // From here on the slot is the successor's: for him there was no event.
        assert!(slot.word().readiness().is_empty());
        assert!(slot.poll(Place::Reader, Waker::noop()).is_pending());
        turn.join().unwrap();
        assert!(slot.word().readiness().is_empty());
        assert!(dispatch(&slot, 1, Readiness::READABLE));
        assert!(slot.poll(Place::Reader, Waker::noop()).is_ready());
    });
}

#[test]
fn waiters_for_both_directions() {
    loom::model(|| {
        let slot = Arc::new(Slot::new());
        let wait = |wants| {
            let slot = slot.clone();
            thread::spawn(move || assert_eq!(block_on(Wait::new(&slot, wants)).ready, wants))
        };
        let (reader, writer) = (wait(Readiness::READABLE), wait(Readiness::WRITABLE));
        dispatch(&slot, 0, Readiness::READABLE);
        dispatch(&slot, 0, Readiness::WRITABLE);
        reader.join().unwrap();
        writer.join().unwrap();
    });
}

#[test]
fn a_reader_and_a_writer_share_an_event() {
    loom::model(|| {
        let slot = Arc::new(Slot::new());
        let writer = {
            let slot = slot.clone();
            thread::spawn(move || wait_in(&slot, Place::Writer))
        };
        let turn = {
            let slot = slot.clone();
            thread::spawn(move || dispatch(&slot, 0, Readiness::READABLE | Readiness::WRITABLE))
        };
        wait_in(&slot, Place::Reader);
        writer.join().unwrap();
        assert!(turn.join().unwrap());
    });
}

#[test]
fn a_waiter_is_dropped_while_called() {
    loom::model(|| {
        let slot = Arc::new(Slot::new());
        let turn = {
            let slot = slot.clone();
            thread::spawn(move || dispatch(&slot, 0, Readiness::READABLE))
        };
        let mut cx = Context::from_waker(Waker::noop());
        let mut first = Box::pin(Wait::new(&slot, Readiness::READ));
        let mut second = Box::pin(Wait::new(&slot, Readiness::READ));
        let _ = first.as_mut().poll(&mut cx);
        let _ = second.as_mut().poll(&mut cx);
        drop(first);
        let _ = second.as_mut().poll(&mut cx);
        turn.join().unwrap();
        assert!(second.as_mut().poll(&mut cx).is_ready());
    });
}

#[test]
fn a_slot_is_found_as_soon_as_it_is_taken() {
    loom::model(|| {
        let slots = Arc::new(Slots::new());
        let turn = {
            let slots = slots.clone();
            thread::spawn(move || {
                // The selector hands a number through; here it is known beforehand.
                slots.get(0).map(|slot| dispatch(slot, 0, Readiness::READABLE))
            })
        };
        let (token, slot) = slots.take().unwrap();
        assert_eq!((token.index, token.generation), (0, 0));
        let found = turn.join().unwrap();
        assert_eq!(slot.word().readiness().is_empty(), found.is_none());
        slots.give_back(token, slot);
    });
}

#[test]
fn the_end_meets_every_slot_or_refuses_it() {
    loom::model(|| {
        let slots = Arc::new(Slots::new());
        let end = {
            let slots = slots.clone();
            thread::spawn(move || slots.close(&mut Wakes::default()))
        };
        if let Ok((token, slot)) = slots.take() {
            let event = wait_in(slot, Place::Reader);
            assert!(event.is_shut_down);
            slots.give_back(token, slot);
        }
        end.join().unwrap();
        assert!(slots.take().is_err());
    });
}

#[test]
fn two_owners_never_share_a_slot() {
    loom::model(|| {
        let slots = Arc::new(Slots::new());
        let other = {
            let slots = slots.clone();
            thread::spawn(move || own(&slots))
        };
        own(&slots);
        other.join().unwrap();
    });
}

fn own(slots: &Slots) {
    let (token, slot) = slots.take().unwrap();
    assert!(slot.word().readiness().is_empty());
    assert!(dispatch(slot, token.generation, Readiness::READABLE));
    assert!(matches!(slot.poll(Place::Reader, Waker::noop()), Poll::Ready(_)));
    slots.give_back(token, slot);
}
