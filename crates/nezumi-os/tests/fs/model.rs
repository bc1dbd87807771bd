//! Any interleaving of reads, writes and seeks does what it does with `std`.

use crate::support::{TempDir, current_thread, pattern, poll_once};
use nezumi::fs::File;
use nezumi::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
use proptest::prelude::*;
use std::io::{Read, Seek, SeekFrom, Write};
use std::pin::pin;

#[derive(Clone, Debug)]
enum Step {
    Read(usize),
    /// Begun, polled once and dropped.
    CancelledRead(usize),
    Write(Vec<u8>),
    Seek(SeekFrom),
    SetLen(u64),
    /// To a clone and on with that.
    Clone,
    /// To `std` and back.
    Convert,
    Flush,
}

const LEN: usize = 10_000;

fn step() -> impl Strategy<Value = Step> {
    let offset = -(LEN as i64) - 100..LEN as i64 + 100;
    prop_oneof![
        4 => (0..6000usize).prop_map(Step::Read),
        2 => (1..6000usize).prop_map(Step::CancelledRead),
        3 => prop::collection::vec(any::<u8>(), 0..3000).prop_map(Step::Write),
        1 => (0..LEN as u64 + 100).prop_map(|to| Step::Seek(SeekFrom::Start(to))),
        2 => offset.clone().prop_map(|by| Step::Seek(SeekFrom::Current(by))),
        1 => offset.prop_map(|by| Step::Seek(SeekFrom::End(by))),
        1 => (0..LEN as u64 * 2).prop_map(Step::SetLen),
        1 => Just(Step::Clone),
        1 => Just(Step::Convert),
        1 => Just(Step::Flush),
    ]
}

async fn check(steps: Vec<Step>, max_buf_size: usize, known: bool) {
    let dir = TempDir::new();
    let (ours, theirs) = (dir.file("ours", pattern(LEN)), dir.file("theirs", pattern(LEN)));
    let mut options = std::fs::File::options();
    options.read(true).write(true);
    let mut model = options.open(&theirs).unwrap();
    let mut file = if known {
        File::options().read(true).write(true).open(&ours).await.unwrap()
    } else {
        File::from_std(options.open(&ours).unwrap())
    };
    file.set_max_buf_size(max_buf_size);
    for step in steps {
        match step {
            Step::Read(len) => {
                let (mut a, mut b) = (vec![0; len], vec![0; len]);
                // What a cancelled read left comes by itself; read on until the model has as much.
                let (mut got, mut want) = (0, 0);
                loop {
                    match file.read(&mut a[got..]).await.unwrap() {
                        0 => break,
                        n => got += n,
                    }
                }
                loop {
                    match model.read(&mut b[want..]).unwrap() {
                        0 => break,
                        n => want += n,
                    }
                }
                assert!(got == want && a == b, "{got} and {want}");
            }
            Step::CancelledRead(len) => {
                let mut buf = vec![0; len];
                if let std::task::Poll::Ready(read) = poll_once(pin!(file.read(&mut buf))) {
                    let mut other = vec![0; read.unwrap()];
                    model.read_exact(&mut other).unwrap();
                    assert!(buf[..other.len()] == other);
                }
            }
            Step::Write(bytes) => {
                file.write_all(&bytes).await.unwrap();
                model.write_all(&bytes).unwrap();
            }
            Step::Seek(to) => {
                let (a, b) = (file.seek(to).await, model.seek(to));
                assert_eq!(a.map_err(|error| error.kind()), b.map_err(|error| error.kind()));
            }
            Step::SetLen(len) => {
                file.set_len(len).await.unwrap();
                model.set_len(len).unwrap();
            }
            Step::Clone => file = file.try_clone().await.unwrap(),
            Step::Convert => {
                let mut std = file.into_std().await;
                assert_eq!(std.stream_position().unwrap(), model.stream_position().unwrap());
                file = File::from_std(std);
                file.set_max_buf_size(max_buf_size);
            }
            Step::Flush => file.flush().await.unwrap(),
        }
    }
    file.flush().await.unwrap();
    assert_eq!(file.stream_position().await.unwrap(), model.stream_position().unwrap());
    assert!(std::fs::read(&ours).unwrap() == std::fs::read(&theirs).unwrap());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_interleaving_does_what_it_does_with_std(
        steps in prop::collection::vec(step(), 1..40),
        max_buf_size in prop_oneof![Just(2 << 20), 1..2000usize],
        known: bool,
    ) {
        current_thread().block_on(check(steps, max_buf_size, known));
    }
}
