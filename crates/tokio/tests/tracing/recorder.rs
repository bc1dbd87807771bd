//! A subscriber that writes down what it is told.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// What a span or an event says, by the name of the field.
pub(crate) type Fields = BTreeMap<String, String>;

/// One thing that was told.
#[derive(Clone, Debug)]
pub(crate) enum Told {
    New {
        id: u64,
        name: &'static str,
        target: String,
        fields: Fields,
        parent: Option<u64>,
    },
    Enter(u64),
    Exit(u64),
    /// The last clone of the span is gone.
    Closed(u64),
    /// With the spans that this thread is in, the innermost first.
    Event {
        target: String,
        fields: Fields,
        inside: Vec<u64>,
    },
}

#[derive(Clone)]
pub(crate) struct Recorder(Arc<Book>);

struct Book {
    told: Mutex<Vec<Told>>,
    clones: Mutex<BTreeMap<u64, usize>>,
    next: AtomicU64,
    also: Box<dyn Fn() + Send + Sync>,
}

thread_local! {
    static INSIDE: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
    static BUSY: Cell<bool> = const { Cell::new(false) };
}

impl Recorder {
    pub(crate) fn new() -> Self {
        Self::calling(|| {})
    }

    /// Calls `also` whenever it is told something.
    pub(crate) fn calling(also: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Arc::new(Book {
            told: Mutex::default(),
            clones: Mutex::default(),
            next: AtomicU64::new(1),
            also: Box::new(also),
        }))
    }

    /// What is told while `f` runs, by this thread, and by others within spans that `f` has made.
    pub(crate) fn record<R>(&self, f: impl FnOnce() -> R) -> R {
        tracing::subscriber::with_default(self.clone(), f)
    }

    /// All that was told so far.
    pub(crate) fn told(&self) -> Vec<Told> {
        self.0.told.lock().unwrap().clone()
    }

    /// The ids and fields of the spans with this name whose fields have this value.
    pub(crate) fn spans(&self, wanted: &str, field: &str, value: &str) -> Vec<(u64, Fields)> {
        let matching = |told| match told {
            Told::New { id, name, fields, .. }
                if name == wanted && fields.get(field).is_some_and(|found| found == value) =>
            {
                Some((id, fields))
            }
            _ => None,
        };
        self.told().into_iter().filter_map(matching).collect()
    }

    /// The fields of the events with this target, and the spans they happened in.
    pub(crate) fn events(&self, wanted: &str) -> Vec<(Fields, Vec<u64>)> {
        let matching = |told| match told {
            Told::Event { target, fields, inside } if target == wanted => Some((fields, inside)),
            _ => None,
        };
        self.told().into_iter().filter_map(matching).collect()
    }

    fn tell(&self, told: Told) {
        self.0.told.lock().unwrap().push(told);
        // What this does is told, too.
        if !BUSY.replace(true) {
            (self.0.also)();
            BUSY.set(false);
        }
    }
}

struct Reader<'a>(&'a mut Fields);

impl Visit for Reader<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }
}

impl Subscriber for Recorder {
    fn enabled(&self, _metadata: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let id = self.0.next.fetch_add(1, Ordering::Relaxed);
        self.0.clones.lock().unwrap().insert(id, 1);
        let mut fields = Fields::new();
        span.record(&mut Reader(&mut fields));
        let parent = match span.parent() {
            Some(parent) => Some(parent.into_u64()),
            None if span.is_contextual() => INSIDE.with_borrow(|inside| inside.last().copied()),
            None => None,
        };
        let (name, target) = (span.metadata().name(), span.metadata().target().to_owned());
        self.tell(Told::New { id, name, target, fields, parent });
        Id::from_u64(id)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::new();
        event.record(&mut Reader(&mut fields));
        let inside = INSIDE.with_borrow(|inside| inside.iter().rev().copied().collect());
        self.tell(Told::Event { target: event.metadata().target().to_owned(), fields, inside });
    }

    fn enter(&self, span: &Id) {
        INSIDE.with_borrow_mut(|inside| inside.push(span.into_u64()));
        self.tell(Told::Enter(span.into_u64()));
    }

    fn exit(&self, span: &Id) {
        let left = INSIDE.with_borrow_mut(Vec::pop);
        assert_eq!(left, Some(span.into_u64()), "spans are left in the reverse order");
        self.tell(Told::Exit(span.into_u64()));
    }

    fn clone_span(&self, span: &Id) -> Id {
        *self.0.clones.lock().unwrap().get_mut(&span.into_u64()).unwrap() += 1;
        span.clone()
    }

    fn try_close(&self, span: Id) -> bool {
        let closed = {
            let mut clones = self.0.clones.lock().unwrap();
            let left = clones.get_mut(&span.into_u64()).unwrap();
            *left -= 1;
            *left == 0
        };
        if closed {
            self.tell(Told::Closed(span.into_u64()));
        }
        closed
    }
}
