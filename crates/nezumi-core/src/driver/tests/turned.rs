use super::*;
use crate::driver::{Driver, Handle, Registration, SHUT_DOWN};
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

const AT_ONCE: Option<Duration> = Some(Duration::ZERO);
const SOON: Option<Duration> = Some(Duration::from_secs(10));

fn driver() -> (Driver, Arc<Handle>) {
    let (driver, handle) = Driver::new(64).unwrap();
    (driver, Arc::new(handle))
}

fn pipe() -> (mio::unix::pipe::Sender, mio::unix::pipe::Receiver) {
    mio::unix::pipe::new().unwrap()
}

fn register(
    handle: &Arc<Handle>,
    source: &mut impl mio::event::Source,
    interest: mio::Interest,
) -> Registration<Arc<Handle>> {
    Registration::new(source, interest, handle.clone()).unwrap()
}

/// Each task finds out that it must wait, is woken by the event of the peer, and reads.
#[test]
fn a_read_waits_for_the_peer() {
    let (mut driver, handle) = driver();
    let (mut sender, mut receiver) = pipe();
    let registration = register(&handle, &mut receiver, mio::Interest::READABLE);
    let (wakeups, waker) = Wakeups::new();
    let mut cx = Context::from_waker(&waker);
    let mut buffer = [0; 8];
    let mut read = |cx: &mut Context<'_>| registration.poll_read_io(cx, || (&receiver).read(&mut buffer));
    for round in 1..=3 {
        assert!(read(&mut cx).is_pending());
        driver.turn(&handle, AT_ONCE, None);
        assert_eq!(wakeups.count(), round - 1, "no event, no wake");
        sender.write_all(b"abc").unwrap();
        assert_eq!(driver.turn(&handle, SOON, None).events, 1);
        assert_eq!(wakeups.count(), round);
        assert!(matches!(read(&mut cx), Poll::Ready(Ok(3))));
    }
    assert_eq!(handle.ready_event_count(), 3);
    drop(sender);
    driver.turn(&handle, SOON, None);
    assert!(matches!(read(&mut cx), Poll::Ready(Ok(0))), "the end is read once for each time it is asked");
    assert!(matches!(read(&mut cx), Poll::Ready(Ok(0))));
}

#[test]
#[cfg(target_os = "linux")]
fn events_can_be_seen_before_a_turn_takes_them() {
    let (mut driver, handle) = driver();
    assert!(!handle.has_events());
    let (mut sender, mut receiver) = pipe();
    let _registration = register(&handle, &mut receiver, mio::Interest::READABLE);
    assert!(!handle.has_events());
    sender.write_all(b"a").unwrap();
    assert!(handle.has_events());
    assert!(handle.has_events(), "looking takes nothing");
    driver.turn(&handle, AT_ONCE, None);
    assert!(!handle.has_events(), "an edge is told once, though nobody has read");
    handle.unpark();
    assert!(handle.has_events());
    assert!(driver.turn(&handle, AT_ONCE, None).unparked);
    assert!(!handle.has_events());
}

#[test]
fn try_io_without_readiness_makes_no_call() {
    let (mut driver, handle) = driver();
    let (mut sender, mut receiver) = pipe();
    let registration = register(&handle, &mut receiver, mio::Interest::READABLE);
    let calls = AtomicUsize::new(0);
    let attempt = || {
        registration.try_io(Readiness::READ, || {
            calls.fetch_add(1, Ordering::Relaxed);
            (&receiver).read(&mut [0; 8])
        })
    };
    assert_eq!(attempt().unwrap_err().kind(), io::ErrorKind::WouldBlock);
    assert_eq!(calls.load(Ordering::Relaxed), 0);
    sender.write_all(b"a").unwrap();
    driver.turn(&handle, SOON, None);
    assert_eq!(attempt().unwrap(), 1);
    assert_eq!(attempt().unwrap_err().kind(), io::ErrorKind::WouldBlock);
    assert_eq!(attempt().unwrap_err().kind(), io::ErrorKind::WouldBlock);
    assert_eq!(calls.load(Ordering::Relaxed), 2, "the second attempt cleared the readiness");
}

#[test]
fn an_assumption_is_tried_and_withdrawn() {
    let (_driver, handle) = driver();
    let (_sender, mut receiver) = pipe();
    let registration = register(&handle, &mut receiver, mio::Interest::READABLE);
    registration.assume_ready(Readiness::READABLE);
    let attempt = || registration.try_io(Readiness::READ, || (&receiver).read(&mut [0; 8]));
    for who in ["the system", "the readiness"] {
        let refused = attempt().unwrap_err();
        let known = (refused.kind(), refused.raw_os_error());
        assert_eq!(known, (io::ErrorKind::WouldBlock, None), "the same error when {who} says so");
    }
    let mut cx = Context::from_waker(Waker::noop());
    assert!(registration.poll_read_ready(&mut cx).is_pending());
}

#[test]
fn unpark_ends_the_wait_and_is_told() {
    let (mut driver, handle) = driver();
    handle.unpark();
    handle.unpark();
    let turned = driver.turn(&handle, SOON, None);
    assert!(turned.unparked && turned.events == 0);
    assert!(!driver.turn(&handle, AT_ONCE, None).unparked, "unparks do not add up");
    let start = Instant::now();
    let thread = {
        let handle = handle.clone();
        std::thread::spawn(move || handle.unpark())
    };
    assert!(driver.turn(&handle, None, None).unparked);
    assert!(start.elapsed() < Duration::from_secs(5));
    thread.join().unwrap();
}

#[test]
fn a_bounded_turn_leaves_the_rest_to_the_next() {
    let (mut driver, handle) = driver();
    let mut pipes: Vec<_> = (0..10).map(|_| pipe()).collect();
    let registrations: Vec<_> =
        pipes.iter_mut().map(|(_, receiver)| register(&handle, receiver, mio::Interest::READABLE)).collect();
    for (sender, _) in &mut pipes {
        sender.write_all(b"a").unwrap();
    }
    let counts: Vec<_> = (0..4).map(|_| driver.turn(&handle, AT_ONCE, Some(4)).events).collect();
    assert_eq!(counts, [4, 4, 2, 0]);
    let mut cx = Context::from_waker(Waker::noop());
    assert!(registrations.iter().all(|registration| registration.poll_read_ready(&mut cx).is_ready()));
}

#[test]
fn a_failed_registration_leaves_nothing_behind() {
    let (mut driver, handle) = driver();
    // The OS refuses to watch a regular file, and to watch the same thing twice.
    let file = std::fs::File::open(std::env::current_exe().unwrap()).unwrap();
    let fd = std::os::fd::AsRawFd::as_raw_fd(&file);
    for _ in 0..1000 {
        let mut source = mio::unix::SourceFd(&fd);
        Registration::new(&mut source, mio::Interest::READABLE, handle.clone()).unwrap_err();
    }
    assert_eq!((handle.registered_count(), handle.deregistered_count()), (0, 0));
    let (_sender, mut receiver) = pipe();
    let registration = register(&handle, &mut receiver, mio::Interest::READABLE);
    assert!(format!("{registration:?}").contains("index: 0"), "{registration:?}");
    driver.turn(&handle, AT_ONCE, None);
}

#[test]
fn deregistering_gives_the_slot_back_once() {
    let (mut driver, handle) = driver();
    for _ in 0..100 {
        let (mut sender, mut receiver) = pipe();
        let mut registration = register(&handle, &mut receiver, mio::Interest::READABLE);
        sender.write_all(b"a").unwrap();
        registration.deregister(&mut receiver).unwrap();
        drop(registration);
        assert_eq!(driver.turn(&handle, AT_ONCE, None).events, 0);
    }
    assert_eq!((handle.registered_count(), handle.deregistered_count()), (100, 100));
    assert!(handle.slots.get(1).is_none(), "one slot was enough for all of them");
}

/// A descriptor that is registered, duplicated and closed goes on to send events. They are for nobody.
#[test]
fn an_event_for_a_closed_descriptor_does_not_reach_its_successor() {
    let (mut driver, handle) = driver();
    let (mut sender, receiver) = pipe();
    let kept = duplicate(&receiver);
    let mut receiver = receiver;
    drop(register(&handle, &mut receiver, mio::Interest::READABLE)); // without `deregister`
    drop(receiver);
    let (_other_sender, mut other) = pipe();
    let successor = register(&handle, &mut other, mio::Interest::READABLE);
    sender.write_all(b"a").unwrap();
    assert_eq!(driver.turn(&handle, SOON, None).events, 1, "the OS knows no better");
    let mut cx = Context::from_waker(Waker::noop());
    assert!(successor.poll_read_ready(&mut cx).is_pending());
    assert_eq!(successor.try_io(Readiness::ALL, || Ok(())).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    drop(kept);
}

fn duplicate(fd: &impl std::os::fd::AsFd) -> std::os::fd::OwnedFd {
    fd.as_fd().try_clone_to_owned().unwrap()
}

#[test]
fn every_wait_ends_with_the_driver() {
    let (mut driver, handle) = driver();
    let (_sender, mut receiver) = pipe();
    let registration = register(&handle, &mut receiver, mio::Interest::READABLE);
    let (wakeups, waker) = Wakeups::new();
    let mut cx = Context::from_waker(&waker);
    let mut readiness = Box::pin(registration.readiness(Readiness::READ));
    assert!(registration.poll_read_ready(&mut cx).is_pending());
    assert!(readiness.as_mut().poll(&mut cx).is_pending());
    driver.shutdown(&handle);
    assert_eq!(wakeups.count(), 2);
    let Poll::Ready(Err(error)) = registration.poll_read_ready(&mut cx) else { panic!("no error") };
    assert_eq!((error.kind(), error.to_string().as_str()), (io::ErrorKind::Other, SHUT_DOWN));
    assert!(matches!(readiness.as_mut().poll(&mut cx), Poll::Ready(Err(_))));
    let (_sender, mut late) = pipe();
    let error = Registration::new(&mut late, mio::Interest::READABLE, handle.clone()).unwrap_err();
    assert_eq!(error.to_string(), SHUT_DOWN);
    driver.shutdown(&handle);
}

#[test]
fn a_hook_runs_when_its_pipe_is_written() {
    let (mut driver, handle) = driver();
    let (mut sender, receiver) = pipe();
    let calls = Arc::new(Mutex::new(0));
    let run = {
        let (calls, handle) = (calls.clone(), Arc::downgrade(&handle));
        Arc::new(move || {
            *calls.lock().unwrap() += 1;
            // Under no lock: a hook may add a hook.
            let (_, receiver) = pipe();
            handle.upgrade().unwrap().add_hook(Box::new(receiver), Arc::new(|| ())).unwrap();
            panic!("a hook that panics");
        })
    };
    handle.add_hook(Box::new(receiver), run.clone()).unwrap();
    assert_eq!(driver.turn(&handle, AT_ONCE, None).events, 0);
    sender.write_all(b"a").unwrap();
    assert_eq!(driver.turn(&handle, SOON, None).events, 0, "hooks are no resources");
    sender.write_all(b"a").unwrap();
    driver.turn(&handle, SOON, None);
    assert_eq!(*calls.lock().unwrap_or_else(|poisoned| poisoned.into_inner()), 2);
    driver.shutdown(&handle);
    assert_eq!(Arc::strong_count(&run), 1);
    assert_eq!(sender.write(b"a").unwrap_err().kind(), io::ErrorKind::BrokenPipe, "its source is closed");
    let error = handle.add_hook(Box::new(pipe().1), run).unwrap_err();
    assert_eq!(error.to_string(), SHUT_DOWN);
}

/// A signal that interrupts the wait is no event and no error.
#[test]
fn an_interrupted_turn_is_an_empty_one() {
    extern "C" fn ignore(_: libc::c_int) {}
    // SAFETY: the handler does nothing; the struct is plain data, for which zeroes are valid.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = ignore as *const () as usize;
        assert_eq!(libc::sigaction(libc::SIGURG, &action, std::ptr::null_mut()), 0);
    }
    let (mut driver, handle) = driver();
    // SAFETY: no preconditions.
    let sleeper = unsafe { libc::pthread_self() };
    let done = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while done.load(Ordering::SeqCst) == 0 {
                // SAFETY: the thread waits for this scope to end, so it lives.
                unsafe { libc::pthread_kill(sleeper, libc::SIGURG) };
                std::thread::yield_now();
            }
        });
        // Would wait for ever if it were not interrupted.
        let turned = driver.turn(&handle, None, None);
        done.store(1, Ordering::SeqCst);
        assert_eq!(turned, crate::driver::Turned::default());
    });
}

#[test]
fn at_zero_budget_a_ready_resource_is_pending() {
    use nezumi_wake::coop;
    let (_driver, handle) = driver();
    let (_sender, mut receiver) = pipe();
    let registration = register(&handle, &mut receiver, mio::Interest::READABLE);
    registration.assume_ready(Readiness::READABLE);
    let mut cx = Context::from_waker(Waker::noop());
    coop::budget(|| {
        for _ in 0..128 {
            assert!(registration.poll_read_ready(&mut cx).is_ready());
        }
        assert!(registration.poll_read_ready(&mut cx).is_pending());
        assert!(std::pin::pin!(registration.async_io(Readiness::READ, || Ok(()))).poll(&mut cx).is_pending());
        assert!(std::pin::pin!(registration.readiness(Readiness::READ)).poll(&mut cx).is_ready());
    });
}

#[test]
fn futures_and_registrations_may_go_to_other_threads() {
    fn send<T: Send>(_: &T) {}
    fn send_and_sync<T: Send + Sync>(_: &T) {}
    let (_driver, handle) = driver();
    let (_sender, mut receiver) = pipe();
    let registration = register(&handle, &mut receiver, mio::Interest::READABLE);
    send_and_sync(&registration);
    send_and_sync(&*handle);
    send(&registration.readiness(Readiness::READ));
    send(&registration.async_io(Readiness::READ, || Ok(())));
}
