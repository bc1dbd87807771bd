//! Two programs, the output of one being the input of the other, and a limit to how long they may take.
//!
//! cargo run -p examples --example pipeline

#[cfg(unix)]
#[nezumi::main]
async fn main() -> std::io::Result<()> {
    use nezumi::process::Command;
    use nezumi::time::{Duration, timeout};
    use std::process::Stdio;

    let mut numbers = Command::new("seq").arg("10").stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
    let Some(output) = numbers.stdout.take() else { return Ok(()) };
    let filter = Command::new("grep")
        .arg("1")
        .stdin(TryInto::<Stdio>::try_into(output)?)
        .stdout(Stdio::piped())
        // If we give up on it, it does not stay behind.
        .kill_on_drop(true)
        .spawn()?;
    match timeout(Duration::from_secs(10), filter.wait_with_output()).await {
        Ok(result) => {
            for line in String::from_utf8_lossy(&result?.stdout).lines() {
                println!("{line} has a one in it");
            }
        }
        Err(_) => println!("it takes too long"),
    }
    println!("the first ended with {}", numbers.wait().await?);
    Ok(())
}

#[cfg(not(unix))]
fn main() {
    println!("this example uses programs that are not here");
}
