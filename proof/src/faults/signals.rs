//! Signals that interrupt whatever a thread is in, and forks of the process.

use super::{expect_works, runtime};
use crate::load;
use crate::seed::Seed;
use nezumi::runtime::Runtime;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const SIGNALS: u64 = 1_000_000;

static ARRIVED: AtomicU64 = AtomicU64::new(0);

extern "C" fn arrives(_: libc::c_int) {
    ARRIVED.fetch_add(1, Ordering::Relaxed);
}

/// Handled without SA_RESTART: calls that wait return EINTR. Sent to one thread of the process after another, while scenes are played.
pub(super) fn a_million(seed: Seed) {
    // SAFETY: the handler does nothing but to count.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = arrives as extern "C" fn(libc::c_int) as libc::sighandler_t;
        assert_eq!(libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut()), 0);
    }
    let rt = runtime(2);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            storm();
            is_over.store(true, Ordering::Relaxed);
        });
        play_until(&rt, seed, || is_over.load(Ordering::Relaxed));
    });
    let arrived = ARRIVED.load(Ordering::Relaxed);
    println!("  {SIGNALS} signals sent, {arrived} handled");
    assert!(arrived > SIGNALS / 100, "the storm was none");
    expect_works(&rt);
}

fn storm() {
    // SAFETY: no conditions.
    let (process, this) = unsafe { (libc::getpid(), libc::gettid()) };
    let mut sent = 0;
    while sent < SIGNALS {
        let threads: Vec<i32> = std::fs::read_dir("/proc/self/task")
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter(|&thread| thread != this)
            .collect();
        for round in 0..500 {
            for &thread in &threads {
                // SAFETY: a thread that has ended meanwhile is an error that nobody needs to know of.
                unsafe { libc::syscall(libc::SYS_tgkill, process, thread, libc::SIGUSR1) };
                sent += 1;
            }
            if round % 50 == 0 {
                // Others need the processor, too.
                std::thread::sleep(Duration::from_micros(100));
            }
        }
    }
}

fn play_until(rt: &Runtime, seed: Seed, is_over: impl Fn() -> bool) {
    let mut rand = seed.rand();
    let mut number = 0;
    rt.block_on(async {
        while !is_over() {
            let scenes = [(); 3].map(|()| load::choose(&mut rand, "").expect("there are scenes"));
            let [one, two, three] = scenes;
            number += 3;
            nezumi::join!(
                load::play(one, seed.part(number)),
                load::play(two, seed.part(number + 1)),
                load::play(three, seed.part(number + 2)),
            );
        }
    });
}

/// While scenes are played: a child that only ends, by `fork` alone, and one that becomes another program. Neither takes anything of the parent's.
pub(super) fn forks(seed: Seed) {
    let rt = runtime(2);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let begin = Instant::now();
            for _ in 0..200 {
                fork_and_end();
                assert!(std::process::Command::new("true").status().unwrap().success());
                if begin.elapsed() > Duration::from_secs(30) {
                    break;
                }
            }
            is_over.store(true, Ordering::Relaxed);
        });
        play_until(&rt, seed, || is_over.load(Ordering::Relaxed));
    });
    expect_works(&rt);
}

fn fork_and_end() {
    // SAFETY: the child calls nothing but what may be called after a fork of one thread among many.
    unsafe {
        match libc::fork() {
            0 => libc::_exit(7),
            child => {
                assert!(child > 0);
                let mut status = 0;
                let ended = loop {
                    let ended = libc::waitpid(child, &raw mut status, 0);
                    if ended != -1 || *libc::__errno_location() != libc::EINTR {
                        break ended;
                    }
                };
                assert!(ended == child && libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 7);
            }
        }
    }
}
