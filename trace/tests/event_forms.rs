//! Forms in which device events come, beside the usual one: each is read, or counted and told. Every case is tried as an object, as a
//! bare list, packed, with a byte order mark, and in another letter case of its categories; the figures must not change.

use flate2::write::GzEncoder;
use serde_json::{Value, json};
use std::io::Write;
use trace::analysis::Figures;
use trace::{Options, Recording, Rules, read};

/// A kernel on stream 7 of device 0.
fn kernel(name: &str, ts: i64, dur: i64) -> Value {
    json!({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": ts, "dur": dur, "args": {"device": 0, "stream": 7}})
}

fn begin(name: &str, ts: i64) -> Value {
    json!({"ph": "B", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": ts, "args": {"device": 0, "stream": 7}})
}

fn end(ts: i64) -> Value {
    json!({"ph": "E", "pid": 0, "tid": 7, "ts": ts})
}

/// An event with some keys changed; null takes a key away.
fn with(mut event: Value, changes: Value) -> Value {
    for (key, value) in changes.as_object().expect("an object") {
        match value {
            Value::Null => drop(event.as_object_mut().expect("an object").remove(key)),
            _ => event[key] = value.clone(),
        }
    }
    event
}

fn read_bytes(bytes: &[u8], options: &Options) -> Recording {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace.json");
    std::fs::write(&path, bytes).expect("written");
    read(&path, options).unwrap_or_else(|error| panic!("{error}"))
}

/// Figures by device: id, kernel, compute, non-compute, idle in us; and the warnings.
fn told(recording: &Recording) -> (Vec<(String, [i64; 4])>, Vec<String>) {
    let figures = |device: &trace::Device| {
        let of = Figures::of(&device.events).breakdown;
        (device.id.to_string(), [of.kernel_ns, of.compute_ns, of.non_compute_ns, of.idle_ns].map(|ns| ns / 1000))
    };
    (recording.devices.iter().map(figures).collect(), recording.warnings.clone())
}

/// The forms of one list of events.
fn forms(events: &[Value]) -> Vec<(&'static str, Vec<u8>)> {
    let object = json!({"traceEvents": events}).to_string().into_bytes();
    let list = json!(events).to_string().into_bytes();
    let mut packed = GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(&object).expect("packed");
    let mut marked_and_packed = GzEncoder::new(Vec::new(), flate2::Compression::default());
    marked_and_packed.write_all(&[b"\xef\xbb\xbf", &list[..]].concat()).expect("packed");
    let mut loud = events.to_vec();
    for event in &mut loud {
        if let Some(category) = event["cat"].as_str() {
            event["cat"] = category.to_uppercase().into();
        }
    }
    vec![
        ("a list", list),
        ("packed", packed.finish().expect("packed")),
        ("marked", [b"\xef\xbb\xbf", &object[..]].concat()),
        ("marked and packed", marked_and_packed.finish().expect("packed")),
        ("in capitals", json!({"traceEvents": loud}).to_string().into_bytes()),
        ("indented", serde_json::to_vec_pretty(&json!({"traceEvents": events})).expect("JSON")),
        ("an object", object),
    ]
}

/// In every form the events have these figures of device 0, and exactly as many warnings as `says`, each with its words.
#[track_caller]
fn check(events: &[Value], expected: [i64; 4], says: &[&str]) {
    for (form, bytes) in forms(events) {
        let (devices, warnings) = told(&read_bytes(&bytes, &Options::default()));
        let expected = if expected == [0; 4] { vec![] } else { vec![("0".to_owned(), expected)] };
        assert_eq!(devices, expected, "{form}: {warnings:?}");
        assert_eq!(warnings.len(), says.len(), "{form}: {warnings:?}");
        for (warning, words) in warnings.iter().zip(says) {
            assert!(warning.contains(words), "{form}: {words}: {warnings:?}");
        }
    }
}

#[test]
fn pairs_are_events() {
    check(&[kernel("a", 0, 100), begin("b", 200), end(260)], [260, 160, 0, 100], &[]);
    check(&[begin("a", 0), begin("b", 10), end(30), end(100)], [100, 100, 0, 0], &[]);
    check(&[begin("a", 0), end(10), begin("ncclSend", 10), end(15)], [15, 10, 5, 0], &[]);
    let copy = with(begin("Memcpy HtoD", 20), json!({"cat": "gpu_memcpy"}));
    check(&[begin("a", 0), end(10), copy, end(25)], [25, 10, 5, 10], &[]);
}

#[test]
fn pairs_may_stand_in_any_order_and_on_many_tracks() {
    check(&[end(60), end(20), begin("b", 50), begin("a", 10)], [50, 20, 0, 30], &[]);
    let other = |event: Value| with(event, json!({"tid": 8}));
    check(&[begin("a", 0), other(begin("b", 5)), end(10), other(end(30))], [30, 30, 0, 0], &[]);
    let text = |event: Value| with(event, json!({"tid": "stream 7", "pid": "gpu"}));
    check(&[text(begin("a", 0)), begin("b", 5), text(end(10)), end(8)], [10, 10, 0, 0], &[]);
    let second = |event: Value| with(event, json!({"pid": 1, "args": {"device": 1, "stream": 7}}));
    let events = [begin("a", 0), second(begin("b", 5)), end(10), second(end(30))];
    for (form, bytes) in forms(&events) {
        let (devices, warnings) = told(&read_bytes(&bytes, &Options::default()));
        assert_eq!(devices, [("0".into(), [10, 10, 0, 0]), ("1".into(), [25, 25, 0, 0])], "{form}");
        assert_eq!(warnings, Vec::<String>::new(), "{form}");
    }
}

#[test]
fn a_pair_says_what_either_half_says() {
    check(&[begin("a", 0), with(end(10), json!({"cat": "kernel", "name": "a"}))], [10, 10, 0, 0], &[]);
    let bare = with(begin("a", 0), json!({"cat": null, "args": null}));
    check(&[bare, with(end(10), json!({"cat": "kernel", "args": {"device": 0, "stream": 7}}))], [10, 10, 0, 0], &[]);
    let unnamed = with(begin("", 0), json!({"name": null}));
    check(&[unnamed.clone(), with(end(10), json!({"name": "ncclRecv"}))], [10, 0, 10, 0], &[]);
    check(&[unnamed, with(end(10), json!({"args": {"Collective name": "allreduce"}}))], [10, 0, 10, 0], &[]);
    check(&[with(begin("a", 0), json!({"ts": "0.5"})), with(end(10), json!({"ts": "10.5"}))], [10, 10, 0, 0], &[]);
}

#[test]
fn ranges_of_the_host_on_a_devices_track_do_not_take_its_ends() {
    let host = with(begin("range", 0), json!({"cat": "user_annotation", "args": null}));
    check(&[host.clone(), begin("a", 10), end(20), end(100)], [10, 10, 0, 0], &[]);
    check(&[begin("a", 10), host, end(100), end(20)], [10, 10, 0, 0], &[]);
    check(&[with(begin("f", 0), json!({"cat": "python_function"})), end(9), kernel("a", 0, 5)], [5, 5, 0, 0], &[]);
}

#[test]
fn what_is_not_whole_is_left_out_and_told() {
    check(&[kernel("a", 0, 10), begin("b", 20)], [10, 10, 0, 0], &["1 events of device 0 were left out: they begin"]);
    check(&[kernel("a", 0, 10), end(20)], [10, 10, 0, 0], &["1 ends (`ph` E) were left out"]);
    check(
        &[begin("b", 0), with(end(9), json!({"name": "c"}))],
        [0; 4],
        &["1 events of device 0 were left out", "1 ends", "no device events"],
    );
    let timeless = with(end(0), json!({"ts": null}));
    check(
        &[kernel("a", 0, 10), begin("b", 20), timeless],
        [10, 10, 0, 0],
        &["1 `ph` B or E events were left out", "1 events of device 0 were left out: they begin"],
    );
    check(
        &[kernel("a", 0, 10), with(kernel("b", 5, 1), json!({"dur": null}))],
        [10, 10, 0, 0],
        &["device 0: 1 events left out: start or duration"],
    );
    let host_end = with(end(20), json!({"cat": "cpu_op"}));
    check(&[kernel("a", 0, 10), host_end], [10, 10, 0, 0], &[]);
}

#[test]
fn phases_that_are_not_read_are_told_for_devices_and_passed_over_for_hosts() {
    for phase in ["b", "i", "C", "x", "complete"] {
        let odd = with(kernel("b", 20, 5), json!({"ph": phase}));
        let says = format!("1 kernels or copies were left out: `ph` {}", phase.get(..1).expect("a letter"));
        check(&[kernel("a", 0, 10), odd], [10, 10, 0, 0], &[&says]);
    }
    let none = with(kernel("b", 20, 5), json!({"ph": null}));
    check(&[kernel("a", 0, 10), none], [10, 10, 0, 0], &["1 kernels or copies were left out: no `ph`"]);
    let host = with(kernel("b", 20, 5), json!({"ph": "b", "cat": "cpu_op"}));
    check(&[kernel("a", 0, 10), host], [10, 10, 0, 0], &[]);
}

#[test]
fn a_stream_is_a_number_in_any_form_or_a_queue_or_a_thread() {
    let args = |args: Value| with(kernel("a", 0, 10), json!({"args": args, "pid": 0}));
    for stream in [json!(0), json!("7"), json!(7.0), json!("7.0")] {
        check(&[args(json!({"device": 0, "stream": stream}))], [10, 10, 0, 0], &[]);
    }
    for stream in [json!(-1), json!(1.5), json!("0x0"), json!(""), json!(true), json!("stream 7")] {
        let says = ["1 kernels or copies were left out: their `stream`", "no device events"];
        check(&[args(json!({"device": 0, "stream": stream}))], [0; 4], &says);
    }
    for queue in [
        json!({"sycl queue": 64, "l0 queue": "0x1"}),
        json!({"l0 queue": "0x7fffffffffffffff"}),
        json!({"l0 queue": "0xffffffffffffffff"}),
        json!({"stream": null}),
        json!({}),
    ] {
        check(&[args(queue)], [10, 10, 0, 0], &[]);
    }
    check(&[with(kernel("a", 0, 10), json!({"args": null, "tid": "stream 7"}))], [10, 10, 0, 0], &[]);
    let nothing = with(kernel("a", 0, 10), json!({"args": null, "tid": null}));
    check(&[nothing], [0; 4], &["1 kernels or copies were left out: they have no `stream`", "no device events"]);
}

#[test]
fn queues_of_an_intel_gpu_are_told_apart() {
    let event = |args: Value, tid: i64| with(kernel("k", 0, 10), json!({"args": args, "tid": tid}));
    let events = [
        event(json!({"device": 0, "sycl queue": 64, "l0 queue": "0x1"}), 1),
        event(json!({"device": 0, "sycl queue": 65, "l0 queue": "0x1"}), 1),
        event(json!({"device": 0, "l0 queue": "0x1"}), 1),
        event(json!({"device": 0}), 9),
    ];
    for (form, bytes) in forms(&events) {
        let recording = read_bytes(&bytes, &Options::default());
        let mut streams: Vec<_> =
            recording.devices[0].events.iter().map(|event| recording.stream(event.stream).to_string()).collect();
        streams.sort();
        assert_eq!(streams, ["1", "64", "65", "9"], "{form}");
    }
}

#[test]
fn of_several_categories_the_devices_counts() {
    check(&[with(kernel("a", 0, 10), json!({"cat": "gpu,kernel"}))], [10, 10, 0, 0], &[]);
    check(&[with(kernel("a", 0, 10), json!({"cat": "Memcpy, device"}))], [10, 0, 10, 0], &[]);
}

#[test]
fn metadata_with_a_category_still_names_processes() {
    let row =
        json!({"ph": "X", "name": "MatMul", "pid": 8, "tid": 2, "ts": "1.5", "dur": 10.0, "args": {"Stream Id": 3}});
    let name =
        json!({"ph": "M", "cat": "__metadata", "name": "process_name", "pid": 8, "args": {"name": "Ascend Hardware"}});
    for (form, bytes) in forms(&[row.clone(), name]) {
        let (devices, warnings) = told(&read_bytes(&bytes, &Options::default()));
        assert_eq!((devices, warnings), (vec![("8".into(), [10, 10, 0, 0])], vec![]), "{form}");
    }
    check(&[row, kernel("a", 0, 10)], [10, 10, 0, 0], &["1 rows with a stream or a model (process 8) were left out"]);
}

#[test]
fn known_families_are_told_and_auto_counts_them() {
    let event = kernel("void deep_ep::internode_ll::dispatch<1>(x)", 5, 10);
    check(&[kernel("a", 0, 10), event.clone()], [15, 15, 0, 0], &["--communication-pattern auto"]);
    let options = Options { rules: Rules::with_patterns(&["auto".into()]).expect("patterns"), ..Options::default() };
    for (form, bytes) in forms(&[kernel("a", 0, 10), event]) {
        let (devices, warnings) = told(&read_bytes(&bytes, &options));
        assert_eq!((devices, warnings), (vec![("0".into(), [15, 10, 5, 0])], vec![]), "{form}");
    }
}

#[test]
fn accelerators_of_meta_are_told_with_their_option() {
    let event = with(kernel("a", 0, 10), json!({"cat": "mtia_ccp_events"}));
    check(
        std::slice::from_ref(&event),
        [0; 4],
        &["no device events that count by default: the file has 1 of category mtia_ccp_events"],
    );
    check(
        &[kernel("b", 0, 5), event.clone()],
        [5, 5, 0, 0],
        &["1 events of category mtia_ccp_events were left out; --mtia"],
    );
    let mut options = Options::default();
    options.rules.counts_mtia = true;
    for (form, bytes) in forms(&[event]) {
        let (devices, warnings) = told(&read_bytes(&bytes, &options));
        assert_eq!((devices, warnings), (vec![("0".into(), [10, 10, 0, 0])], vec![]), "{form}");
    }
}

#[test]
fn steps_may_be_pairs_and_one_without_an_end_is_told() {
    let step = |ph: &str, ts: i64| json!({"ph": ph, "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 9, "tid": 9, "ts": ts});
    let recording = read_bytes(
        json!([step("B", 0), kernel("a", 5, 10), step("E", 50)]).to_string().as_bytes(),
        &Options::default(),
    );
    let place = recording.devices[0].events[0].step().expect("a step");
    assert_eq!((recording.step_label(place), recording.warnings), (3, vec![]));
    check(&[step("B", 0), kernel("a", 5, 10)], [10, 10, 0, 0], &["1 steps were left out"]);
}

#[test]
fn files_with_nothing_in_them_are_told_apart() {
    check(&[], [0; 4], &["no device events"]);
    let folder = tempfile::tempdir().expect("a folder");
    let refused = |bytes: &[u8]| {
        let path = folder.path().join("trace.json");
        std::fs::write(&path, bytes).expect("written");
        read(&path, &Options::default()).expect_err("refused").to_string()
    };
    for (bytes, says) in [
        (&b""[..], "empty"),
        (b"\xef\xbb\xbf", "it is empty"),
        (b"\xef\xbb\xbfhello", "neither JSON nor SQLite"),
        (b"\xef\xbb\xbf{\"traceEvents\":[{\"ph\":", "at byte 25"),
        (b"\xff\xfe[\0]\0", "UTF-16"),
        (b"[\xef\xbb\xbf]", "at byte 1"),
    ] {
        let error = refused(bytes);
        assert!(error.contains(says), "{says}: {error}");
    }
}

#[test]
fn a_cut_file_keeps_its_pairs_and_tells_the_open_one() {
    let whole = json!([begin("a", 0), end(10), begin("b", 20), end(30)]).to_string();
    let cut = whole.rfind("\"ph\":\"E\"").expect("an end");
    let recovers = Options { recovers: true, ..Options::default() };
    let (devices, warnings) = told(&read_bytes(&whole.as_bytes()[..cut], &recovers));
    assert_eq!(devices, [("0".into(), [10, 10, 0, 0])]);
    assert!(warnings.iter().any(|warning| warning.contains("they begin (`ph` B) and never end")), "{warnings:?}");
    assert!(warnings.iter().any(|warning| warning.contains("ends early")), "{warnings:?}");
}
