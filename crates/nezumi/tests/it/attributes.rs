use nezumi::runtime::{Handle, RuntimeFlavor};
use std::time::Duration;

#[nezumi::main]
async fn on_all_threads(argument: &str) -> usize {
    assert_eq!(Handle::current().runtime_flavor(), RuntimeFlavor::MultiThread);
    let length = argument.len();
    nezumi::spawn(async move { length }).await.unwrap()
}

#[test]
fn main_may_stand_on_any_function() {
    assert_eq!(on_all_threads("three"), 5);
}

#[nezumi::main(flavor = "multi_thread", worker_threads = 3, name = "three")]
async fn on_three_threads() -> (usize, Option<String>) {
    let handle = Handle::current();
    (handle.metrics().num_workers(), handle.name().map(str::to_owned))
}

#[test]
fn options_reach_the_runtime() {
    assert_eq!(on_three_threads(), (3, Some("three".to_owned())));
}

#[nezumi::test]
async fn a_test_has_one_thread() {
    assert_eq!(Handle::current().runtime_flavor(), RuntimeFlavor::CurrentThread);
}

#[nezumi::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_test_may_have_two_threads() {
    assert_eq!(Handle::current().metrics().num_workers(), 2);
}

#[nezumi::test(start_paused = true)]
async fn an_hour_passes_at_once_when_the_clock_is_stopped() {
    let start = nezumi::time::Instant::now();
    nezumi::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(start.elapsed(), Duration::from_secs(3600));
}

#[nezumi::test]
async fn a_test_may_return_a_result() -> Result<(), std::num::ParseIntError> {
    let number: u8 = "7".parse()?;
    if number == 7 {
        return Ok(());
    }
    unreachable!()
}

#[nezumi::test]
#[should_panic(expected = "inside the body")]
async fn a_panic_of_the_body_is_the_test_s() {
    panic!("inside the body");
}

#[nezumi::main(flavor = "current_thread")]
async fn never(stop: bool) -> ! {
    loop {
        assert!(!stop, "stopped");
        nezumi::task::yield_now().await;
    }
}

#[test]
#[should_panic(expected = "stopped")]
fn a_function_that_never_returns_is_accepted() {
    never(true);
}

#[nezumi::main(flavor = "current_thread")]
async fn something() -> impl std::fmt::Debug + PartialEq<i32> {
    #![allow(clippy::let_and_return)]
    let three = 3;
    three
}

#[test]
fn an_opaque_output_is_accepted() {
    assert_eq!(something(), 3);
}

mod renamed {
    pub(crate) use ::nezumi as other;
}

#[renamed::other::test(crate = "renamed::other")]
async fn the_crate_may_have_another_name() {
    renamed::other::spawn(async {}).await.unwrap();
}

#[nezumi::main(flavor = "local")]
async fn local() -> u32 {
    let here = std::rc::Rc::new(7);
    let seen = Handle::current().runtime_flavor();
    assert_eq!(seen, RuntimeFlavor::CurrentThread);
    *here
}

#[test]
fn the_local_flavor_is_built() {
    assert_eq!(local(), 7);
}
