//! Pipes in memory against a queue of bytes, and `copy_bidirectional` between two scripted streams.

use crate::ops::Ops;
use crate::polled::{once, to_the_end};
use crate::scripted::Scripted;
use nezumi::io::{
    AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy_bidirectional_with_sizes, duplex, simplex, split,
};
use std::collections::VecDeque;
use std::io::ErrorKind;
use std::task::Poll;

pub(crate) fn target(data: &[u8]) {
    let mut ops = Ops::new(data);
    match ops.below(3) {
        0 => both_ways(&mut ops),
        1 => {
            let capacity = 1 + ops.below(30);
            let (reader, writer) = simplex(capacity);
            one_way(&mut ops, capacity, reader, writer);
        }
        _ => {
            let capacity = 1 + ops.below(30);
            let (one, other) = duplex(capacity);
            if ops.flag() {
                // The same through halves; the others stay, and nothing comes their way.
                let ((reader, _w), (_r, writer)) = (split(one), split(other));
                one_way(&mut ops, capacity, reader, writer);
            } else {
                one_way(&mut ops, capacity, one, other);
            }
        }
    }
}

fn one_way(
    ops: &mut Ops<'_>,
    capacity: usize,
    mut reader: impl AsyncRead + Unpin,
    mut writer: impl AsyncWrite + Unpin,
) {
    let mut model: VecDeque<u8> = VecDeque::new();
    let mut is_shut_down = false;
    while let Some(op) = ops.next() {
        match op % 8 {
            0..=3 => {
                let length = 1 + ops.below(40);
                let bytes = ops.bytes(length);
                if bytes.is_empty() {
                    continue;
                }
                let room = capacity - model.len();
                match once(writer.write(bytes)) {
                    Poll::Ready(Ok(count)) => {
                        assert!(!is_shut_down && count == bytes.len().min(room), "{count} of {room} written");
                        model.extend(&bytes[..count]);
                    }
                    Poll::Ready(Err(error)) => {
                        assert_eq!((is_shut_down, error.kind()), (true, ErrorKind::BrokenPipe));
                    }
                    Poll::Pending => assert!(room == 0 && !is_shut_down, "it waits, and there is room"),
                }
            }
            4..=6 => {
                let mut bytes = vec![0; 1 + ops.below(40)];
                match once(reader.read(&mut bytes)) {
                    Poll::Ready(Ok(0)) => {
                        assert!(is_shut_down && model.is_empty(), "an end where there is none")
                    }
                    Poll::Ready(Ok(count)) => {
                        assert_eq!(count, bytes.len().min(model.len()));
                        assert!(model.drain(..count).eq(bytes[..count].iter().copied()), "other bytes");
                    }
                    Poll::Ready(Err(error)) => panic!("{error}"),
                    Poll::Pending => {
                        assert!(model.is_empty() && !is_shut_down, "it waits, and there is something")
                    }
                }
            }
            _ => {
                if ops.below(4) == 3 {
                    assert!(matches!(once(writer.shutdown()), Poll::Ready(Ok(()))));
                    is_shut_down = true;
                } else {
                    assert!(matches!(once(writer.flush()), Poll::Ready(Ok(()))));
                }
            }
        }
    }
    drop(writer);
    let mut rest = Vec::new();
    if is_shut_down {
        to_the_end(reader.read_to_end(&mut rest)).unwrap();
        assert!(model.into_iter().eq(rest));
    }
}

fn both_ways(ops: &mut Ops<'_>) {
    let (there, back) = (2 * ops.below(100), 2 * ops.below(100));
    let (there, back) = (ops.bytes(there), ops.bytes(back));
    let mut one = Scripted::new(there, ops);
    let mut other = Scripted::new(back, ops);
    let sizes = (1 + ops.below(20), 1 + ops.below(20));
    let counts = to_the_end(copy_bidirectional_with_sizes(&mut one, &mut other, sizes.0, sizes.1)).unwrap();
    assert_eq!(counts, (there.len() as u64, back.len() as u64));
    assert_eq!((&other.written[..], &one.written[..]), (there, back));
    assert!(one.is_shut_down && other.is_shut_down);
}
