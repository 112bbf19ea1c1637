//! A strict reader of Chrome traces, which shares no code with the writer. It takes less than viewers do: what it takes, they
//! show. Source: "Trace Event Format", Google, 2016 (complete events, metadata events), and perfetto.dev/docs/faq on overlaps.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// What a viewer would show.
pub(crate) struct Timeline {
    /// By number.
    pub(crate) processes: BTreeMap<u64, String>,
    /// By process and thread.
    pub(crate) lanes: BTreeMap<(u64, u64), String>,
    pub(crate) slices: Vec<Slice>,
}

pub(crate) struct Slice {
    pub(crate) name: String,
    pub(crate) iteration: Option<u64>,
    lane: (u64, u64),
    start: u64,
    end: u64,
}

impl Slice {
    pub(crate) fn nanoseconds(&self) -> u64 {
        self.end - self.start
    }
}

/// Reads a trace; the fault if it has one.
pub(crate) fn check(text: &str) -> Result<Timeline, String> {
    let trace: Map<String, Value> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if trace.get("displayTimeUnit").is_some_and(|unit| unit != "ms" && unit != "ns") {
        return Err("the display unit is neither ms nor ns".into());
    }
    let events = trace.get("traceEvents").and_then(Value::as_array).ok_or("no list of events")?;
    let mut timeline = Timeline { processes: BTreeMap::new(), lanes: BTreeMap::new(), slices: Vec::new() };
    for event in events {
        take(event, &mut timeline).map_err(|fault| format!("{fault}: {event}"))?;
    }
    timeline.slices.iter().try_for_each(|slice| {
        let is_named = timeline.lanes.contains_key(&slice.lane) && timeline.processes.contains_key(&slice.lane.0);
        is_named.then_some(()).ok_or_else(|| format!("`{}` is in a lane without a name", slice.name))
    })?;
    let mut sorted: Vec<&Slice> = timeline.slices.iter().collect();
    sorted.sort_by_key(|slice| (slice.lane, slice.start, slice.end));
    match sorted.windows(2).find(|pair| pair[0].lane == pair[1].lane && pair[1].start < pair[0].end) {
        Some(pair) => Err(format!("`{}` at {} ns overlaps `{}`", pair[1].name, pair[1].start, pair[0].name)),
        None => Ok(timeline),
    }
}

fn take(event: &Value, timeline: &mut Timeline) -> Result<(), String> {
    let event = event.as_object().ok_or("no object")?;
    let text = |key: &str| event.get(key).and_then(Value::as_str).ok_or(format!("no {key}"));
    let number = |key: &str| event.get(key).and_then(Value::as_u64).ok_or(format!("no {key}"));
    let args = event.get("args").and_then(Value::as_object).ok_or("no args")?;
    let lane = (number("pid")?, number("tid")?);
    let has_only = |keys: &[&str]| event.keys().all(|key| keys.contains(&key.as_str()));
    match text("ph")? {
        "M" => {
            if !has_only(&["ph", "name", "pid", "tid", "args"]) || args.len() != 1 {
                return Err("metadata holds more than a name and its value".into());
            }
            let name = || args.get("name").and_then(Value::as_str).map(str::to_owned).ok_or("no name to give");
            let twice = match text("name")? {
                "process_name" => timeline.processes.insert(lane.0, name()?).is_some(),
                "thread_name" => timeline.lanes.insert(lane, name()?).is_some(),
                "process_sort_index" | "thread_sort_index" => !args.get("sort_index").is_some_and(Value::is_i64),
                other => return Err(format!("`{other}` is no metadata")),
            };
            if twice { Err("named twice, or no number".into()) } else { Ok(()) }
        }
        "X" => {
            if !has_only(&["ph", "cat", "name", "pid", "tid", "ts", "dur", "args"]) || text("cat")?.is_empty() {
                return Err("a complete event with other keys".into());
            }
            let (start, took) = (nanoseconds(event, "ts")?, nanoseconds(event, "dur")?);
            let iteration = args.get("iteration").and_then(Value::as_u64);
            timeline.slices.push(Slice { name: text("name")?.into(), iteration, lane, start, end: start + took });
            Ok(())
        }
        other => Err(format!("`{other}` is no phase of ours")),
    }
}

/// A number of microseconds with at most three decimals, in nanoseconds. JSON numbers of a trial are far from 2^53 ns, so the
/// double that viewers read is within half a nanosecond.
fn nanoseconds(event: &Map<String, Value>, key: &str) -> Result<u64, String> {
    let us = event.get(key).and_then(Value::as_f64).ok_or(format!("no number {key}"))?;
    let ns = (us * 1e3).round();
    let is_exact = (0.0..9e15).contains(&ns) && (ns / 1e3 - us).abs() < 1e-9 * us.max(1.0);
    is_exact.then_some(ns as u64).ok_or(format!("{key} is no whole number of nanoseconds"))
}

#[test]
fn the_checker_finds_faults() {
    let named = r#"{"ph":"M","name":"process_name","pid":0,"tid":0,"args":{"name":"p"}},
        {"ph":"M","name":"thread_name","pid":0,"tid":1,"args":{"name":"t"}}"#;
    let slice = |ts: &str, dur: &str| {
        format!(r#"{{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":1,"ts":{ts},"dur":{dur},"args":{{}}}}"#)
    };
    let trace = |events: &[&str]| format!(r#"{{"traceEvents":[{}]}}"#, events.join(","));
    let sound = trace(&[named, &slice("1.500", "2.250"), &slice("3.750", "0.000")]);
    assert_eq!(check(&sound).expect("sound").slices[0].nanoseconds(), 2250);
    for (fault, text) in [
        ("EOF", &sound[..sound.len() - 1]),
        ("overlaps", &trace(&[named, &slice("1.5", "2.25"), &slice("3.749", "1")])),
        ("no whole number of nanoseconds", &trace(&[named, &slice("1.0005", "1")])),
        ("no whole number of nanoseconds", &trace(&[named, &slice("1", "-1")])),
        ("no number ts", &trace(&[named, &slice("\"1\"", "1")])),
        ("without a name", &trace(&[&slice("1", "1")])),
        ("named twice", &trace(&[named, named])),
    ] {
        let found = check(text).err().unwrap_or_else(|| panic!("no fault found: {fault}"));
        assert!(found.contains(fault), "`{found}` is not about `{fault}`");
    }
}
