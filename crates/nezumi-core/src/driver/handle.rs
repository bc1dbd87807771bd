use super::hook::Hooks;
use super::slot::{Slot, Wakes};
use super::slots::{Slots, Token};
use nezumi_prim::sync::atomic::{AtomicU64, Ordering};
use std::fmt;
use std::io;
use std::sync::Arc;

/// The highest bit of a token's number marks the driver's own; see [`Token`].
const OWN: usize = 1 << (usize::BITS - 1);

/// What an event is about.
pub(super) enum Target {
    /// Somebody called [`Handle::unpark`].
    Unpark,
    Hook(usize),
    Slot(Token),
}

impl Target {
    pub(super) fn of(token: mio::Token) -> Self {
        match token.0 {
            usize::MAX => Target::Unpark,
            number if number & OWN != 0 => Target::Hook(number & !OWN),
            number => Target::Slot(Token::from_number(number)),
        }
    }

    pub(super) fn token(self) -> mio::Token {
        mio::Token(match self {
            Target::Unpark => usize::MAX,
            Target::Hook(place) => OWN | place,
            Target::Slot(token) => token.number(),
        })
    }
}

/// The side of the I/O driver that all threads share: registers resources, and ends the wait of a turn.
///
/// Lives in the runtime's shared state and must not move while anything is registered.
pub struct Handle {
    registry: mio::Registry,
    waker: mio::Waker,
    pub(super) slots: Slots,
    pub(super) hooks: Hooks,
    registered: AtomicU64,
    deregistered: AtomicU64,
    pub(super) ready_events: AtomicU64,
}

impl Handle {
    pub(super) fn new(registry: mio::Registry) -> io::Result<Self> {
        let waker = mio::Waker::new(&registry, Target::Unpark.token())?;
        Ok(Handle {
            registry,
            waker,
            slots: Slots::new(),
            hooks: Hooks::new(),
            registered: AtomicU64::new(0),
            deregistered: AtomicU64::new(0),
            ready_events: AtomicU64::new(0),
        })
    }

    /// Ends the wait of the turn that is under way, or of the next one. Costs a system call.
    ///
    /// # Panics
    ///
    /// When the OS refuses, as it does not.
    pub fn unpark(&self) {
        self.waker.wake().expect("failed to wake I/O driver");
    }

    /// Whether the selector has events that no turn has taken yet, of resources, hooks or [`unpark`](Self::unpark). Costs a system call. Where the OS
    /// cannot be asked, there may be some.
    pub fn has_events(&self) -> bool {
        // Miri knows no `poll`.
        #[cfg(all(target_os = "linux", not(miri)))]
        {
            let fd = std::os::fd::AsRawFd::as_raw_fd(&self.registry);
            let mut asked = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
            // SAFETY: one `pollfd`, which is ours, of a descriptor that the registry keeps open.
            unsafe { libc::poll(&raw mut asked, 1, 0) != 0 }
        }
        #[cfg(not(all(target_os = "linux", not(miri))))]
        true
    }

    /// Has `run` called, by whoever turns the driver and under no lock, each time that `source` becomes readable. The driver
    /// keeps both until it is shut down. A panic of `run` ends with it.
    ///
    /// # Errors
    ///
    /// What the OS says to the registration of `source`, and when the driver has been shut down.
    pub fn add_hook(
        &self,
        source: Box<dyn mio::event::Source + Send>,
        run: Arc<dyn Fn() + Send + Sync>,
    ) -> io::Result<()> {
        self.hooks.add(&self.registry, |place| Target::Hook(place).token(), source, run)
    }

    /// Gives `source` a slot. If anything fails, nothing is left behind.
    pub(super) fn register(
        &self,
        source: &mut impl mio::event::Source,
        interest: mio::Interest,
    ) -> io::Result<(Token, &Slot)> {
        let (token, slot) = self.slots.take()?;
        if let Err(error) = self.registry.register(source, Target::Slot(token).token(), interest) {
            self.slots.give_back(token, slot);
            return Err(error);
        }
        self.registered.fetch_add(1, Ordering::Relaxed);
        Ok((token, slot))
    }

    /// Ends the selector's interest in `source`.
    pub(super) fn forget_source(&self, source: &mut impl mio::event::Source) -> io::Result<()> {
        self.registry.deregister(source)
    }

    /// Takes a slot back.
    pub(super) fn give_back(&self, token: Token, slot: &Slot) {
        self.slots.give_back(token, slot);
        self.deregistered.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn shut_down(&self) {
        self.slots.close(&mut Wakes::default());
        self.hooks.clear(&self.registry);
    }

    /// How many resources were ever registered.
    pub fn registered_count(&self) -> u64 {
        self.registered.load(Ordering::Relaxed)
    }

    /// How many of them have left.
    pub fn deregistered_count(&self) -> u64 {
        self.deregistered.load(Ordering::Relaxed)
    }

    /// How many events were dispatched to resources.
    pub fn ready_event_count(&self) -> u64 {
        self.ready_events.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle")
            .field("registered", &self.registered_count())
            .field("deregistered", &self.deregistered_count())
            .finish_non_exhaustive()
    }
}
