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
    expect![[r#"
        nowhere.toml: the file cannot be read: No such file or directory (os error 2)
          mend: name a readable TOML file with --config; gateway.example.toml shows every key
        error: 1 problem in the configuration
    "#]]
    .assert_eq(&String::from_utf8(output.stderr).expect("text"));
}

#[test]
fn no_toml() {
    check(
        "[server]\nworkers = \n[listener\n",
        &expect![[r#"
            gateway.toml:2: not valid TOML: string values must be quoted, expected literal string
              mend: correct the syntax of this line (https://toml.io has the rules)
            gateway.toml:3: not valid TOML: unclosed table, expected `]`
              mend: correct the syntax of this line (https://toml.io has the rules)
            error: 2 problems in the configuration
        "#]],
    );
}

#[test]
fn nothing_at_all() {
    check(
        "",
        &expect![[r#"
            gateway.toml: there is no [[listener]]
              mend: add at least one [[listener]]; gateway.example.toml shows every key
            gateway.toml: there is no [[upstream]]
              mend: add at least one [[upstream]]; gateway.example.toml shows every key
            gateway.toml: there is no [[route]]
              mend: add at least one [[route]]; gateway.example.toml shows every key
            error: 3 problems in the configuration
        "#]],
    );
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
        &expect![[r#"
            gateway.toml:3: server.workers: 0 is out of range
              mend: write a whole number from 1 to 1024
            gateway.toml:4: server.drain_timeout: unexpected integer
              mend: write "30s", "250ms" or "2m"
            gateway.toml:7: log.level: "loud" is no list of levels
              mend: write "error", "warn", "info", "debug" or "trace", also by target: "info,hyper=warn"
            gateway.toml:8: log.format: "xml" is not one of its words
              mend: write "text" or "json"
            gateway.toml:11: listener.address: "localhost:8080" is not an address to listen on
              mend: write an IP address and a port, such as "127.0.0.1:8080", "0.0.0.0:80" or "[::]:80"
            gateway.toml:12: listener.metrics: "everyone" is not one of its words
              mend: write "local" or "anyone" or "nobody"
            gateway.toml:13: listener.trust_forwarded: unexpected string
              mend: write true or false, without quotes
            gateway.toml:17: upstream.members: unexpected integer
              mend: write a list of texts: members = ["127.0.0.1:9000"]
            gateway.toml:17: upstream.members: "http://127.0.0.1:9001" is not the address of a server
              mend: write host and port without a scheme, such as "127.0.0.1:9000" or "app.internal:80"
            gateway.toml:17: upstream.members: "127.0.0.1" is not the address of a server
              mend: write host and port without a scheme, such as "127.0.0.1:9000" or "app.internal:80"
            gateway.toml:18: upstream.connect_timeout: "soon" is not a duration
              mend: write "30s", "250ms" or "2m"
            gateway.toml:22: route.host: "example.com:80" is not a host
              mend: write a name without port or path, such as "example.com" or "*.example.com"; leave it out for all
            gateway.toml:23: route.path: "api/*" is not a path prefix
              mend: write whole segments from the root, such as "/" or "/api/v1", without * or a query
            gateway.toml:24: route.max_body: "huge" is not a size
              mend: write "64 KiB" or "10 MiB"
            gateway.toml:25: route.max_concurrency: 0 is out of range
              mend: write a whole number from 1 to 1000000
            error: 15 problems in the configuration
        "#]],
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
        &expect![[r#"
            gateway.toml: there is no [[listener]]
              mend: add at least one [[listener]]; gateway.example.toml shows every key
            gateway.toml:2: listner: unknown key
              mend: did you mean `listener`?
            gateway.toml:5: upstream.name: the key is missing
              mend: add name = "web" to this section
            gateway.toml:5: upstream.members: the key is missing
              mend: add members = ["127.0.0.1:9000"] to this section
            gateway.toml:6: upstream.nam: unknown key
              mend: did you mean `name`?
            gateway.toml:9: route.upstream: no [[upstream]] is called "web"
              mend: add an [[upstream]] with name = "web"
            gateway.toml:10: route.colour: unknown key
              mend: remove it; the keys known here are host, path, upstream, name, strip_prefix, host_header, header_timeout, total_timeout, max_body, max_concurrency, priority
            gateway.toml:11: route.total_timout: unknown key
              mend: did you mean `total_timeout`?
            error: 8 problems in the configuration
        "#]],
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
        &expect![[r#"
            gateway.toml:4: listener: the address 127.0.0.1:8080 is already taken by the [[listener]] at line 2
              mend: give each its own, or remove one of the two
            gateway.toml:10: upstream: the name "web" is already taken by the [[upstream]] at line 7
              mend: give each its own, or remove one of the two
            gateway.toml:12: upstream.members: the list is empty
              mend: write a list of texts: members = ["127.0.0.1:9000"]
            gateway.toml:15: route.upstream: no [[upstream]] is called "wbe"
              mend: name "web", or add an [[upstream]] called that
            gateway.toml:16: route: what starts with "/" is already taken by the [[route]] at line 14
              mend: give each its own, or remove one of the two
            error: 5 problems in the configuration
        "#]],
    );
}

#[test]
fn a_table_of_the_wrong_kind() {
    check(
        "server = 1\n[listener]\naddress = \"127.0.0.1:8080\"\n",
        &expect![[r#"
            gateway.toml: there is no [[upstream]]
              mend: add at least one [[upstream]]; gateway.example.toml shows every key
            gateway.toml: there is no [[route]]
              mend: add at least one [[route]]; gateway.example.toml shows every key
            gateway.toml:1: server: unexpected integer
              mend: write it as a table: [server]
            gateway.toml:2: listener: unexpected table
              mend: write it with two brackets: [[listener]]
            error: 4 problems in the configuration
        "#]],
    );
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
    expect![[r#"
        error: cannot listen on ADDRESS: Address already in use (os error 98)
          mend: stop the program that has it, or choose another address
    "#]]
    .assert_eq(&told);
}
