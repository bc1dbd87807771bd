//! What do files cost that are in memory anyway?
//!
//! How the answer could mislead: it is about files on a disk's file system, next to this program, whose pages and names the
//! system has in its caches. Where they are not, the disk decides, and the two sides are alike; on tmpfs there is no way to
//! ask what is in memory. The walk looks at names and types only, which is all that many walks need.

use std::path::{Path, PathBuf};

use super::{rt, start};
use crate::case::{Case, Done, Round, Setup};
use rt::fs::{self, File};
use rt::io::{AsyncReadExt, AsyncSeekExt};
use std::io::SeekFrom;

const PAGE: u64 = 4096;
const PAGES: u64 = 4096;

pub(crate) fn cases() -> Vec<Case> {
    vec![
        Case::new(20, "fs", "a seek and a read of 4 KiB, at random in a file of 16 MiB", 1.2, prepare_reads)
            .variant("4 KiB cached random reads"),
        Case::new(20, "fs", "one entry of a tree of 10 k files in 110 directories", 1.2, prepare_walk)
            .variant("walk of 10 k files"),
    ]
}

fn prepare_reads(setup: &Setup) -> Round {
    let path = place("pages", |path| std::fs::write(path, vec![7; (PAGE * PAGES) as usize]));
    // Into the cache with it.
    std::fs::read(&path).unwrap();
    let reads = setup.size(4096, 512, 64);
    let runtime = start::runtime(setup);
    let mut file = Some(runtime.block_on(File::open(path)).unwrap());
    Box::new(move || {
        let opened = file.take().unwrap();
        file = Some(start::on_worker(&runtime, read_at_random(opened, reads)));
        Done::ops(reads)
    })
}

async fn read_at_random(mut file: File, reads: u64) -> File {
    let mut page = [0; PAGE as usize];
    let mut at = 1u64;
    for _ in 0..reads {
        at = at.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        file.seek(SeekFrom::Start((at >> 33) % PAGES * PAGE)).await.unwrap();
        file.read_exact(&mut page).await.unwrap();
        assert_eq!(page[0], 7);
    }
    file
}

fn prepare_walk(setup: &Setup) -> Round {
    let root = place("tree", |path| {
        for directory in 0..100 {
            let directory = path.join((directory / 10).to_string()).join(directory.to_string());
            std::fs::create_dir_all(&directory)?;
            for file in 0..100 {
                std::fs::write(directory.join(format!("file-{file}.txt")), "contents")?;
            }
        }
        Ok(())
    });
    let runtime = start::runtime(setup);
    Box::new(move || {
        let entries = start::on_worker(&runtime, walk(root.clone()));
        assert_eq!(entries, 10_000 + 110);
        Done::ops(entries)
    })
}

async fn walk(root: PathBuf) -> u64 {
    let mut entries = 0;
    let mut ahead = vec![root];
    while let Some(directory) = ahead.pop() {
        let mut directory = fs::read_dir(directory).await.unwrap();
        while let Some(entry) = directory.next_entry().await.unwrap() {
            entries += 1;
            if entry.file_type().await.unwrap().is_dir() {
                ahead.push(entry.path());
            }
        }
    }
    entries
}

/// A file or directory beside this program, made the first time it is needed and kept for the next.
fn place(name: &str, make: impl FnOnce(&Path) -> std::io::Result<()>) -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let path = program.with_file_name(format!("bench-fs-{name}"));
    if !path.exists() {
        // Under another name until it is whole.
        let (process, thread) = (std::process::id(), std::thread::current().id());
        let making = program.with_file_name(format!("bench-fs-{name}-{process}-{thread:?}"));
        make(&making).unwrap();
        if std::fs::rename(&making, &path).is_err() {
            assert!(path.exists(), "it can be made, and somebody was quicker");
            let _ = std::fs::remove_file(&making).or_else(|_| std::fs::remove_dir_all(&making));
        }
    }
    path
}
