//! Sleeps under a clock that stands still, against a list of deadlines.

use crate::ops::Ops;
use crate::polled::Polled;
use nezumi::runtime::Builder;
use nezumi::time::{Duration, Instant, Sleep, advance, sleep_until};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;

/// Shared with the future that polls it, so that it can be reset.
type Shared = Arc<Mutex<Pin<Box<Sleep>>>>;

struct Timer {
    sleep: Shared,
    future: Polled<()>,
    deadline_ms: u64,
}

/// As far as the clock goes, in all.
const FAR_MS: u64 = 1 << 41;

pub(crate) fn target(data: &[u8]) {
    let rt = Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime");
    let mut ops = Ops::new(data);
    rt.block_on(async {
        let begin = Instant::now();
        let mut now_ms = 0;
        let mut timers: Vec<Timer> = Vec::new();
        while let Some(op) = ops.next() {
            match op % 8 {
                0..=2 => {
                    let deadline_ms = now_ms + span_ms(&mut ops);
                    timers.push(Timer::new(begin, deadline_ms));
                }
                3 => {
                    if let Some(index) = ops.index(timers.len()) {
                        timers.swap_remove(index);
                    }
                }
                4 => {
                    if let Some(index) = ops.index(timers.len()) {
                        let timer = &mut timers[index];
                        timer.deadline_ms = now_ms + span_ms(&mut ops);
                        let deadline = at(begin, timer.deadline_ms);
                        timer.sleep.lock().unwrap().as_mut().reset(deadline);
                        // From here on it is for whoever polls next.
                        assert!(timer.future.poll().is_pending() || timer.deadline_ms <= now_ms);
                    }
                }
                _ => {
                    let span_ms = span_ms(&mut ops);
                    if now_ms + span_ms < FAR_MS {
                        now_ms += span_ms;
                        advance(Duration::from_millis(span_ms)).await;
                    }
                }
            }
            // The timers are looked at by the driver.
            nezumi::task::yield_now().await;
            check(&mut timers, now_ms);
        }
    });
}

/// Of every size, so that each level of the wheel has its turn.
fn span_ms(ops: &mut Ops<'_>) -> u64 {
    let bits = ops.below(40) as u32;
    let low = u64::from(ops.next().unwrap_or(0)) | u64::from(ops.next().unwrap_or(0)) << 8;
    ((1 << bits) + (low & ((1 << bits) - 1))).min(FAR_MS)
}

fn at(begin: Instant, deadline_ms: u64) -> Instant {
    begin + Duration::from_millis(deadline_ms)
}

impl Timer {
    fn new(begin: Instant, deadline_ms: u64) -> Self {
        let sleep: Shared = Arc::new(Mutex::new(Box::pin(sleep_until(at(begin, deadline_ms)))));
        let polled = sleep.clone();
        let mut future =
            Polled::new(std::future::poll_fn(move |cx| polled.lock().unwrap().as_mut().poll(cx)));
        assert!(future.poll().is_pending(), "its time has not come");
        Timer { sleep, future, deadline_ms }
    }
}

fn check(timers: &mut Vec<Timer>, now_ms: u64) {
    timers.retain_mut(|timer| {
        let is_due = timer.deadline_ms <= now_ms;
        if !is_due {
            assert!(!timer.future.is_woken(), "{} woken at {now_ms}", timer.deadline_ms);
            assert!(!timer.sleep.lock().unwrap().is_elapsed());
            return true;
        }
        assert!(timer.sleep.lock().unwrap().is_elapsed(), "{} has not fired at {now_ms}", timer.deadline_ms);
        assert!(matches!(timer.future.poll(), Poll::Ready(())));
        false
    });
}
