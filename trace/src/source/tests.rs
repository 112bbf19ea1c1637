//! Small hand-made files: each kind of input, each kind of damage.

use super::*;
use crate::analysis::Figures;
use crate::classify::Rules;
use crate::recording::Label;
use flate2::write::GzEncoder;
use rusqlite::Connection;
use std::io::Write;
use std::path::PathBuf;
use tempfile::TempDir;

struct Scratch(TempDir);

impl Scratch {
    fn new() -> Scratch {
        Scratch(tempfile::tempdir().expect("a folder"))
    }

    fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, content).expect("written");
        path
    }

    fn database(&self, name: &str, script: &str) -> PathBuf {
        let path = self.0.path().join(name);
        Connection::open(&path).and_then(|connection| connection.execute_batch(script)).expect("a database");
        path
    }
}

fn with_launches() -> Options {
    Options { wants_launches: true, ..Options::default() }
}

fn kernel(name: &str, ts: &str, dur: &str) -> String {
    format!(
        r#"{{"ph":"X","cat":"kernel","name":"{name}","pid":0,"tid":7,"ts":{ts},"dur":{dur},"args":{{"device":0,"stream":7}}}}"#
    )
}

fn events(events: &[String]) -> Vec<u8> {
    format!("{{\"traceEvents\":[{}]}}", events.join(",\n")).into_bytes()
}

/// The only device's `[kernel, compute, non-compute, idle]` in ns.
fn parts(recording: &Recording) -> [i64; 4] {
    let [device] = &recording.devices[..] else { panic!("{} devices", recording.devices.len()) };
    let of = Figures::of(&device.events).breakdown;
    [of.kernel_ns, of.compute_ns, of.non_compute_ns, of.idle_ns]
}

fn reads(content: &[u8]) -> Recording {
    let scratch = Scratch::new();
    read(&scratch.file("trace.json", content), &Options::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn refuses(content: &[u8]) -> Error {
    let scratch = Scratch::new();
    read(&scratch.file("trace.json", content), &Options::default()).expect_err("damaged")
}

fn recovers(content: &[u8]) -> Recording {
    let scratch = Scratch::new();
    let options = Options { recovers: true, ..Options::default() };
    read(&scratch.file("trace.json", content), &options).unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn damaged_at(content: &[u8], expected: usize) {
    match refuses(content) {
        Error::Damaged { offset, .. } => assert_eq!(offset, expected as u64),
        other => panic!("{other}"),
    }
}

fn place(content: &[u8], text: &str) -> usize {
    content.windows(text.len()).position(|part| part == text.as_bytes()).expect("it is there")
}

#[test]
fn keys_come_in_any_order_and_metadata_behind_the_events() {
    let recording = reads(
        br#"[{"args":{"stream":"7","device":"gpu","x":{"stream":-1}},"dur":"2.5","ts":1,"tid":0,"name":"k","cat":"KERNEL","ph":"X"}]"#,
    );
    assert_eq!(parts(&recording), [2500, 2500, 0, 0]);
    assert_eq!(recording.devices[0].id, Label::Name("gpu".into()));
    let mut text = events(&[kernel("k", "1", "1")]);
    text.pop();
    text.extend_from_slice(br#","distributedInfo":{"backend":"nccl","rank":5},"deviceProperties":[1,2]}"#);
    assert_eq!(reads(&text).rank, Some(5));
}

#[test]
fn escapes_in_keys_and_names_mean_what_they_say() {
    let recording = reads(
        br#"{"trace\u0045vents":[{"\u0070h":"\u0058","c\u0061t":"kernel","name":"ncc\u006cKernel","ts":0,"dur":1,"args":{"str\u0065am":1}}]}"#,
    );
    assert_eq!(parts(&recording), [1000, 0, 1000, 0]);
    assert_eq!(recording.devices[0].id, Label::Name("unknown".into()));
}

#[test]
fn only_device_events_with_a_stream_count() {
    let row = |cat: &str, args: &str| {
        format!(r#"{{"ph":"X","cat":"{cat}","name":"k","pid":0,"ts":0,"dur":9,"args":{args}}}"#)
    };
    let none = [
        row("kernel", "{}"),
        row("kernel", r#"{"stream":-1}"#),
        row("kernel", r#"{"stream":"0x0"}"#),
        row("kernel", r#"{"stream":1.5}"#),
        row("kernel", r#"{"stream":null}"#),
        row("kernel", r#"{"inner":{"stream":1}}"#),
        row("cpu_op", r#"{"stream":0}"#),
        row("cuda_sync", r#"{"stream":7}"#),
        row("gpu_user_annotation", r#"{"stream":7}"#),
        row("kernel", r#"{"stream":7}"#).replace("\"X\"", "\"i\""),
        row("mtia_ccp_events", r#"{"stream":7}"#),
    ];
    let recording = reads(&events(&none));
    assert!(recording.devices.is_empty());
    for says in [
        "3 kernels or copies were left out: their `stream`",
        "3 kernels or copies were left out: they have no `stream`",
        "1 kernels or copies were left out: `ph` i is not read",
        "no device events that count by default: the file has 1 of category mtia_ccp_events",
    ] {
        assert!(recording.warnings.iter().any(|warning| warning.starts_with(says)), "{says}: {:?}", recording.warnings);
    }
    let scratch = Scratch::new();
    let mut options = Options::default();
    options.rules.counts_mtia = true;
    let recording = read(&scratch.file("t.json", &events(&none)), &options).expect("read");
    assert_eq!(parts(&recording), [9000, 9000, 0, 0]);
}

#[test]
fn a_collective_name_makes_communication_and_a_pattern_does() {
    let row =
        r#"{"ph":"X","cat":"kernel","name":"multimem_all_reduce_kernel(x)","pid":0,"ts":0,"dur":9,"args":{"stream":1"#;
    let plain = reads(&events(&[format!("{row}}}}}")]));
    assert_eq!(parts(&plain), [9000, 9000, 0, 0]);
    assert!(
        plain.warnings.iter().any(|warning| warning.contains("1 kernels named like collectives")),
        "{:?}",
        plain.warnings
    );
    let named = reads(&events(&[format!(r#"{row},"Collective name":"allreduce"}}}}"#)]));
    assert_eq!(parts(&named), [9000, 0, 9000, 0]);
    let scratch = Scratch::new();
    let rules = Rules::with_patterns(&["^multimem_".into()]).expect("a pattern");
    let options = Options { rules, ..Options::default() };
    let recording = read(&scratch.file("t.json", &events(&[format!("{row}}}}}")])), &options).expect("read");
    assert_eq!((parts(&recording), recording.warnings), ([9000, 0, 9000, 0], vec![]));
}

#[test]
fn gzip_is_known_by_its_bytes_and_a_cut_one_is_named() {
    let scratch = Scratch::new();
    let mut packed = GzEncoder::new(Vec::new(), flate2::Compression::default());
    let many: Vec<String> = (0..200).map(|n| kernel(&format!("k{n}"), &(n * 10).to_string(), "5")).collect();
    packed.write_all(&events(&many)).expect("packed");
    let packed = packed.finish().expect("packed");
    let whole = read(&scratch.file("trace.json", &packed), &Options::default()).expect("read");
    assert_eq!(parts(&whole), [1_995_000, 1_000_000, 0, 995_000]);
    let cut = scratch.file("cut.json.gz", &packed[..packed.len() / 2]);
    let error = read(&cut, &Options::default()).expect_err("cut off");
    assert!(matches!(error, Error::Packing { .. }), "{error}");
    let rest = read(&cut, &Options { recovers: true, ..Options::default() }).expect("recovered");
    assert_eq!(rest.repairs.cut_off.count, 1);
    assert!(!rest.devices[0].events.is_empty() && rest.devices[0].events.len() < 200);
}

#[test]
fn a_file_that_ends_early_says_where_and_can_be_used_on_request() {
    let whole = events(&[kernel("a", "0", "10"), kernel("b", "10", "10"), kernel("c", "20", "10")]);
    for cut in [place(&whole, "\"c\"") + 2, place(&whole, "20,"), whole.len() - 1, whole.len() - 2] {
        damaged_at(&whole[..cut], cut);
        let recording = recovers(&whole[..cut]);
        let kept = if cut >= whole.len() - 2 { 30_000 } else { 20_000 };
        assert_eq!(parts(&recording)[0], kept, "{cut}");
        assert_eq!(recording.repairs.cut_off.count, 1);
        assert!(recording.warnings.iter().any(|warning| warning.contains("ends early")), "{:?}", recording.warnings);
    }
}

#[test]
fn raw_quotes_and_newlines_in_a_name_are_an_error_or_a_lost_event() {
    let raw = kernel("lib = Library(\"x\", \"IMPL\")\n(1): <module>", "10", "10");
    let text = events(&[kernel("a", "0", "10"), raw, kernel("b", "20", "10")]);
    damaged_at(&text, place(&text, "x\", \"IMPL"));
    let recording = recovers(&text);
    assert_eq!(parts(&recording), [30_000, 20_000, 0, 10_000]);
    assert_eq!(recording.repairs.lost_events.count, 1);
    assert!(recording.warnings.iter().any(|warning| warning.contains("left out")), "{:?}", recording.warnings);
}

#[test]
fn odd_bytes_in_names_are_read_and_counted() {
    let mut text = events(&[kernel("a\u{1}b\nC:\\dir", "0", "10"), kernel("??", "10", "10")]);
    let at = place(&text, "??");
    text[at] = 0xff;
    let recording = reads(&text);
    assert_eq!(parts(&recording)[0], 20_000);
    let repairs = &recording.repairs;
    assert_eq!(
        (repairs.control_characters.count, repairs.invalid_escapes.count, repairs.invalid_utf8.count),
        (2, 1, 1)
    );
    assert_eq!(repairs.invalid_utf8.first_at, at as u64);
    assert_eq!(recording.warnings.len(), 3, "{:?}", recording.warnings);
    let names: Vec<_> = recording.devices[0].events.iter().map(|event| recording.names.text(event.name)).collect();
    assert_eq!(names, ["a\u{1}b\nC:\\dir", "\u{fffd}?"]);
}

#[test]
fn nan_and_bare_words_are_null_with_a_count_and_other_words_an_error() {
    let text = events(&[kernel("a", "0", "10"), kernel("b", "NaN", "10"), kernel("c", "5", "N/A")]);
    let recording = reads(&text);
    assert_eq!(parts(&recording)[0], 10_000);
    assert_eq!((recording.repairs.not_numbers.count, recording.devices[0].dropped_unreadable), (2, 2));
    assert_eq!(recording.warnings.len(), 2, "{:?}", recording.warnings);
    let wrong = events(&[kernel("a", "none", "10")]);
    damaged_at(&wrong, place(&wrong, "none"));
}

#[test]
fn integers_of_any_size_are_passed_over_and_times_beyond_reason_are_dropped() {
    let big = kernel("a", "0", "10").replace("\"device\":0", "\"device\":0,\"Comms Id\":18446744073709551616123456789");
    assert_eq!(parts(&reads(&events(&[big])))[0], 10_000);
    let late =
        reads(&events(&[kernel("a", "0", "10"), kernel("b", "99999999999999999999", "1"), kernel("c", "1", "1e300")]));
    assert_eq!((parts(&late)[0], late.devices[0].dropped_unreadable), (10_000, 2));
}

#[test]
fn impossible_times_are_dropped_or_named() {
    let recording = reads(&events(&[
        kernel("lost", "0.000", "0.000"),
        kernel("negative", "20", "-5"),
        kernel("a", "100", "100"),
        kernel("b", "110", "5"),
        kernel("c", "120", "5"),
    ]));
    let device = &recording.devices[0];
    assert_eq!((device.dropped_zero_stamp, device.dropped_negative), (1, 1));
    assert_eq!(parts(&recording)[0], 100_000);
    assert_eq!(recording.warnings.len(), 3, "{:?}", recording.warnings);
}

#[test]
fn steps_come_from_ranges_by_launch_or_from_the_events_themselves() {
    let range = |step: u64, ts: u64| {
        format!(
            r#"{{"ph":"X","cat":"user_annotation","name":"ProfilerStep#{step}","pid":1,"tid":1,"ts":{ts},"dur":100}}"#
        )
    };
    let call = r#"{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":190,"dur":5,"args":{"correlation":9}}"#;
    let late = kernel("late", "230", "10").replace("\"stream\":7", "\"stream\":7,\"correlation\":9");
    let text = events(&[
        range(4, 100),
        range(5, 200),
        kernel("a", "110", "10"),
        late,
        kernel("b", "250", "10"),
        kernel("c", "999", "1"),
        call.into(),
    ]);
    let scratch = Scratch::new();
    let mut recording = read(&scratch.file("t.json", &text), &with_launches()).expect("read");
    let of = |recording: &Recording| -> Vec<_> {
        recording.devices[0].events.iter().map(|event| event.step().map(|place| recording.step_label(place))).collect()
    };
    assert_eq!(of(&recording), [Some(4), Some(4), Some(5), None]);
    assert_eq!(recording.devices[0].events[1].launch_ns(), Some(190_000));
    assert_eq!(recording.keep_steps(5..=9), 3);
    assert_eq!(of(&recording), [Some(5)]);
    let own = kernel("a", "0", "1").replace("\"stream\":7", "\"stream\":7,\"iteration\":3");
    assert_eq!(of(&reads(&events(&[own]))), [Some(3)]);
}

#[test]
fn other_files_are_named_for_what_they_are() {
    for (content, says) in [
        (&b"{}"[..], "without `traceEvents`"),
        (b"7", "neither an object nor a list"),
        (b"{\"traceEvents\":{}}", "without `traceEvents`"),
        (b"hello", "neither JSON nor SQLite"),
        (b"PK\x03\x04", "neither JSON nor SQLite"),
    ] {
        let error = refuses(content).to_string();
        assert!(error.contains(says) && error.contains("harness trace reads"), "{error}");
    }
    assert!(refuses(b"").to_string().contains("empty"), "{}", refuses(b""));
    let scratch = Scratch::new();
    let error = read(&scratch.database("other.db", "CREATE TABLE x(y)"), &Options::default()).expect_err("unknown");
    assert!(error.to_string().contains("without tables"), "{error}");
    let mut broken = std::fs::read(scratch.0.path().join("other.db")).expect("read");
    broken.truncate(2000);
    let error = read(&scratch.file("broken.db", &broken), &Options::default()).expect_err("broken");
    assert!(matches!(error, Error::Database { .. }), "{error}");
    assert!(matches!(read(scratch.0.path(), &Options::default()), Err(Error::Read { .. })));
}

#[test]
fn nsight_systems_exports_are_read_with_absent_tables() {
    let scratch = Scratch::new();
    let script = "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);
        INSERT INTO StringIds VALUES (1,'gemm'),(2,'ncclDevKernel_SendRecv');
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start, end, deviceId, streamId, correlationId, globalPid, demangledName);
        INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100,200,0,7,5,16777216,1),(150,260,0,8,6,16777216,2),(10,20,1,7,5,33554432,1);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start, end, globalTid, correlationId);
        INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (90,95,16777219,5),(3,4,33554435,5);";
    let recording = read(&scratch.database("two.sqlite", script), &with_launches()).expect("read");
    assert_eq!(
        recording.devices.iter().map(|device| device.id.clone()).collect::<Vec<_>>(),
        [Label::Number(0), Label::Number(1)]
    );
    let of = Figures::of(&recording.devices[0].events);
    assert_eq!((of.breakdown.kernel_ns, of.overlap.overlap_ns), (160, 50));
    assert_eq!(recording.devices[0].events[0].launch_ns(), Some(90));
    assert_eq!(recording.devices[1].events[0].launch_ns(), Some(3));
    let graphs =
        "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start, end, deviceId, streamId, correlationId, globalPid);
        INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (0,50,0,7,1,0);";
    let recording = read(&scratch.database("graphs.sqlite", graphs), &Options::default()).expect("read");
    assert_eq!(parts(&recording), [50, 50, 0, 0]);
    assert!(recording.warnings[0].contains("CUDA graphs"), "{:?}", recording.warnings);
}

#[test]
fn ascend_databases_and_those_of_the_monitor_are_read() {
    let scratch = Scratch::new();
    let script = "CREATE TABLE STRING_IDS(id INTEGER, value TEXT);
        INSERT INTO STRING_IDS VALUES (1,'MatMul'),(2,'MEMCPY_ASYNC'),(3,'hcom_allReduce__123_0_1'),(4,'EVENT_WAIT'),(5,'AI_CORE'),(6,'hcom_allReduce');
        CREATE TABLE TASK(startNs, endNs, deviceId, connectionId, globalTaskId, globalPid, taskType, contextId, streamId, taskId, modelId);
        INSERT INTO TASK VALUES (0,40,3,11,1,0,5,0,2,0,0),(45,80,3,12,2,0,5,0,2,1,0),(90,100,3,13,3,0,2,0,2,2,0),(200,300,3,14,4,0,4,0,2,3,0);
        CREATE TABLE COMPUTE_TASK_INFO(name, globalTaskId, taskType, opType);
        INSERT INTO COMPUTE_TASK_INFO VALUES (1,1,5,1),(1,2,5,1);
        CREATE TABLE COMMUNICATION_OP(opName, startNs, endNs, connectionId, opType, deviceId);
        INSERT INTO COMMUNICATION_OP VALUES (3,10,50,20,6,3),(3,55,70,21,6,3);
        CREATE TABLE CANN_API(startNs, endNs, type, globalTid, connectionId, name);
        INSERT INTO CANN_API VALUES (42,43,20000,1,12,1);
        CREATE TABLE STEP_TIME(id, startNs, endNs);
        INSERT INTO STEP_TIME VALUES (7,0,44),(8,44,200);
        CREATE TABLE RANK_DEVICE_MAP(rankId, deviceId);
        INSERT INTO RANK_DEVICE_MAP VALUES (6,3);";
    let recording = read(&scratch.database("ascend_pytorch_profiler_1.db", script), &with_launches()).expect("read");
    assert_eq!(recording.rank, Some(6));
    let device = &recording.devices[0];
    assert_eq!((device.id.clone(), device.events.len()), (Label::Number(3), 5));
    let of = Figures::of(&device.events);
    assert_eq!(
        (of.breakdown.compute_ns, of.breakdown.non_compute_ns, of.overlap.comm_ns, of.overlap.overlap_ns),
        (75, 15, 55, 50)
    );
    let steps: Vec<_> =
        device.events.iter().map(|event| event.step().map(|place| recording.step_label(place))).collect();
    assert_eq!(steps, [Some(7), Some(7), Some(7), Some(8), Some(8)]);
    let script = "CREATE TABLE COMMUNICATION_OP(opName, startNs, endNs, connectionId);
        INSERT INTO COMMUNICATION_OP VALUES (1,10,50,20);
        CREATE TABLE RANK_DEVICE_MAP(rankId, deviceId); INSERT INTO RANK_DEVICE_MAP VALUES (0,4);";
    let recording = read(&scratch.database("old.db", script), &Options::default()).expect("read");
    assert_eq!((recording.devices[0].id.clone(), parts(&recording)), (Label::Number(4), [40, 0, 40, 0]));
}

#[test]
fn databases_without_tables_that_others_need_say_what_is_missing() {
    let scratch = Scratch::new();
    let tasks = "CREATE TABLE TASK(startNs, endNs, deviceId, connectionId, globalTaskId, globalPid, taskType, contextId, streamId, taskId, modelId);
        INSERT INTO TASK VALUES (0,40,3,11,1,0,5,0,2,0,0),(45,80,3,12,2,0,5,0,2,1,0);";
    let info = "CREATE TABLE COMPUTE_TASK_INFO(name, globalTaskId, taskType, opType);
        INSERT INTO COMPUTE_TASK_INFO VALUES (1,1,5,1),(1,9,5,1);";
    let kernels = "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start, end, deviceId, streamId, correlationId, globalPid, demangledName);
        INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100,200,0,7,5,16777216,1);";
    for (name, script, busy, says) in [
        ("both.db", format!("{tasks}{info}"), 40, &["1 rows of COMPUTE_TASK_INFO", "no table STRING_IDS"][..]),
        ("tasks.db", tasks.to_owned(), 0, &["no table COMPUTE_TASK_INFO", "no table STRING_IDS", "no device events"]),
        ("info.db", info.to_owned(), 0, &["no table TASK", "no device events"]),
        ("kernels.sqlite", kernels.to_owned(), 100, &["no table StringIds"]),
    ] {
        let recording = read(&scratch.database(name, &script), &Options::default()).expect("read");
        let found: i64 = recording.devices.iter().map(|device| Figures::of(&device.events).breakdown.compute_ns).sum();
        assert_eq!(found, busy, "{name}");
        assert_eq!(recording.warnings.len(), says.len(), "{name}: {:?}", recording.warnings);
        for (warning, words) in recording.warnings.iter().zip(says) {
            assert!(warning.contains(words), "{name}: {words}: {warning}");
        }
    }
}

#[test]
fn ascend_views_take_communication_to_their_device() {
    let process = |pid: u32, name: &str| {
        format!(r#"{{"ph":"M","name":"process_name","pid":{pid},"tid":0,"args":{{"name":"{name}"}}}}"#)
    };
    let row = |pid: u32, name: &str, ts: &str, args: &str| {
        format!(r#"{{"name":"{name}","pid":{pid},"tid":2,"ts":"{ts}","dur":10.0,"ph":"X","args":{{{args}}}}}"#)
    };
    let list = [
        row(800, "MatMul", "1704161511420306.491", r#""Stream Id":3,"Task Type":"AI_CORE","Model Id":4294967295"#),
        row(800, "MEMCPY_ASYNC", "1704161511420326.491", r#""Stream Id":3,"Task Type":"Other""#),
        row(800, "wait", "1704161511420406.491", r#""Stream Id":3,"Task Type":"EVENT_WAIT_SQE""#),
        row(900, "hcom_allReduce__1", "1704161511420311.491", r#""model id":4294967295,"data_type":"FP16""#),
        row(700, "AscendCL@x", "1704161511420000.0", r#""Thread Id":1,"level":"acl""#),
        process(700, "CANN"),
        process(800, "Ascend Hardware"),
        process(900, "Communication"),
    ];
    let recording = reads(format!("[{}]", list.join(",")).as_bytes());
    assert_eq!(parts(&recording), [30_000, 10_000, 15_000, 5_000]);
    assert_eq!(recording.devices[0].id, Label::Number(800));
    assert_eq!(recording.warnings, Vec::<String>::new());
}

#[test]
fn rocprof_copies_go_to_the_gpu_and_kernels_get_their_names() {
    let record =
        |start: u64, rest: &str| format!(r#"{{"start_timestamp":{start},"end_timestamp":{},{rest}}}"#, start + 100);
    let dispatch = |start, kernel: u64| {
        record(
            start,
            &format!(
                r#""dispatch_info":{{"agent_id":{{"handle":9}},"queue_id":{{"handle":1}},"kernel_id":{kernel}}},"stream_id":{{"handle":4}},"correlation_id":{{"internal":{kernel}}}"#
            ),
        )
    };
    let copy = record(500, r#""dst_agent_id":{"handle":8},"src_agent_id":{"handle":9},"stream_id":{"handle":4}"#);
    let call = record(20, r#""correlation_id":{"internal":2}"#);
    let text = format!(
        r#"{{"rocprofiler-sdk-tool":[{{"buffer_records":{{"kernel_dispatch":[{},{},{},{}],"memory_copy":[{copy}],"hip_api":[{call}]}},
        "agents":[{{"id":{{"handle":8}},"type":1}},{{"id":{{"handle":9}},"type":2}}],
        "kernel_symbols":[{{"kernel_id":1,"formatted_kernel_name":"gemm"}},{{"kernel_id":2,"formatted_kernel_name":"ncclDevKernel_Generic"}},
        {{"kernel_id":3,"formatted_kernel_name":"__amd_rocclr_copyBuffer"}}]}}]}}"#,
        dispatch(0, 1),
        dispatch(50, 2),
        dispatch(300, 3),
        dispatch(700, 4)
    );
    let scratch = Scratch::new();
    let recording = read(&scratch.file("r.json", text.as_bytes()), &with_launches()).expect("read");
    assert_eq!(recording.devices[0].id, Label::Number(9));
    assert_eq!(parts(&recording), [800, 200, 250, 350]);
    assert_eq!(recording.devices[0].events[1].launch_ns(), Some(20));
    assert!(recording.warnings[0].contains("1 kernels have no name"), "{:?}", recording.warnings);
}

#[test]
fn a_rank_is_found_in_a_name() {
    let check = |name: &str, expected| assert_eq!(rank_in_name(name), expected, "{name}");
    check("timeline.rank0003.json", Some(3));
    check("rank-34.Jul_15.pt.trace.json.gz", Some(34));
    check("hta_rank_not_found_cpu_only.json", None);
    check("inference_rank_1.json", Some(1));
    check("x_rank1of2.json", Some(1));
    check("ascend_pytorch_profiler_7.db", Some(7));
    check("ascend_pytorch_profiler.db", None);
    check("trace.json", None);
}
