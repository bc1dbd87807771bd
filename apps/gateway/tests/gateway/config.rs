//! What a user sees of a configuration that is wrong.

use crate::harness::{Server, program, to};
use expect_test::{Expect, expect};
use tempfile::TempDir;

/// What `gateway check` says of `text`, with `gateway.toml` as the name of the file.
fn check(text: &str, expected: &Expect) {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("gateway.toml");
    std::fs::write(&path, text).expect("a file");
    let path = path.to_str().expect("a path");
    let output = program(&["check", "--config", path]);
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8(output.stderr).expect("text");
    expected.assert_eq(&told.replace(path, "gateway.toml"));
}

#[test]
fn the_example_is_valid() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/gateway.example.toml");
    let output = program(&["check", "--config", path]);
    assert_eq!(output.status.code(), Some(0));
    let told = String::from_utf8(output.stdout).expect("text");
    assert_eq!(told, format!("{path}: valid (1 listeners, 2 upstreams, 2 routes)\n"));
}

#[test]
fn a_file_that_is_not_there() {
    let output = program(&["serve", "--config", "nowhere.toml"]);
    assert_eq!(output.status.code(), Some(2));
    expect![""].assert_eq(&String::from_utf8(output.stderr).expect("text"));
}

#[test]
fn no_toml() {
    check("[server]\nworkers = \n[listener\n", &expect![""]);
}

#[test]
fn nothing_at_all() {
    check("", &expect![""]);
}

#[test]
fn wrong_values() {
    check(
        r#"
[server]
workers = 0
drain_timeout = 30

[log]
level = "loud"
format = "xml"

[[listener]]
address = "localhost:8080"
metrics = "everyone"
trust_forwarded = "yes"

[[upstream]]
name = "web"
members = ["http://127.0.0.1:9001", "127.0.0.1", 9002]
connect_timeout = "soon"

[[route]]
upstream = "web"
host = "example.com:80"
path = "api/*"
max_body = "huge"
max_concurrency = 0
"#,
        &expect![""],
    );
}

#[test]
fn unknown_and_missing_keys() {
    check(
        r#"
[[listner]]
address = "127.0.0.1:8080"

[[upstream]]
nam = "web"

[[route]]
upstream = "web"
colour = "blue"
total_timout = "1s"
"#,
        &expect![""],
    );
}

#[test]
fn what_does_not_fit_together() {
    check(
        r#"
[[listener]]
address = "127.0.0.1:8080"
[[listener]]
address = "127.0.0.1:8080"

[[upstream]]
name = "web"
members = ["127.0.0.1:9001"]
[[upstream]]
name = "web"
members = []

[[route]]
upstream = "wbe"
[[route]]
path = "/"
upstream = "web"
"#,
        &expect![""],
    );
}

#[test]
fn a_table_of_the_wrong_kind() {
    check("server = 1\n[listener]\naddress = \"127.0.0.1:8080\"\n", &expect![""]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_that_is_taken() {
    let taken = Server::named("a").await;
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("gateway.toml");
    let text = format!("[[listener]]\naddress = \"{taken}\"\n{}", to(&[&taken], ""));
    std::fs::write(&path, text).expect("a file");
    let output = program(&["serve", "--config", path.to_str().expect("a path")]);
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8(output.stderr).expect("text").replace(&taken.to_string(), "ADDRESS");
    expect![""].assert_eq(&told);
}
