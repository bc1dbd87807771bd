//! Two processes on one machine, so to speak: a socket in the file system, and a pair without a name.
//!
//! cargo run -p examples --example unix_sockets

#[cfg(unix)]
#[nezumi::main]
async fn main() -> std::io::Result<()> {
    use nezumi::io::{AsyncReadExt, AsyncWriteExt};
    use nezumi::net::{UnixListener, UnixStream};

    let path = std::env::temp_dir().join(format!("nezumi-example-{}.socket", std::process::id()));
    let listener = UnixListener::bind(&path)?;
    let server = nezumi::spawn(async move {
        let (mut stream, _) = listener.accept().await?;
        let peer = stream.peer_cred()?;
        stream.write_all(format!("hello, process {}", peer.pid().unwrap_or_default()).as_bytes()).await
    });
    let mut answer = String::new();
    UnixStream::connect(&path).await?.read_to_string(&mut answer).await?;
    let is_me = answer == format!("hello, process {}", std::process::id());
    println!("the server knows who calls: {is_me}");
    server.await??;
    std::fs::remove_file(&path)?;

    let (mut one, mut other) = UnixStream::pair()?;
    one.write_all(b"squeak").await?;
    drop(one);
    let mut heard = String::new();
    other.read_to_string(&mut heard).await?;
    println!("through the pair came {heard:?}");
    Ok(())
}

#[cfg(not(unix))]
fn main() {
    println!("there are no Unix sockets here");
}
