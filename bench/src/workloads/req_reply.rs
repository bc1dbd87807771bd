//! What does it cost to ask a task that owns something, and to wait for its answer?
//!
//! How the answer could mislead: with one client the two tasks take turns and each wake finds its task asleep; with 64 the
//! server finds many requests at each poll and is rarely asleep. The channel of requests has room for all clients.

use super::{rt, start};
use crate::case::{Case, Done, Round, Setup};
use rt::sync::{mpsc, oneshot};

const PLACES: usize = 64;

pub(crate) fn cases() -> Vec<Case> {
    let case = |variant, clients| {
        let what = "so many tasks send a request and a oneshot for its answer to one task, and wait for it";
        Case::new(14, "req_reply", what, 1.5, move |setup| prepare(setup, clients))
            .variant(variant)
            .at("clients", clients)
    };
    vec![case("1 client", 1), case("8 clients", 8), case("64 clients", 64)]
}

fn prepare(setup: &Setup, clients: u64) -> Round {
    let runtime = start::runtime(setup);
    let each = setup.size(64_000, 6400, 640) / clients;
    Box::new(move || {
        let answers = start::on_worker(&runtime, async move {
            let (requests, inbox) = mpsc::channel(PLACES);
            let server = rt::spawn(answer(inbox));
            let clients: Vec<_> = (0..clients).map(|_| rt::spawn(ask(requests.clone(), each))).collect();
            drop(requests);
            for client in clients {
                client.await.unwrap();
            }
            server.await.unwrap()
        });
        assert_eq!(answers, clients * each, "a request was lost");
        Done::ops(answers)
    })
}

struct Request {
    number: u64,
    reply: oneshot::Sender<u64>,
}

async fn answer(mut inbox: mpsc::Receiver<Request>) -> u64 {
    let mut answers = 0;
    while let Some(request) = inbox.recv().await {
        request.reply.send(request.number + 1).unwrap();
        answers += 1;
    }
    answers
}

async fn ask(requests: mpsc::Sender<Request>, count: u64) {
    for number in 0..count {
        let (reply, answered) = oneshot::channel();
        assert!(requests.send(Request { number, reply }).await.is_ok(), "nobody answers any more");
        assert_eq!(answered.await, Ok(number + 1));
    }
}
