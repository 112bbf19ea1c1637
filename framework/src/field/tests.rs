//! Merges, views and the record of borrows.

use super::*;
use crate::host::access::{Concurrent, Sequential};
use proptest::prelude::*;

const V: LocalId = LocalId::new(0);

fn column(kind: Kind) -> Column {
    match kind {
        Kind::U32 => Column::U32(Buf::zeroed(1)),
        Kind::F64 => Column::F64(Buf::zeroed(1)),
    }
}

/// The value after all offers, and whether any changed it.
fn merged(kind: Kind, merge: Merge, start: u64, offers: &[u64]) -> (u64, bool) {
    let column = column(kind);
    column.set_bits(V, start);
    let changed = offers.iter().filter(|&&offer| column.merge(V, merge, offer)).count() > 0;
    (column.bits(V), changed)
}

/// Values of a kind: for reals also infinities, but no NaN and one zero.
fn bits(kind: Kind) -> BoxedStrategy<u64> {
    match kind {
        Kind::U32 => any::<u32>().prop_map(u64::from).boxed(),
        Kind::F64 => {
            let real = any::<f64>().prop_filter("a number", |x| !x.is_nan() && *x != 0.0);
            prop_oneof![real, Just(0.0), Just(f64::INFINITY)].prop_map(f64::to_bits).boxed()
        }
    }
}

fn offers() -> impl Strategy<Value = (Kind, Merge, u64, Vec<u64>)> {
    let pairs =
        prop_oneof![Just((Kind::U32, Merge::Min)), Just((Kind::U32, Merge::Add)), Just((Kind::F64, Merge::Min)),];
    pairs.prop_flat_map(|(kind, merge)| (Just(kind), Just(merge), bits(kind), prop::collection::vec(bits(kind), 0..8)))
}

proptest! {
    #[test]
    fn merges_do_not_depend_on_order((kind, merge, start, offers) in offers(), turn in 0usize..8) {
        let right = merged(kind, merge, start, &offers).0;
        let mut turned = offers.clone();
        turned.reverse();
        prop_assert_eq!(merged(kind, merge, start, &turned).0, right);
        turned.rotate_left(turn.min(offers.len()));
        prop_assert_eq!(merged(kind, merge, start, &turned).0, right);
    }

    #[test]
    fn merges_do_not_depend_on_grouping((kind, merge, start, offers) in offers(), cut in 0usize..8) {
        let (left, right) = offers.split_at(cut.min(offers.len()));
        if let Some((&first, others)) = right.split_first() {
            // A peer that merges its own offers before it sends one.
            let (combined, _) = merged(kind, merge, first, others);
            let sent = [left, &[combined]].concat();
            prop_assert_eq!(merged(kind, merge, start, &sent).0, merged(kind, merge, start, &offers).0);
        }
    }

    #[test]
    fn a_minimum_is_idempotent_and_says_when_it_fell((kind, _, start, offers) in offers()) {
        let (once, changed) = merged(kind, Merge::Min, start, &offers);
        prop_assert_eq!(changed, once != start);
        prop_assert_eq!(merged(kind, Merge::Min, once, &offers), (once, false));
        prop_assert_eq!(merged(kind, Merge::Min, start, &[offers.clone(), offers].concat()).0, once);
    }

    #[test]
    fn reals_add_up_in_any_order_of_two(a in -1e3f64..1e3, b in -1e3f64..1e3, start in -1e3f64..1e3) {
        // Exact sums: multiples of 2^-20 of this size.
        let grid = |x: f64| ((x * 1_048_576.0).round() / 1_048_576.0).to_bits();
        let offers = [grid(a), grid(b)];
        let (sum, _) = merged(Kind::F64, Merge::Add, grid(start), &offers);
        prop_assert_eq!(merged(Kind::F64, Merge::Add, grid(start), &[offers[1], offers[0]]).0, sum);
    }

    #[test]
    fn rules_for_one_thread_and_for_many_do_the_same(start in 0u32..20, value in 0u32..20, to in any::<u32>()) {
        let both = |run: &dyn Fn(Changing<'_, u32>, bool) -> u64| {
            [true, false].map(|alone| {
                let mut fields = Fields::new(vec![Field::<u32>::new("x", Share::Private, 0).spec()], 1).expect("a name");
                let x = fields.changing(Field::<u32>::new("x", Share::Private, 0));
                x.set(V, start);
                (run(x, alone), x.get(V))
            })
        };
        let lower = both(&|x, alone| (if alone { x.lower::<Sequential>(V, value) } else { x.lower::<Concurrent>(V, value) }).into());
        prop_assert_eq!(lower, [(u64::from(value < start), start.min(value)); 2]);
        let add = both(&|x, alone| (if alone { x.add::<Sequential>(V, to) } else { x.add::<Concurrent>(V, to) }).into());
        prop_assert_eq!(add, [(start.into(), start.wrapping_add(to)); 2]);
        let sub = both(&|x, alone| (if alone { x.sub::<Sequential>(V, to) } else { x.sub::<Concurrent>(V, to) }).into());
        prop_assert_eq!(sub, [(start.into(), start.wrapping_sub(to)); 2]);
        let replace = both(&|x, alone| {
            (if alone { x.replace::<Sequential>(V, value, to) } else { x.replace::<Concurrent>(V, value, to) }).into()
        });
        prop_assert_eq!(replace, [(u64::from(value == start), if value == start { to } else { start }); 2]);
    }
}

const A: Field<u32> = Field::<u32>::new("a", Share::Private, 0);
const B: Field<f64> = Field::real("b", Share::Private, 0.0);
const C: Field<u32> = Field::<u32>::new("c", Share::Private, 0);

fn two() -> Fields {
    Fields::new(vec![A.spec(), B.spec(), C.spec()], 2).expect("three names")
}

#[test]
fn two_fields_of_one_name_and_too_many_fields_are_refused() {
    let error = Fields::new(vec![A.spec(), A.spec()], 1).err().expect("one name twice");
    assert_eq!(error.to_string(), "two fields are called `a`; give each its own name");
    const NAMES: [&str; 17] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q"];
    let specs = NAMES.map(|name| Field::<u32>::new(name, Share::Private, 0).spec()).to_vec();
    assert!(Fields::new(specs[..16].to_vec(), 1).is_ok());
    assert!(Fields::new(specs, 1).err().expect("17 fields").to_string().contains("at most 16"));
}

#[test]
fn swapped_fields_change_values_and_keep_names() {
    let mut fields = two();
    fields.changing(A).set(V, 1);
    fields.changing(C).set(V, 2);
    fields.swap(A.spec(), C.spec());
    assert_eq!((fields.changing(A).get(V), fields.changing(C).get(V)), (2, 1));
    assert_eq!(fields.raw(A.spec(), 2), [2, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn a_frozen_field_can_be_read_twice() {
    let mut fields = two();
    fields.changing(B).set(V, 0.5);
    let bind = fields.bind();
    assert_eq!(bind.frozen(B).get(V) + bind.frozen(B).get(V), 1.0);
}

#[test]
#[should_panic(expected = "field `a` is bound both frozen and changing")]
fn a_field_cannot_be_frozen_and_changing_in_one_call() {
    let mut fields = two();
    let bind = fields.bind();
    let _ = (bind.frozen(A).get(V), bind.changing(A));
}

#[test]
#[should_panic(expected = "field `a` is used but not declared in fields()")]
fn a_field_of_another_type_is_not_the_declared_one() {
    two().changing(Field::real("a", Share::Private, 0.0));
}
