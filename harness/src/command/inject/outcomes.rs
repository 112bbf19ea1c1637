//! The plot of outcomes: for each target and model, how its strikes ended and which tier found them.

use super::record::{Outcome, Row};
use super::summary::wilson;
use crate::drawing::svg::{Anchor, Canvas, Chart, WIDTH};
use framework::fault_injection::{Model, Target};

/// How a strike ends in the picture: an outcome, and the tier where there are several.
const ENDS: [(&str, usize); 5] = [
    ("masked", 11),
    ("recovered, found by tier 1", 2),
    ("recovered, found by tier 2", 5),
    ("not recovered, the run says so", 4),
    ("SILENT", 1),
];

/// Columns of numbers: where they end, right of the bars.
const HEADS: [(f64, &str); 3] = [(50.0, "strikes"), (96.0, "found"), (206.0, "silent (95 %)")];

fn end_of(row: &Row) -> usize {
    match (row.outcome, row.tier) {
        (Outcome::Masked, _) => 0,
        (Outcome::DetectedRecovered, 2) => 2,
        (Outcome::DetectedRecovered, _) => 1,
        (Outcome::DetectedUnrecovered, _) => 3,
        (Outcome::Silent, _) => 4,
    }
}

/// The strikes of a target, or of one model on it, by their ends.
fn count<'a>(rows: impl Iterator<Item = &'a Row>) -> [u64; ENDS.len()] {
    let mut counts = [0; ENDS.len()];
    rows.for_each(|row| counts[end_of(row)] += 1);
    counts
}

/// A bar for each target, and thinner ones for the models on it.
pub(super) fn chart(rows: &[Row]) -> Chart {
    let mut canvas = Canvas::new();
    canvas.text("ink", 20.0, (24.0, 34.0), Anchor::Start, "How strikes ended");
    let what = rows.first().map(|row| format!("{} on {}, {} ranks", row.algorithm, row.graph, row.ranks));
    let what = format!("{}: {} strikes", what.unwrap_or_default(), rows.len());
    canvas.text("faint", 14.0, (24.0, 56.0), Anchor::Start, &what);
    let legend: Vec<_> = ENDS.iter().map(|(words, colour)| (*colour, (*words).to_owned())).collect();
    let mut y = canvas.legend(84.0, &legend) + 4.0;
    let heads = ["target", "model", "strikes", "masked", "recovered_tier1", "recovered_tier2", "detected_unrecovered"];
    let mut numbers =
        vec![heads.iter().chain(&["silent", "silent_low", "silent_high"]).map(|&head| head.into()).collect()];
    let (left, width) = (170.0, WIDTH - 170.0 - 220.0);
    for (x, head) in HEADS {
        canvas.text("faint", 13.0, (left + width + x, y), Anchor::End, head);
    }
    y += 10.0;
    let mut bar = |y: f64, height: f64, name: (&str, &str), counts: [u64; ENDS.len()]| {
        let n: u64 = counts.iter().sum();
        let mut x = left;
        for ((words, colour), count) in ENDS.iter().zip(counts) {
            let wide = width * count as f64 / n.max(1) as f64;
            if count > 0 {
                canvas.rect(&format!("f{colour}"), [x, y, wide, height], &format!("{count} of {n} {words}"));
            }
            x += wide;
        }
        let (is_target, base) = (name.1 == "all", y + height / 2.0 + 5.0);
        let (class, size) = if is_target { ("ink", 15.0) } else { ("faint", 13.0) };
        canvas.text(class, size, (left - 10.0, base), Anchor::End, if is_target { name.0 } else { name.1 });
        let (low, high) = wilson(counts[4], n);
        let found = 100.0 * (n - counts[0] - counts[4]) as f64 / n.max(1) as f64;
        let silent = format!("{} (to {:.2} %)", counts[4], 100.0 * high);
        for ((x, _), words) in HEADS.iter().zip([n.to_string(), format!("{found:.0} %"), silent]) {
            canvas.text(class, 13.0, (left + width + x, base), Anchor::End, &words);
        }
        let mut line = vec![name.0.to_owned(), name.1.to_owned(), n.to_string()];
        line.extend(counts.map(|count| count.to_string()));
        line.extend([low, high].map(|share| format!("{share:.6}")));
        numbers.push(line);
    };
    for (target, _) in Target::ALL {
        let own = || rows.iter().filter(move |row| row.target == target);
        if own().next().is_none() {
            continue;
        }
        bar(y, 20.0, (target, "all"), count(own()));
        y += 26.0;
        for (model, _) in Model::ALL {
            let counts = count(own().filter(|row| row.model == model));
            if counts.iter().any(|&count| count > 0) {
                bar(y, 11.0, (target, model), counts);
                y += 16.0;
            }
        }
        y += 14.0;
    }
    Chart {
        name: "outcomes",
        title: "How strikes ended".into(),
        note: "A thick bar is all strikes on a target, a thin one those of one model. Found: the share in which something was noticed.".into(),
        canvas,
        numbers,
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::row;
    use super::*;

    #[test]
    fn every_strike_is_in_one_bar_of_its_model_and_one_of_its_target() {
        let mut rows: Vec<Row> = ["bit1", "zero", "zero"].map(|model| row("field", model)).into();
        rows.push(row("graph", "random"));
        rows[1].outcome = Outcome::Silent;
        (rows[2].outcome, rows[2].tier) = (Outcome::DetectedRecovered, 2);
        let numbers = chart(&rows).numbers;
        let of = |target: &str, model: &str| {
            let found = numbers.iter().find(|line| line[0] == target && line[1] == model);
            found.unwrap_or_else(|| panic!("{target} {model}: {numbers:?}"))[2..8].to_vec()
        };
        assert_eq!(of("field", "all"), ["3", "1", "0", "1", "0", "1"]);
        assert_eq!(of("field", "zero"), ["2", "0", "0", "1", "0", "1"]);
        assert_eq!(of("graph", "all"), ["1", "1", "0", "0", "0", "0"]);
        assert_eq!(numbers.len(), 1 + 2 + 3);
    }
}
