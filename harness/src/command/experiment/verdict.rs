//! Whether an attempt is what its manifest asked for. The runner and the collector ask the same questions; each answer is a reason.

use super::attempt::Attempt;
use super::manifest::{FrozenAlgorithm, FrozenMethod, Manifest};
use super::stdout::{self, Records};
use framework::driver::clock::FIELDS;
use serde_json::{Map, Value};

/// Terms are printed with four decimals, so each may be off by so much.
const SLACK_MS: f64 = 0.001;

/// How the process ended and what it said, against the manifest. Empty when all is well.
pub(crate) fn reasons(attempt: &Attempt, manifest: &Manifest) -> Vec<String> {
    let mut wrong = Vec::new();
    match (attempt.timed_out, attempt.signal, attempt.exit_status) {
        (true, ..) => wrong.push(format!("process: killed after {} s", manifest.timeout_s)),
        (_, Some(signal), _) => wrong.push(format!("process: ended by signal {signal}")),
        (_, _, Some(0)) => {}
        (_, _, status) => wrong.push(format!("process: exit status {}", status.unwrap_or(-1))),
    }
    let (records, problems) = stdout::parse(&attempt.stdout);
    wrong.extend(problems);
    if records != attempt.records {
        wrong.push("records: they are not what stdout says".to_owned());
    }
    let Some(method) = manifest.methods.get(attempt.method_index) else {
        wrong.push("identity: the manifest has no such method".to_owned());
        return wrong;
    };
    let Some(item) = manifest.items.get(attempt.item) else {
        wrong.push("identity: the manifest has no such item".to_owned());
        return wrong;
    };
    let (Some(algorithm), Some(dataset)) =
        (manifest.algorithms.get(item.algorithm), manifest.datasets.get(item.dataset))
    else {
        wrong.push("identity: the manifest has no such algorithm or dataset".to_owned());
        return wrong;
    };
    if let Some(metadata) = &records.metadata {
        build(metadata, manifest, &mut wrong);
        configuration(metadata, algorithm, &dataset.name, method, &mut wrong);
    }
    if let Some(result) = &records.result {
        expect(result, "result", "trial", &0.into(), &mut wrong);
        expect(result, "result", "algorithm", &algorithm.name.as_str().into(), &mut wrong);
        expect(result, "result", "converged", &true.into(), &mut wrong);
        if result.get("verified") == Some(&Value::Bool(false)) {
            wrong.push("result: the serial check found another answer".to_owned());
        }
        let hash = result.get("result_hash").and_then(Value::as_str).unwrap_or_default();
        if hash.len() != 64 || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            wrong.push("result: result_hash is no SHA-256".to_owned());
        }
    }
    detection(&records, &mut wrong);
    timings(&records, manifest, method, &mut wrong);
    wrong
}

/// Detections are said when protection or certify is on, and only then.
fn detection(records: &Records, wrong: &mut Vec<String>) {
    let Some(protection) = records.metadata.as_ref().and_then(|metadata| metadata.get("protection")) else { return };
    let is_on = ["enabled", "certify"].iter().any(|key| protection.get(key) == Some(&Value::Bool(true)));
    match (is_on, &records.detection) {
        (true, None) => wrong.push("stdout: no whole BENCHMARK_DETECTION of a protected run".to_owned()),
        (false, Some(_)) => wrong.push("stdout: BENCHMARK_DETECTION of a run without protection".to_owned()),
        (_, Some(record)) => expect(record, "detection", "trial", &0.into(), wrong),
        (false, None) => {}
    }
}

fn expect(record: &Map<String, Value>, name: &str, key: &str, value: &Value, wrong: &mut Vec<String>) {
    let found = record.get(key).unwrap_or(&Value::Null);
    let is_same = match (found.as_f64(), value.as_f64()) {
        (Some(found), Some(value)) => found == value,
        _ => found == value,
    };
    if !is_same {
        wrong.push(format!("{name}: {key} is {found}, not {value}"));
    }
}

/// The binary that spoke is the binary of the manifest.
fn build(metadata: &Map<String, Value>, manifest: &Manifest, wrong: &mut Vec<String>) {
    let facts = &manifest.build;
    for (key, value) in [
        ("schema_version", Value::from(crate::records::SCHEMA_VERSION)),
        ("product_version", facts.product_version.as_str().into()),
        ("git_commit", facts.git_commit.clone().into()),
        ("git_dirty", facts.git_dirty.into()),
        ("source_sha256", facts.source_sha256.clone().into()),
        ("build_profile", facts.build_profile.as_str().into()),
        ("instrumentation_profile", manifest.instrumentation_profile.name().into()),
    ] {
        expect(metadata, "metadata", key, &value, wrong);
    }
}

fn configuration(
    metadata: &Map<String, Value>,
    algorithm: &FrozenAlgorithm,
    dataset: &str,
    method: &FrozenMethod,
    wrong: &mut Vec<String>,
) {
    for (key, value) in [
        ("algorithm", Value::from(algorithm.name.as_str())),
        ("dataset", dataset.into()),
        ("method", method.name.as_str().into()),
        ("ranks", method.ranks.into()),
        ("trials", 1.into()),
        ("warmup", 0.into()),
    ] {
        expect(metadata, "metadata", key, &value, wrong);
    }
    if let Some(threads) = method.threads {
        expect(metadata, "metadata", "threads", &threads.into(), wrong);
    }
    let empty = Map::new();
    let object = |key: &str| metadata.get(key).and_then(Value::as_object).unwrap_or(&empty);
    // What the program was given as a number or a truth value it must say back; texts it may have resolved (a source).
    for (given, said, name) in [
        (&algorithm.args, object("parameters"), "parameters"),
        (&method.protection, object("protection"), "protection"),
    ] {
        for (key, value) in given.iter().filter(|(_, value)| !value.is_string()) {
            if said.contains_key(key) {
                expect(said, name, key, value, wrong);
            }
        }
    }
    let hosts = metadata.get("hostnames").and_then(Value::as_array).map_or(0, Vec::len);
    let devices = metadata.get("devices").and_then(Value::as_array).map_or(0, Vec::len);
    if [hosts, devices] != [method.ranks as usize; 2] {
        wrong.push(format!("metadata: {hosts} hostnames and {devices} devices for {} ranks", method.ranks));
    }
}

/// The 24 fields of a rank, or what is wrong with them.
pub(crate) fn fields(record: &Map<String, Value>) -> Result<[f64; 24], String> {
    let own = record.keys().filter(|key| key.ends_with("_ms"));
    if own.ne(FIELDS.iter()) {
        return Err("it does not have the 24 fields in order".to_owned());
    }
    let mut values = [0.0; 24];
    for (value, field) in values.iter_mut().zip(FIELDS) {
        *value = record[field]
            .as_f64()
            .filter(|ms| ms.is_finite() && *ms >= 0.0)
            .ok_or_else(|| format!("{field} is no time"))?;
    }
    Ok(values)
}

/// The rank records: of several ranks theirs, of one the timing record itself.
pub(crate) fn rank_records(records: &Records, ranks: u32) -> Vec<&Map<String, Value>> {
    if ranks == 1 { records.timing.iter().collect() } else { records.rank_timings.iter().collect() }
}

fn timings(records: &Records, manifest: &Manifest, method: &FrozenMethod, wrong: &mut Vec<String>) {
    let expected = if method.ranks == 1 { 0 } else { method.ranks as usize };
    if records.rank_timings.len() != expected {
        wrong.push(format!("timing: {} rank records, not {expected}", records.rank_timings.len()));
        return;
    }
    let mut ranks = Vec::new();
    for (rank, record) in rank_records(records, method.ranks).into_iter().enumerate() {
        expect(record, "timing", "trial", &0.into(), wrong);
        if method.ranks > 1 {
            expect(record, "timing", "rank", &rank.into(), wrong);
        }
        match fields(record) {
            Err(problem) => wrong.push(format!("timing of rank {rank}: {problem}")),
            Ok(values) => {
                let laws = laws(&values, manifest, method);
                wrong.extend(laws.into_iter().map(|problem| format!("timing of rank {rank}: {problem}")));
                ranks.push(values);
            }
        }
    }
    let (Some(timing), true) = (&records.timing, method.ranks > 1 && ranks.len() == expected) else { return };
    for (place, field) in FIELDS.iter().enumerate() {
        let name = field.trim_end_matches("_ms");
        let values = ranks.iter().map(|rank| rank[place]);
        let mean = values.clone().sum::<f64>() / ranks.len() as f64;
        for (key, value) in
            [(format!("rank_{name}_max_ms"), values.fold(0.0, f64::max)), (format!("rank_{name}_mean_ms"), mean)]
        {
            let found = timing.get(&key).and_then(Value::as_f64).unwrap_or(f64::NAN);
            if found.is_nan() || (found - value).abs() > SLACK_MS {
                wrong.push(format!("timing: {key} is {found}, but the ranks give {value:.4}"));
            }
        }
    }
}

/// The equations, subsets and zeros of schema v9 that a rank record breaks.
fn laws(values: &[f64; 24], manifest: &Manifest, method: &FrozenMethod) -> Vec<String> {
    let mut wrong = Vec::new();
    let field = |number: usize| values[number - 1];
    let sums: [(usize, &[usize]); 4] =
        [(3, &[4, 6]), (16, &[12, 13, 15]), (17, &[1, 11, 14]), (24, &[17, 18, 19, 20, 21, 22, 23])];
    for (whole, terms) in sums {
        let sum: f64 = terms.iter().map(|&term| field(term)).sum();
        if (field(whole) - sum).abs() > SLACK_MS * (terms.len() + 1) as f64 {
            wrong.push(format!("{} is {}, but its terms give {sum:.4}", FIELDS[whole - 1], field(whole)));
        }
    }
    for (part, whole) in [(3, 2), (15, 14)] {
        if field(part) > field(whole) + SLACK_MS {
            wrong.push(format!("{} is more than {}", FIELDS[part - 1], FIELDS[whole - 1]));
        }
    }
    let mut zeros: Vec<usize> = if method.ranks == 1 { vec![12, 13, 15, 16, 19, 20, 22] } else { vec![18, 21] };
    if method.name.ends_with("_baseline") {
        zeros.extend(5..=11);
        if method.protection.get("certify") != Some(&Value::from("on")) {
            zeros.extend(14..=15);
        }
    } else {
        zeros.push(4);
    }
    if manifest.instrumentation_profile == crate::measured::Profile::Performance {
        zeros.extend(8..=10);
    }
    for number in zeros {
        if field(number) != 0.0 {
            wrong.push(format!("{} is {}, but must be 0 for {}", FIELDS[number - 1], field(number), method.name));
        }
    }
    wrong
}
