use super::super::bounded::channel_at;
use super::super::position::{BLOCK, Position, STEP};
use super::super::unbounded::unbounded_at;
use super::super::{channel, unbounded_channel};

#[test]
fn a_steady_channel_uses_its_blocks_over_and_over() {
    let (tx, mut rx) = unbounded_channel();
    let mut most = [0; 3];
    for n in 0..100 * BLOCK {
        tx.send(n).unwrap();
        assert_eq!(rx.try_recv(), Ok(n));
        let blocks = rx.blocks().unwrap();
        most = std::array::from_fn(|place| most[place].max(blocks[place]));
        assert!(blocks.iter().sum::<usize>() <= 3, "{blocks:?}");
    }
    assert!(most[1] <= 1 && most[2] <= 2, "{most:?}");
}

#[test]
fn what_a_burst_needed_is_freed() {
    let (tx, mut rx) = unbounded_channel();
    for n in 0..100 * BLOCK {
        tx.send(n).unwrap();
    }
    assert_eq!(rx.blocks(), Some([100, 0, 0]));
    for n in 0..100 * BLOCK {
        assert_eq!(rx.try_recv(), Ok(n));
    }
    for n in 0..2 * BLOCK {
        tx.send(n).unwrap();
        assert_eq!(rx.try_recv(), Ok(n));
    }
    assert!(rx.blocks().unwrap().iter().sum::<usize>() <= 4, "{:?}", rx.blocks());
}

#[test]
fn two_blocks_are_kept_for_later_and_no_more() {
    let (tx, mut rx) = unbounded_channel();
    (0..10 * BLOCK).for_each(|n| tx.send(n).unwrap());
    let spare = std::iter::from_fn(|| rx.try_recv().ok().map(|_| rx.blocks().unwrap()[2]));
    assert_eq!(spare.max(), Some(2));
}

#[test]
fn a_small_bound_needs_no_blocks() {
    assert_eq!(channel::<u8>(BLOCK - 1).1.blocks(), None);
    assert_eq!(channel::<u8>(BLOCK).1.blocks(), Some([1, 0, 0]));
}

#[test]
fn positions_may_wrap() {
    for before in [1, 5, BLOCK, BLOCK + 7] {
        let start = Position(0usize.wrapping_sub(before * STEP));
        let (tx, mut rx) = unbounded_at(start);
        for n in 0..3 * BLOCK {
            tx.send(n).unwrap();
            tx.send(n).unwrap();
            assert_eq!(rx.len(), n + 2);
            assert_eq!(rx.try_recv(), Ok(n / 2));
        }
        drop(tx);
        assert_eq!(std::iter::from_fn(|| rx.try_recv().ok()).count(), 3 * BLOCK);

        for bound in [1, 3, 2 * BLOCK] {
            let (tx, mut rx) = channel_at(start, bound);
            for lap in 0..4 * BLOCK {
                (0..bound).for_each(|n| tx.try_send(lap + n).unwrap());
                assert!(tx.try_send(0).is_err());
                (0..bound).for_each(|n| assert_eq!(rx.try_recv(), Ok(lap + n)));
                assert!(rx.try_recv().is_err());
            }
        }
    }
}

#[test]
fn the_end_may_fall_on_the_border_of_a_block() {
    for len in [BLOCK - 1, BLOCK, BLOCK + 1] {
        let (tx, mut rx) = unbounded_channel();
        (0..len).for_each(|n| tx.send(n).unwrap());
        drop(tx);
        assert_eq!(std::iter::from_fn(|| rx.blocking_recv()).count(), len);

        let (tx, rx) = unbounded_channel();
        (0..len).for_each(|n| tx.send(n).unwrap());
        drop(rx);
        assert!(tx.send(0).is_err());
    }
}

#[test]
fn refused_sends_build_no_blocks() {
    let (tx, mut rx) = unbounded_channel();
    tx.send(0).unwrap();
    rx.close();
    (0..100 * BLOCK).for_each(|n| assert!(tx.send(n).is_err()));
    drop(tx);
    assert_eq!(rx.blocks(), Some([1, 0, 0]));
    assert_eq!(rx.blocking_recv(), Some(0));
    assert_eq!(rx.blocking_recv(), None);
}

#[test]
fn senders_cross_borders_while_blocks_are_given_back() {
    let each = if cfg!(miri) { BLOCK + 2 } else { 1000 * BLOCK };
    let (tx, mut rx) = unbounded_channel();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            let tx = tx.clone();
            scope.spawn(move || {
                for n in 0..each {
                    tx.send(n).unwrap();
                    // Keeps the queue short, so that borders are crossed close behind each other.
                    if n % 8 == 0 {
                        std::thread::yield_now();
                    }
                }
            });
        }
        let sum: usize = (0..3 * each).map(|_| rx.blocking_recv().unwrap()).sum();
        assert_eq!(sum, 3 * each * (each - 1) / 2);
    });
}
