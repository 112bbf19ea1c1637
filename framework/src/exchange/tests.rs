use super::*;
use crate::field::{Field, FieldSpec, Share};
use crate::graph::{Graph, View};
use crate::host::{IdlePolicy, Pool};
use crate::partition::Part;
use crate::transport::local;
use proptest::prelude::*;

const COUNT: Field<u32> = Field::<u32>::new("count", Share::FromOwner, 0);
const REAL: Field<f64> = Field::real("real", Share::FromOwner, 0.0);
const SLOTS: [usize; 2] = [0, 1];
/// Bytes of the two values.
const RECORD: usize = 12;

fn fields(len: usize) -> Fields {
    Fields::new(vec![COUNT.spec(), REAL.spec()], len).expect("two names")
}

/// Fields with a value of its own at every place.
fn filled(len: usize) -> Fields {
    let fields = fields(len);
    for v in 0..len as u32 {
        fields.column(0).set_bits(LocalId::new(v), u64::from(v ^ 0xdead_0000));
        fields.column(1).set_bits(LocalId::new(v), (f64::from(v) / 3.0).to_bits());
    }
    fields
}

/// A route, and some of its places: none, few, many or all, in any order and with repetitions.
fn routes() -> impl Strategy<Value = (usize, Vec<u32>)> {
    (1usize..300).prop_flat_map(|route| {
        let place = 0..route as u32;
        let some = |most: usize| prop::collection::vec(place.clone(), 0..=most);
        let all = Just((0..route as u32).rev().collect::<Vec<u32>>());
        (Just(route), prop_oneof![some(1 + route / 40), some(route), some(3 * route), all])
    })
}

fn packed(route: usize, places: &[u32]) -> Vec<u8> {
    let mut message = vec![7; 5]; // what is left of the last one
    pack(&mut message, &mut places.to_vec(), route, |place| LocalId::new(place + 3), &filled(route + 3), &SLOTS);
    message
}

/// What arrives, place by place.
fn unpacked(route: usize, message: &[u8]) -> Result<Vec<(u32, Vec<u64>)>> {
    let mut arrived = Vec::new();
    unpack(4, message, route, &fields(1), &SLOTS, |place, values| arrived.push((place, values.to_vec())))?;
    Ok(arrived)
}

proptest! {
    #[test]
    fn what_is_packed_arrives_whole_and_in_the_shortest_form((route, places) in routes()) {
        let message = packed(route, &places);
        let mut wanted = places;
        wanted.sort_unstable();
        wanted.dedup();
        let values = filled(route + 3);
        let value = |place: u32| SLOTS.map(|slot| values.column(slot).bits(LocalId::new(place + 3))).to_vec();
        let arrived = unpacked(route, &message).expect("a message of ours");
        prop_assert_eq!(arrived, wanted.iter().map(|&place| (place, value(place))).collect::<Vec<_>>());
        let names = match wanted.len() {
            none_or_all if none_or_all % route == 0 => 0,
            some => (some * 4).min(route.div_ceil(8)),
        };
        prop_assert_eq!(message.len(), if wanted.is_empty() { 0 } else { 1 + wanted.len() * RECORD + names });
    }

    #[test]
    fn a_message_cut_short_or_too_long_is_an_error_and_no_panic((route, places) in routes(), cut in 1usize..4000) {
        let message = packed(route, &places);
        prop_assume!(!message.is_empty());
        let mut long = message.clone();
        long.push(0);
        prop_assert!(unpacked(route, &long).is_err());
        let cut = 1 + cut % message.len();
        prop_assume!(cut < message.len());
        // A sparse message that ends between two records is a shorter one; nothing in it says how many belong.
        let is_shorter = message[0] == SPARSE && (cut - 1).is_multiple_of(RECORD + 4);
        prop_assert_eq!(unpacked(route, &message[..cut]).is_ok(), is_shorter);
    }

    #[test]
    fn any_bytes_are_places_of_the_route_or_an_error(
        route in 0usize..100,
        form in 0u8..6,
        rest in prop::collection::vec(any::<u8>(), 0..400),
        tame in any::<bool>(),
    ) {
        let mut message = vec![form];
        // High bytes zeroed now and then, so that sparse places are often in range.
        message.extend(rest.iter().enumerate().map(|(i, &byte)| if tame && i % 16 != 0 { 0 } else { byte }));
        match unpacked(route, &message) {
            Ok(arrived) => prop_assert!(arrived.iter().all(|&(place, _)| (place as usize) < route)),
            Err(error) => {
                let text = format!("rank 4 stopped before the run was over: its message of {} bytes does not fit", message.len());
                prop_assert!(error.to_string().starts_with(&text), "{}", error);
            }
        }
    }
}

const LEAST: Field<u32> = Field::<u32>::new("least", Share::Both(Merge::Min), 0);
const LOSS: Field<u32> = Field::<u32>::new("loss", Share::ToOwner(Merge::Add), 0);
const OWN: Field<u32> = Field::<u32>::new("own", Share::Private, 0);

/// How much of a rank's state changes before an exchange.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Change {
    /// Anything may have.
    Unnamed,
    /// All vertices, named one by one.
    All,
    /// About half of them, named one by one.
    Half,
}

impl Change {
    fn names(self, seed: u64, rank: u64, vertex: u64) -> bool {
        self != Change::Half || draw(!seed, rank, vertex).is_multiple_of(2)
    }
}

/// A number for a vertex on a rank.
fn draw(seed: u64, rank: u64, vertex: u64) -> u32 {
    (crate::base::checksum::split_mix(seed ^ rank << 40 ^ vertex) >> 20) as u32
}

/// What a rank has after an exchange: its owned values and its ghosts, by global number, for each field.
type Held = Vec<(u32, bool, [u32; 3])>;

/// Every rank draws values for what it sees, says what changed, and exchanges once.
fn exchanged(graph: &Graph, ranks: usize, seed: u64, change: Change) -> Vec<(Held, Tally)> {
    let specs: Vec<FieldSpec> = vec![LEAST.spec(), LOSS.spec(), OWN.spec()];
    std::thread::scope(|scope| {
        let threads: Vec<_> = local(ranks, IdlePolicy::Park)
            .into_iter()
            .map(|mut end| {
                let specs = specs.clone();
                scope.spawn(move || {
                    let rank = u64::from(end.rank().0);
                    let pool = Pool::new(1, IdlePolicy::Park);
                    let part = Part::cut(graph, &mut end, &pool).expect("all ranks are there");
                    let layout = crate::step::Layout::Rows;
                    let mut step = Step::new(&part, &pool, specs, layout).expect("three names");
                    for v in part.local_vertices() {
                        let drawn = draw(seed, rank, part.global(v).0.into());
                        step.set(LEAST, v, drawn);
                        step.set(LOSS, v, drawn % 1000);
                        step.set(OWN, v, drawn);
                        match (change, change.names(seed, rank, part.global(v).0.into()), part.is_ghost(v)) {
                            (Change::Unnamed, ..) => step.mark_all_dirty(),
                            (_, true, true) => step.frontier.offers.push(v),
                            (_, true, false) => step.activate(v),
                            (_, false, _) => {}
                        }
                    }
                    let tally = Exchange::new(&mut end).run(&mut step).expect("all ranks are there");
                    let held = part.local_vertices().map(|v| {
                        let values = [step.get(LEAST, v), step.get(LOSS, v), step.get(OWN, v)];
                        (part.global(v).0, part.is_ghost(v), values)
                    });
                    (held.collect(), tally)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn owners_merge_all_offers_and_ghosts_get_the_result(
        arcs in prop::collection::vec((0i64..120, 0i64..120), 0..300),
        ranks in 1usize..=5,
        seed in any::<u64>(),
        change in prop_oneof![Just(Change::Unnamed), Just(Change::All), Just(Change::Half)],
    ) {
        let graph = Graph::from_pairs("random", &arcs, true, View::AsGiven { incoming: true }).expect("a small graph");
        let held = exchanged(&graph, ranks, seed, change);
        let mut changed_by_offers = vec![0; ranks];
        for v in 0..graph.vertices() as u32 {
            let find = |rank: usize| held[rank].0.iter().find(|&&(name, ..)| name == v).copied();
            let drawn = |rank: usize| draw(seed, rank as u64, v.into());
            let names = |rank: usize| change.names(seed, rank as u64, v.into());
            let owner = (0..ranks).find(|&rank| find(rank).is_some_and(|(_, ghost, _)| !ghost)).expect("an owner");
            let offering: Vec<usize> =
                (0..ranks).filter(|&rank| rank != owner && find(rank).is_some() && names(rank)).collect();
            let least = offering.iter().map(|&rank| drawn(rank)).fold(drawn(owner), u32::min);
            let loss = offering.iter().map(|&rank| drawn(rank) % 1000).sum::<u32>() + drawn(owner) % 1000;
            let is_woken = least != drawn(owner) || loss != drawn(owner) % 1000;
            changed_by_offers[owner] += u64::from(is_woken);
            prop_assert_eq!(find(owner), Some((v, false, [least, loss, drawn(owner)])));
            for rank in (0..ranks).filter(|&rank| rank != owner) {
                let Some((_, _, found)) = find(rank) else { continue };
                // A copy comes when the owner changed; a loss that was handed over starts again from 0.
                let copy = if is_woken || names(owner) { least } else { drawn(rank) };
                let kept = if names(rank) { 0 } else { drawn(rank) % 1000 };
                prop_assert_eq!(found, [copy, kept, drawn(rank)], "ghost {} on {}", v, rank);
            }
        }
        for (rank, (_, tally)) in held.iter().enumerate() {
            prop_assert_eq!(tally.active, changed_by_offers[rank], "a vertex is woken once");
        }
    }
}
