use super::*;
use crate::driver::word::ReadyEvent;
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
enum Op {
    Event(u8),
    Note(u8),
    Clear(usize),
    Assume(u8),
    NewOwner,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => any::<u8>().prop_map(Op::Event),
        3 => any::<u8>().prop_map(Op::Note),
        3 => (0..8_usize).prop_map(Op::Clear),
        1 => any::<u8>().prop_map(Op::Assume),
        1 => Just(Op::NewOwner),
    ]
}

/// The same in the plainest form: for each bit, whether it is set, and how many events there were about each side.
#[derive(Default)]
struct Reference {
    set: u8,
    events: [u64; 2],
}

const SIDES: [u8; 2] = [0b11_0101, 0b00_1010];

impl Reference {
    fn event(&mut self, says: u8) {
        self.set |= says;
        for (count, side) in self.events.iter_mut().zip(SIDES) {
            *count += u64::from(says & side != 0);
        }
    }

    fn clear(&mut self, ready: u8, noted: [u64; 2]) {
        for ((count, noted), side) in self.events.iter().zip(noted).zip(SIDES) {
            if *count == noted {
                self.set &= !(ready & side & !0b00_1100);
            }
        }
    }
}

fn check(start: (u32, u32), ops: &[Op]) {
    let mut word = Word::NEW.with_ticks(start.0, start.1);
    let mut reference = Reference::default();
    let mut noted: Vec<(ReadyEvent, [u64; 2])> = Vec::new();
    for (i, &op) in ops.iter().enumerate() {
        match op {
            Op::Event(says) => {
                let says = Readiness::from_bits(says);
                word = word.dispatched(says);
                reference.event(says.bits());
            }
            Op::Note(wants) => {
                let wants = Readiness::from_bits(wants);
                let event = word.event(wants);
                assert_eq!(event.ready.bits(), reference.set & wants.bits());
                noted.push((event, reference.events));
            }
            Op::Clear(n) => {
                if let Some(&(event, events)) = noted.get(n) {
                    word = word.cleared(event);
                    reference.clear(event.ready.bits(), events);
                }
            }
            Op::Assume(ready) => {
                let ready = Readiness::from_bits(ready);
                word = word.assumed(ready);
                reference.set |= ready.bits();
            }
            Op::NewOwner => {
                word = word.freed(i as u32);
                reference.set = 0;
                // What an owner noted he took with him.
                noted.clear();
            }
        }
        assert_eq!(word.readiness().bits(), reference.set, "after {op:?}: {word:?}");
        assert!(!word.is_shut_down());
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 8 } else { 1024 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn behaves_like_sets_and_counters(
        start in prop_oneof![Just((0, 0)), Just((u32::MAX - 3, u32::MAX)), any::<(u32, u32)>()],
        ops in proptest::collection::vec(op(), 0..100),
    ) {
        check(start, &ops);
    }
}
