//! Buffered readers and writers, over a stream that gives and takes little at a time, against the standard library's over all bytes at once.

use crate::ops::Ops;
use crate::polled::to_the_end;
use crate::scripted::Scripted;
use nezumi::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, BufWriter};
use std::io::{BufRead, Cursor, Read};

pub(crate) fn target(data: &[u8]) {
    let mut ops = Ops::new(data);
    match ops.below(4) {
        0 => lines(&mut ops),
        1 => segments(&mut ops),
        2 => mixed(&mut ops),
        _ => writes(&mut ops),
    }
}

fn reader(ops: &mut Ops<'_>) -> (BufReader<Scripted>, Vec<u8>) {
    let capacity = 1 + ops.below(20);
    let length = 4 * ops.below(64);
    let input = ops.bytes(length).to_vec();
    (BufReader::with_capacity(capacity, Scripted::new(&input, ops)), input)
}

/// What the standard library reads, and Nezumi cannot.
fn plain(input: Vec<u8>) -> std::io::BufReader<Cursor<Vec<u8>>> {
    std::io::BufReader::new(Cursor::new(input))
}

fn lines(ops: &mut Ops<'_>) {
    let (reader, input) = reader(ops);
    let mut lines = reader.lines();
    for expected in plain(input).lines() {
        match (to_the_end(lines.next_line()), expected) {
            (Ok(Some(line)), Ok(expected)) => assert_eq!(line, expected),
            (Err(error), Err(expected)) => return assert_eq!(error.kind(), expected.kind()),
            (line, expected) => panic!("{line:?}, and not {expected:?}"),
        }
    }
    assert_eq!(to_the_end(lines.next_line()).unwrap(), None);
}

fn segments(ops: &mut Ops<'_>) {
    let byte = ops.next().unwrap_or(b'x');
    let (reader, input) = reader(ops);
    let mut segments = reader.split(byte);
    for expected in plain(input).split(byte) {
        assert_eq!(to_the_end(segments.next_segment()).unwrap(), Some(expected.unwrap()));
    }
    assert_eq!(to_the_end(segments.next_segment()).unwrap(), None);
}

/// One reader, used in every way in turn.
fn mixed(ops: &mut Ops<'_>) {
    let (mut reader, input) = reader(ops);
    let mut model = plain(input);
    while let Some(op) = ops.next() {
        match op % 6 {
            0 => {
                let (byte, mut read, mut expected) = (ops.next().unwrap_or(0), Vec::new(), Vec::new());
                let count = to_the_end(reader.read_until(byte, &mut read)).unwrap();
                assert_eq!(count, model.read_until(byte, &mut expected).unwrap());
                assert_eq!(read, expected);
            }
            1 => {
                let (mut read, mut expected) = (vec![0; ops.below(50)], Vec::new());
                expected.resize(read.len(), 0);
                match (to_the_end(reader.read_exact(&mut read)), model.read_exact(&mut expected)) {
                    (Ok(count), Ok(())) => assert_eq!((count, read), (expected.len(), expected)),
                    (Err(error), Err(expected)) => {
                        // How much of the rest was read is not promised.
                        assert_eq!(error.kind(), expected.kind());
                        return;
                    }
                    (read, expected) => panic!("{read:?}, and not {expected:?}"),
                }
            }
            2 => {
                let mut read = vec![0; 1 + ops.below(50)];
                let count = to_the_end(reader.read(&mut read)).unwrap();
                let mut expected = vec![0; count];
                model.read_exact(&mut expected).expect("no more than there is");
                assert_eq!(read[..count], expected);
                assert!(count > 0 || model.fill_buf().unwrap().is_empty(), "an end where there is none");
            }
            3 => {
                let most = ops.below(50);
                let filled = to_the_end(reader.fill_buf()).unwrap();
                let count = filled.len().min(most);
                let expected = model.fill_buf().unwrap();
                assert!(expected.starts_with(filled) && filled.is_empty() == expected.is_empty());
                reader.consume(count);
                model.consume(count);
            }
            4 => {
                let most = ops.below(40) as u64;
                let (mut read, mut expected) = (Vec::new(), Vec::new());
                to_the_end((&mut reader).take(most).read_to_end(&mut read)).unwrap();
                model.by_ref().take(most).read_to_end(&mut expected).unwrap();
                assert_eq!(read, expected);
            }
            _ => {
                let (mut read, mut expected) = (String::from("so far"), String::from("so far"));
                match (to_the_end(reader.read_line(&mut read)), model.read_line(&mut expected)) {
                    (Ok(count), Ok(expected_count)) => {
                        assert_eq!((count, read), (expected_count, expected));
                    }
                    (Err(error), Err(expected)) => return assert_eq!(error.kind(), expected.kind()),
                    (read, expected) => panic!("{read:?}, and not {expected:?}"),
                }
            }
        }
    }
}

fn writes(ops: &mut Ops<'_>) {
    let capacity = ops.below(20);
    let mut writer = BufWriter::with_capacity(capacity, Scripted::new(&[], ops));
    let mut expected = Vec::new();
    while let Some(op) = ops.next() {
        match op % 4 {
            0 | 1 => {
                let length = ops.below(48);
                let bytes = ops.bytes(length);
                to_the_end(writer.write_all(bytes)).unwrap();
                expected.extend_from_slice(bytes);
            }
            2 => {
                let length = ops.below(48);
                let bytes = ops.bytes(length);
                let count = to_the_end(writer.write(bytes)).unwrap();
                assert!(count > 0 || bytes.is_empty());
                expected.extend_from_slice(&bytes[..count]);
            }
            _ => {
                to_the_end(writer.flush()).unwrap();
                assert_eq!(writer.get_ref().written, expected);
            }
        }
        assert!(expected.starts_with(&writer.get_ref().written), "what was written out is not what came in");
    }
    to_the_end(writer.shutdown()).unwrap();
    assert_eq!(writer.get_ref().written, expected);
    assert!(writer.get_ref().is_shut_down);
}
