//! What a measured program said on stdout, parsed without trust: every line a known record, each as often as it should be.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The records of one trial.
#[derive(Serialize, Deserialize, Clone, PartialEq, Default, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Records {
    pub(crate) metadata: Option<Map<String, Value>>,
    pub(crate) result: Option<Map<String, Value>>,
    pub(crate) detection: Option<Map<String, Value>>,
    pub(crate) timing: Option<Map<String, Value>>,
    pub(crate) rank_timings: Vec<Map<String, Value>>,
}

/// Parses stdout; what is wrong with it comes second.
pub(crate) fn parse(stdout: &str) -> (Records, Vec<String>) {
    let (mut records, mut wrong) = (Records::default(), Vec::new());
    if !stdout.is_empty() && !stdout.ends_with('\n') {
        wrong.push("stdout: the last line is not finished".to_owned());
    }
    for (number, line) in stdout.lines().enumerate() {
        let at = |problem: &str| format!("stdout line {}: {problem}", number + 1);
        let (tag, json) = line.split_once(' ').unwrap_or((line, ""));
        let slot = match tag {
            "BENCHMARK_METADATA" => Some(&mut records.metadata),
            "BENCHMARK_RESULT" => Some(&mut records.result),
            "BENCHMARK_DETECTION" => Some(&mut records.detection),
            "BENCHMARK_TIMING" => Some(&mut records.timing),
            "BENCHMARK_RANK_TIMING" => None,
            other => {
                wrong.push(at(&format!("`{}` is no tag of a record", other.chars().take(40).collect::<String>())));
                continue;
            }
        };
        let object: Map<String, Value> = match serde_json::from_str(json) {
            Ok(object) => object,
            Err(error) => {
                wrong.push(at(&format!("{tag} is no whole JSON object ({error})")));
                continue;
            }
        };
        match slot {
            None => records.rank_timings.push(object),
            Some(slot) if slot.is_some() => wrong.push(at(&format!("{tag} comes a second time"))),
            Some(slot) => *slot = Some(object),
        }
    }
    for (tag, is_there) in [
        ("BENCHMARK_METADATA", records.metadata.is_some()),
        ("BENCHMARK_RESULT", records.result.is_some()),
        ("BENCHMARK_TIMING", records.timing.is_some()),
    ] {
        if !is_there {
            wrong.push(format!("stdout: no whole {tag}"));
        }
    }
    (records, wrong)
}

/// The end of a text, at most `most` bytes, whole lines where possible.
pub(crate) fn end_of(text: &[u8], most: usize) -> String {
    let text = String::from_utf8_lossy(text);
    if text.len() <= most {
        return text.into_owned();
    }
    let mut from = text.len() - most;
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let tail = &text[from..];
    tail.split_once('\n').map_or(tail, |(_, rest)| rest).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "BENCHMARK_METADATA {}\nBENCHMARK_RESULT {}\nBENCHMARK_TIMING {}\n";

    #[test]
    fn a_record_that_is_half_or_double_or_unknown_is_named_with_its_line() {
        assert_eq!(parse(WHOLE).1, Vec::<String>::new());
        let check = |text: &str, words: &str| {
            let (_, wrong) = parse(text);
            assert!(wrong.iter().any(|line| line.contains(words)), "{words}: {wrong:?}");
        };
        check(&WHOLE[..WHOLE.len() - 1], "not finished");
        check(&WHOLE[..WHOLE.len() - 2], "line 3: BENCHMARK_TIMING is no whole JSON object");
        check(&format!("{WHOLE}BENCHMARK_RESULT {{}}\n"), "line 4: BENCHMARK_RESULT comes a second time");
        check(&format!("hello\n{WHOLE}"), "line 1: `hello` is no tag");
        check("", "no whole BENCHMARK_METADATA");
    }
}
