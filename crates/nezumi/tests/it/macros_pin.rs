use crate::hand::{poll, run};
use std::task::Poll;

#[test]
fn variables_are_pinned_under_their_names() {
    let (one, two) = (async { 1 }, async { 2 });
    nezumi::pin!(one, two);
    assert_eq!(poll(one.as_mut()), Poll::Ready(1));
    assert_eq!(poll(two), Poll::Ready(2));
}

#[test]
fn variables_are_declared_and_pinned() {
    nezumi::pin! {
        let one = async { 1 };
        let two = async { 2 };
    }
    assert_eq!(run(async { (&mut one).await + (&mut two).await }), 3);
}
