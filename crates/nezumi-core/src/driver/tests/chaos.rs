//! Real threads: owners come and go, and a selector that is always late.

use super::*;
use crate::driver::slots::{Slots, Token};
use nezumi_prim::FastRand;
use std::future::poll_fn;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// What an owner and its peer share: how many bytes lie in the socket's buffer.
struct Socket {
    token: Token,
    buffer: AtomicUsize,
}

/// An owner takes a slot, reads what its peer writes, and leaves; over and over. Events for it are dispatched after it has
/// left, when the slot has other owners: they say that the stream is closed, which no owner may ever hear.
#[test]
fn owners_hear_of_their_own_events_only_and_of_all_of_them() {
    const OWNERS: usize = 3;
    let rounds = if cfg!(miri) { 3 } else { 2000 };
    let slots = Slots::new();
    let (live, gone) = (Mutex::new(Vec::<Arc<Socket>>::new()), Mutex::new(Vec::<Token>::new()));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let owners: Vec<_> = (0..OWNERS)
            .map(|owner| {
                scope.spawn({
                    let (slots, live, gone) = (&slots, &live, &gone);
                    move || (0..rounds).for_each(|round| own(slots, live, gone, owner, round))
                })
            })
            .collect();
        scope.spawn(|| {
            let rand = FastRand::new(7);
            let mut wakes = Wakes::default();
            while !done.load(Ordering::SeqCst) {
                let sockets = live.lock().unwrap().clone();
                for socket in sockets {
                    socket.buffer.fetch_add(1, Ordering::Relaxed);
                    let slot = slots.get(socket.token.index).unwrap();
                    let says = [Readiness::READABLE, Readiness::READABLE | Readiness::WRITABLE];
                    slot.dispatch(socket.token.generation, says[rand.below(2) as usize], &mut wakes);
                }
                let late: Vec<_> = gone.lock().unwrap().drain(..).collect();
                for token in late {
                    let slot = slots.get(token.index).unwrap();
                    slot.dispatch(token.generation, Readiness::ALL, &mut wakes);
                }
                wakes.wake_all();
                std::thread::yield_now();
            }
        });
        let results: Vec<_> = owners.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        done.store(true, Ordering::SeqCst);
        results.into_iter().for_each(|result| result.unwrap());
    });
}

fn own(slots: &Slots, live: &Mutex<Vec<Arc<Socket>>>, gone: &Mutex<Vec<Token>>, owner: usize, round: usize) {
    let (token, slot) = slots.take().unwrap();
    let socket = Arc::new(Socket { token, buffer: AtomicUsize::new(0) });
    live.lock().unwrap().push(socket.clone());
    for _ in 0..round % 4 {
        let read = async {
            loop {
                let event = if (owner + round) % 2 == 0 {
                    poll_fn(|cx| slot.poll(Place::Reader, cx.waker())).await
                } else {
                    Wait::new(slot, Readiness::READ).await
                };
                assert_eq!(event.ready, Readiness::READABLE, "an event of a former owner");
                if socket.buffer.swap(0, Ordering::Relaxed) > 0 {
                    break;
                }
                slot.clear(event);
            }
        };
        let patience = Duration::from_secs(60);
        nezumi_wake::block_on_timeout(read, patience).expect("an event was lost");
    }
    live.lock().unwrap().retain(|other| !Arc::ptr_eq(other, &socket));
    gone.lock().unwrap().push(token);
    slots.give_back(token, slot);
}
