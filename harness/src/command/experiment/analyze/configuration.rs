//! On what a measurement ran: the device of every rank, its host, and its threads. Only measurements of one configuration may be
//! compared (timing schema, law 7).

use serde_json::{Map, Value};

/// What a rank ran on.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Place {
    /// By the names of [`ATTRIBUTES`].
    attributes: [String; ATTRIBUTES.len()],
}

/// What makes a device another one.
const ATTRIBUTES: [&str; 5] = ["device kind", "device name", "driver", "device UUID", "host"];
/// The place of the UUID among them.
const UUID: usize = 3;

/// The configuration of a measurement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Configuration {
    /// Threads of each rank.
    threads: String,
    /// By rank.
    places: Vec<Place>,
}

impl Configuration {
    /// As the metadata of a measurement say it.
    pub(super) fn of(metadata: &Map<String, Value>) -> Configuration {
        let list = |key: &str| metadata.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
        let hosts = list("hostnames");
        let place = |(rank, device): (usize, &Value)| {
            let of = |key: &str| said(device.get(key));
            Place { attributes: [of("kind"), of("name"), of("driver"), of("uuid"), said(hosts.get(rank))] }
        };
        Configuration {
            threads: said(metadata.get("threads")),
            places: list("devices").iter().enumerate().map(place).collect(),
        }
    }

    /// What differs from another configuration. Where ranks are what is compared, their number may: then rank 0 is the same on both sides,
    /// and every further rank runs on a device of that kind, name and driver, which may be another one of them and on another host.
    pub(super) fn difference(&self, other: &Configuration, compares_ranks: bool) -> Option<String> {
        let (Some(first), Some(own)) = (self.places.first(), other.places.first()) else {
            return Some("a side does not say what it ran on".into());
        };
        if self.threads != other.threads {
            return Some(format!("threads of a rank: {} and {}", self.threads, other.threads));
        }
        if compares_ranks {
            let alone = std::slice::from_ref;
            let further = self.places[1..].iter().chain(&other.places[1..]);
            return place_difference(alone(first), alone(own), true)
                .or_else(|| further.into_iter().find_map(|place| place_difference(alone(first), alone(place), false)));
        }
        if self.places.len() != other.places.len() {
            return Some(format!("ranks: {} and {}", self.places.len(), other.places.len()));
        }
        place_difference(&self.places, &other.places, true)
    }
}

/// The first attribute of a rank that differs; those that tell one GPU or host from its like only if asked.
fn place_difference(one: &[Place], other: &[Place], is_same_unit: bool) -> Option<String> {
    one.iter().zip(other).enumerate().find_map(|(rank, (one, other))| {
        let names = ATTRIBUTES.iter().enumerate().filter(|(place, _)| is_same_unit || *place < UUID);
        names
            .map(|(place, name)| (*name, &one.attributes[place], &other.attributes[place]))
            .find_map(|(name, one, other)| (one != other).then(|| format!("{name} of rank {rank}: {one} and {other}")))
    })
}

/// A value for people.
fn said(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "none".into(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn metadata(ranks: usize) -> Value {
        let device = |rank: usize| {
            let uuid = format!("GPU-{rank}");
            json!({"rank": rank, "kind": "cuda", "name": "H", "uuid": uuid, "driver": "12.8", "cores": 132})
        };
        let devices: Vec<Value> = (0..ranks).map(device).collect();
        json!({"threads": 4, "hostnames": vec!["node"; ranks], "devices": devices})
    }

    fn of(value: &Value) -> Configuration {
        Configuration::of(value.as_object().expect("an object"))
    }

    /// What `compares_ranks` and a change of a side's metadata give.
    fn changed(ranks: usize, compares_ranks: bool, pointer: &str, value: Value) -> Option<String> {
        let base = metadata(if compares_ranks { 1 } else { ranks });
        let mut variant = metadata(ranks);
        *variant.pointer_mut(pointer).expect("there") = value;
        of(&base).difference(&of(&variant), compares_ranks)
    }

    #[test]
    fn every_attribute_of_every_rank_makes_another_configuration() {
        assert_eq!(of(&metadata(2)).difference(&of(&metadata(2)), false), None);
        let attributes = [("kind", "simulated"), ("name", "A"), ("driver", "13.0"), ("uuid", "GPU-9")];
        for rank in 0..3 {
            for (key, value) in attributes {
                let found = changed(3, false, &format!("/devices/{rank}/{key}"), json!(value));
                let found = found.unwrap_or_else(|| panic!("{key} of rank {rank} makes no difference"));
                assert!(found.contains(&format!("of rank {rank}: ")) && found.contains(value), "{found}");
                let lost = changed(3, false, &format!("/devices/{rank}/{key}"), Value::Null);
                assert!(lost.is_some_and(|text| text.ends_with("and none")), "an unknown {key} is another one");
            }
            assert!(changed(3, false, &format!("/hostnames/{rank}"), json!("other")).is_some(), "host of rank {rank}");
        }
        assert_eq!(changed(2, false, "/threads", json!(8)).as_deref(), Some("threads of a rank: 4 and 8"));
        assert_eq!(of(&metadata(2)).difference(&of(&metadata(3)), false).as_deref(), Some("ranks: 2 and 3"));
        for compares_ranks in [false, true] {
            let silent = of(&metadata(0));
            assert!(silent.difference(&silent, compares_ranks).is_some(), "a side that says nothing is like no other");
        }
    }

    #[test]
    fn ranks_that_were_laid_out_otherwise_are_another_configuration() {
        let mut swapped = metadata(2);
        swapped["devices"][0]["uuid"] = json!("GPU-1");
        swapped["devices"][1]["uuid"] = json!("GPU-0");
        assert!(of(&metadata(2)).difference(&of(&swapped), false).is_some());
        let mut shared = metadata(2);
        shared["devices"][1]["uuid"] = json!("GPU-0");
        assert!(of(&metadata(2)).difference(&of(&shared), false).is_some(), "two ranks on one GPU");
    }

    #[test]
    fn where_ranks_are_compared_their_number_may_differ_and_nothing_else() {
        assert_eq!(of(&metadata(1)).difference(&of(&metadata(4)), true), None);
        // A further rank has a GPU or a host of its own, but of the same make.
        assert_eq!(changed(4, true, "/devices/3/uuid", json!("GPU-9")), None);
        assert_eq!(changed(4, true, "/hostnames/3", json!("other")), None);
        for rank in 0..4 {
            for (key, value) in [("kind", "simulated"), ("name", "A"), ("driver", "13.0")] {
                assert!(changed(4, true, &format!("/devices/{rank}/{key}"), json!(value)).is_some(), "{key} of {rank}");
            }
        }
        assert!(changed(4, true, "/devices/0/uuid", json!("GPU-9")).is_some(), "rank 0 is that of the single run");
        assert!(changed(4, true, "/hostnames/0", json!("other")).is_some());
        assert!(changed(4, true, "/threads", json!(8)).is_some());
    }
}
