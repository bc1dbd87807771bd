use super::Readiness;
use super::handle::{Handle, Target};
use super::slot::Wakes;
use nezumi_prim::sync::atomic::Ordering;
use std::fmt;
use std::io;
use std::time::Duration;

/// The side of the I/O driver that one thread at a time uses: waits for events and dispatches them.
pub struct Driver {
    poll: mio::Poll,
    events: mio::Events,
    /// Room for the events of a bounded turn, of the size last asked for.
    bounded: Option<mio::Events>,
}

/// What a turn has brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turned {
    /// How many events for resources there were.
    pub events: usize,
    /// Whether the wait was ended by [`Handle::unpark`].
    pub unparked: bool,
}

impl Driver {
    /// A driver that takes up to `events_per_turn` events from the OS at a time.
    ///
    /// # Errors
    ///
    /// When the OS has no selector, or no file descriptors, left.
    pub fn new(events_per_turn: usize) -> io::Result<(Driver, Handle)> {
        let poll = mio::Poll::new()?;
        let handle = Handle::new(poll.registry().try_clone()?)?;
        let events = mio::Events::with_capacity(events_per_turn.max(1));
        Ok((Driver { poll, events, bounded: None }, handle))
    }

    /// One pass: waits for events, sets readiness, wakes who waits for it, runs hooks.
    ///
    /// Waits up to `timeout`, for ever if it is `None`, not at all if it is zero. Takes up to `max_events` events if given, so
    /// that a turn between tasks stays short; the OS keeps the others for the next one. Being interrupted by a signal is
    /// no error and no event. Wakers are woken, and hooks run, under no lock of the driver; a panic of theirs does not leave
    /// the turn.
    ///
    /// # Panics
    ///
    /// When the OS says that the selector is unusable.
    pub fn turn(&mut self, handle: &Handle, timeout: Option<Duration>, max_events: Option<usize>) -> Turned {
        let events = match max_events {
            Some(max) if max.max(1) < self.events.capacity() => bounded(&mut self.bounded, max.max(1)),
            _ => &mut self.events,
        };
        match self.poll.poll(events, timeout) {
            Ok(()) => dispatch(handle, events),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Turned::default(),
            Err(error) => panic!("unexpected error when polling the I/O driver: {error:?}"),
        }
    }

    /// Ends every wait with an error, now and for those who come later, and lets go of the hooks.
    pub fn shutdown(&mut self, handle: &Handle) {
        handle.shut_down();
    }
}

/// Room for exactly `max` events. The size changes hardly ever.
fn bounded(room: &mut Option<mio::Events>, max: usize) -> &mut mio::Events {
    if room.as_ref().is_some_and(|events| events.capacity() != max) {
        *room = None;
    }
    room.get_or_insert_with(|| mio::Events::with_capacity(max))
}

fn dispatch(handle: &Handle, events: &mio::Events) -> Turned {
    let mut turned = Turned::default();
    let mut wakes = Wakes::default();
    let mut hooks = false;
    for event in events {
        match Target::of(event.token()) {
            Target::Unpark => turned.unparked = true,
            Target::Hook(_) => hooks = true,
            Target::Slot(token) => {
                turned.events += 1;
                if let Some(slot) = handle.slots.get(token.index) {
                    slot.dispatch(token.generation, Readiness::of_event(event), &mut wakes);
                }
            }
        }
    }
    wakes.wake_all();
    if turned.events > 0 {
        handle.ready_events.fetch_add(turned.events as u64, Ordering::Relaxed);
    }
    if hooks {
        for event in events {
            if let Target::Hook(place) = Target::of(event.token()) {
                handle.hooks.run(place);
            }
        }
    }
    turned
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Driver")
    }
}
