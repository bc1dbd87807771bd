//! Code of ours that runs when a pipe of ours becomes readable: how signals come into a runtime.
//!
//! Called by `turn`, after the events of a turn are dispatched and under no lock. A hook stays until the driver is shut down.

use nezumi_prim::sync::Mutex;
use std::io;
use std::sync::Arc;

/// What a hook waits for, and what it does then.
struct Hook {
    /// Kept open, and registered, for the hook's sake.
    source: Box<dyn mio::event::Source + Send>,
    run: Arc<dyn Fn() + Send + Sync>,
}

/// All hooks of one driver; `None` once it is shut down. A hook is known by its place.
pub(super) struct Hooks(Mutex<Option<Vec<Hook>>>);

impl Hooks {
    pub(super) fn new() -> Self {
        Hooks(Mutex::new(Some(Vec::new())))
    }

    /// Adds a hook; `token` makes of its place what the selector is told.
    pub(super) fn add(
        &self,
        registry: &mio::Registry,
        token: impl FnOnce(usize) -> mio::Token,
        mut source: Box<dyn mio::event::Source + Send>,
        run: Arc<dyn Fn() + Send + Sync>,
    ) -> io::Result<()> {
        let mut hooks = self.0.lock();
        let hooks = hooks.as_mut().ok_or_else(super::gone)?;
        registry.register(&mut source, token(hooks.len()), mio::Interest::READABLE)?;
        hooks.push(Hook { source, run });
        Ok(())
    }

    /// Runs the hook at `place`.
    pub(super) fn run(&self, place: usize) {
        let run = self.0.lock().as_ref().and_then(|hooks| hooks.get(place)).map(|hook| Arc::clone(&hook.run));
        if let Some(run) = run {
            nezumi_wake::contain(|| run());
        }
    }

    /// Lets go of all of them, for good.
    pub(super) fn clear(&self, registry: &mio::Registry) {
        let hooks = self.0.lock().take();
        for mut hook in hooks.into_iter().flatten() {
            // It is about to be closed, which ends the registration in any case.
            let _ = registry.deregister(&mut hook.source);
        }
    }
}
