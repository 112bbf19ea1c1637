//! Writing Chrome traces: one JSON object with `traceEvents`, which trace viewers and `harness trace` open.
//!
//! Events are written as they come, so memory does not grow with the trace. Times are in microseconds with the nanoseconds as
//! decimals. In one lane (a thread of a process) activities must come in the order of time and must not overlap: viewers
//! drop or misplace slices that do, so such a trace is refused instead.
//! Format: "Trace Event Format", Google, 2016; what viewers make of it: perfetto.dev/docs/faq, "overlapping events".

use crate::activity::{Activity, ApiClass, Kind};
use crate::names::Names;
use crate::time::Microseconds;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::io::{self, Write};

/// A trace being written.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
    has_events: bool,
    /// By process and thread: the end of the last activity.
    ends: HashMap<(u32, u32), i64>,
}

impl<W: Write> Writer<W> {
    /// Begins a trace. The keys of `head` stand before the events; they say what the trace is of.
    ///
    /// # Errors
    /// When `out` does not take it.
    pub fn new(mut out: W, head: &Map<String, Value>) -> io::Result<Writer<W>> {
        write!(out, "{{")?;
        for (key, value) in head {
            writeln!(out, "{}:{value},", Value::from(key.as_str()))?;
        }
        write!(out, "\"traceEvents\":[")?;
        Ok(Writer { out, has_events: false, ends: HashMap::new() })
    }

    /// Names a process; processes are shown in the order of their numbers.
    ///
    /// # Errors
    /// When `out` does not take it.
    pub fn process(&mut self, pid: u32, name: &str) -> io::Result<()> {
        self.metadata(pid, 0, "process_name", "name", name.into())?;
        self.metadata(pid, 0, "process_sort_index", "sort_index", pid.into())
    }

    /// Names a lane of a process; lanes are shown in the order of their numbers.
    ///
    /// # Errors
    /// When `out` does not take it.
    pub fn lane(&mut self, pid: u32, tid: u32, name: &str) -> io::Result<()> {
        self.metadata(pid, tid, "thread_name", "name", name.into())?;
        self.metadata(pid, tid, "thread_sort_index", "sort_index", tid.into())
    }

    /// Writes an activity.
    ///
    /// # Errors
    /// When `out` does not take it, or the activity ends before it begins or begins before the last one of its lane has ended.
    pub fn activity(&mut self, activity: &Activity, names: &Names) -> io::Result<()> {
        let Activity { start_ns, end_ns, pid, tid, .. } = *activity;
        let name = names.text(activity.name);
        let free_from = self.ends.insert((pid, tid), end_ns).unwrap_or(i64::MIN);
        if start_ns < free_from || end_ns < start_ns {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!(
                    "`{name}` from {start_ns} to {end_ns} ns does not follow what ended in its lane at {free_from} ns; \
                     give overlapping event lanes of its own"
                ),
            ));
        }
        self.separate()?;
        let (ts, dur) = (Microseconds(start_ns), Microseconds(end_ns - start_ns));
        let (category, title) = (category(activity.kind), Value::from(name));
        write!(
            self.out,
            r#"{{"ph":"X","cat":"{category}","name":{title},"pid":{pid},"tid":{tid},"ts":{ts},"dur":{dur}"#
        )?;
        let mut args = Map::new();
        for (key, number) in
            [("device", activity.device), ("stream", activity.stream), ("correlation", activity.correlation)]
        {
            if let Some(number) = number {
                args.insert(key.into(), number.get().into());
            }
        }
        if activity.kind == Kind::Communication {
            // By this readers tell communication from computation, whatever its name.
            args.insert("Collective name".into(), name.into());
        }
        for (key, value) in activity.detail.into_iter().flat_map(|detail| names.attributes(detail)) {
            args.insert(key.into(), value.into());
        }
        write!(self.out, ",\"args\":{}}}", Value::Object(args))
    }

    /// Ends the trace; what it was written to.
    ///
    /// # Errors
    /// When `out` does not take it.
    pub fn finish(mut self) -> io::Result<W> {
        writeln!(self.out, "\n]}}")?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn metadata(&mut self, pid: u32, tid: u32, what: &str, key: &str, value: Value) -> io::Result<()> {
        self.separate()?;
        write!(self.out, r#"{{"ph":"M","name":"{what}","pid":{pid},"tid":{tid},"args":{{"{key}":{value}}}}}"#)
    }

    fn separate(&mut self) -> io::Result<()> {
        let comma = if std::mem::replace(&mut self.has_events, true) { "," } else { "" };
        writeln!(self.out, "{comma}")
    }
}

/// The category by which readers know a kind. Work of a device has that of kernels and copies.
fn category(kind: Kind) -> &'static str {
    match kind {
        Kind::Kernel | Kind::Communication => "kernel",
        Kind::Memory => "memory",
        Kind::MemCpy => "gpu_memcpy",
        Kind::MemSet => "gpu_memset",
        Kind::Api(ApiClass::General) => "api",
        Kind::Api(ApiClass::Acl) => "acl_api",
        Kind::Api(ApiClass::Node) => "node_api",
        Kind::Api(ApiClass::Runtime) => "cuda_runtime",
        Kind::Marker => "user_annotation",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::Index;
    use serde_json::json;

    fn activity(names: &mut Names, kind: Kind, name: &str, tid: u32, start_ns: i64, end_ns: i64) -> Activity {
        let (name, at) = (names.name(name), Index::new(3));
        let (rank, device, stream, correlation) = (at, at, at, None);
        Activity { kind, name, start_ns, end_ns, rank, device, stream, correlation, pid: 3, tid, detail: None }
    }

    #[test]
    fn a_trace_is_one_json_object_whatever_the_names() {
        let mut names = Names::default();
        let head = json!({"displayTimeUnit": "ms", "of": "a \"graph\"\n"});
        let mut writer = Writer::new(Vec::new(), head.as_object().expect("an object")).expect("written");
        writer.process(3, "rank 3").expect("written");
        writer.lane(3, 1, "compute").expect("written");
        let odd = "say \"hello\\\",\u{1}\u{e9}\n";
        let iteration = names.name("iteration");
        let detail = Some(names.detail(&[(iteration, 7)]));
        let first = Activity { detail, ..activity(&mut names, Kind::Kernel, odd, 1, 1_234_567_891, 1_234_568_001) };
        let second = activity(&mut names, Kind::Communication, "agree", 1, 1_234_568_001, 1_234_568_001);
        let early = activity(&mut names, Kind::Marker, "before", 2, -1_500, -1);
        for activity in [first, second, early] {
            writer.activity(&activity, &names).expect("written");
        }
        let text = String::from_utf8(writer.finish().expect("written")).expect("utf-8");
        let trace: Value = serde_json::from_str(&text).expect("json");
        assert_eq!(trace["of"], head["of"]);
        let events = trace["traceEvents"].as_array().expect("a list");
        assert_eq!(events.len(), 4 + 3);
        assert_eq!(
            events[0],
            json!({"ph": "M", "name": "process_name", "pid": 3, "tid": 0, "args": {"name": "rank 3"}})
        );
        assert_eq!(events[4]["name"], odd);
        assert_eq!(events[4]["args"], json!({"device": 3, "stream": 3, "iteration": 7}));
        assert_eq!(events[5]["args"], json!({"device": 3, "stream": 3, "Collective name": "agree"}));
        assert!(
            text.contains(r#""ts":1234567.891,"dur":0.110,"#) && text.contains(r#""ts":-1.500,"dur":1.499,"#),
            "{text}"
        );
    }

    #[test]
    fn an_empty_trace_is_valid() {
        let text = Writer::new(Vec::new(), &Map::new()).and_then(Writer::finish).expect("written");
        assert_eq!(serde_json::from_slice::<Value>(&text).expect("json"), json!({"traceEvents": []}));
    }

    #[test]
    fn overlapping_activities_of_a_lane_are_refused_by_name() {
        let refused = |spans: [(u32, i64, i64); 2]| {
            let mut names = Names::default();
            let mut writer = Writer::new(Vec::new(), &Map::new()).expect("written");
            spans.iter().find_map(|&(tid, start, end)| {
                writer.activity(&activity(&mut names, Kind::Kernel, "k", tid, start, end), &names).err()
            })
        };
        assert!(refused([(1, 0, 10), (1, 10, 20)]).is_none(), "touching is no overlap");
        assert!(refused([(1, 0, 10), (2, 5, 20)]).is_none(), "two lanes");
        for spans in [[(1, 0, 10), (1, 9, 20)], [(1, 0, 10), (1, 2, 3)], [(1, 5, 6), (1, 0, 1)], [(1, 5, 4), (1, 9, 9)]]
        {
            let error = refused(spans).unwrap_or_else(|| panic!("{spans:?} is taken"));
            assert!(error.to_string().starts_with("`k` from "), "{error}");
        }
    }
}
