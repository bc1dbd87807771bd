//! A tree of directories, several of them at a time: how many files, and how large.
//!
//! cargo run -p examples --example walk -- DIRECTORY
//!
//! Without a directory it makes a small one, and removes it again.

use nezumi::fs;
use nezumi::task::JoinSet;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Default)]
struct Total {
    files: u64,
    bytes: u64,
}

/// What is in one directory: its files, and where to go on.
async fn look(directory: PathBuf) -> io::Result<(Total, Vec<PathBuf>)> {
    let (mut total, mut further) = (Total::default(), Vec::new());
    let mut entries = fs::read_dir(&directory).await?;
    while let Some(entry) = entries.next_entry().await? {
        // Of the entry itself: a link is not followed, so there is no way in a circle.
        let metadata = entry.metadata().await?;
        if metadata.is_dir() {
            further.push(entry.path());
        } else {
            total.files += 1;
            total.bytes += metadata.len();
        }
    }
    Ok((total, further))
}

async fn walk(root: &Path) -> Total {
    let mut total = Total::default();
    let (mut waiting, mut looks) = (vec![root.to_path_buf()], JoinSet::new());
    loop {
        // So that a large tree does not become as many tasks at once.
        while looks.len() < 16 {
            let Some(directory) = waiting.pop() else { break };
            looks.spawn(look(directory));
        }
        match looks.join_next().await {
            Some(Ok(Ok((part, further)))) => {
                total.files += part.files;
                total.bytes += part.bytes;
                waiting.extend(further);
            }
            Some(Ok(Err(error))) => println!("left out: {error}"),
            Some(Err(error)) => println!("left out: {error}"),
            None => return total,
        }
    }
}

#[nezumi::main]
async fn main() -> io::Result<()> {
    let given = std::env::args_os().nth(1).map(PathBuf::from);
    let root = match &given {
        Some(path) => path.clone(),
        None => {
            let root = std::env::temp_dir().join(format!("nezumi-example-{}", std::process::id()));
            fs::create_dir_all(root.join("a/b")).await?;
            for file in ["one", "a/two", "a/b/three"] {
                fs::write(root.join(file), "squeak").await?;
            }
            root
        }
    };
    let total = walk(&root).await;
    println!("{} files, {} bytes", total.files, total.bytes);
    if given.is_none() {
        fs::remove_dir_all(&root).await?;
    }
    Ok(())
}
