//! Hints to the processor, visible to the model checkers.

/// Says that this thread waits in a short loop. A model checker takes it as a point to switch threads.
#[inline]
pub fn spin_loop() {
    #[cfg(nezumi_loom)]
    loom::hint::spin_loop();
    #[cfg(nezumi_shuttle)]
    shuttle::hint::spin_loop();
    #[cfg(not(any(nezumi_loom, nezumi_shuttle)))]
    core::hint::spin_loop();
}
