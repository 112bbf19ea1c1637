//! The plot of a campaign: for each target, how its strikes ended.

use super::record::{Outcome, Row};
use super::summary::wilson;
use crate::experiment::plot::svg::{Anchor, Canvas, Chart, WIDTH};
use std::collections::BTreeMap;

/// Colours by outcome.
const COLOURS: [usize; 4] = [11, 2, 0, 1];

/// A bar for each model and target.
pub(crate) fn chart(rows: &[Row]) -> Chart {
    let mut groups: BTreeMap<(&str, &str), [u64; 4]> = BTreeMap::new();
    for row in rows {
        let place = Outcome::ALL.iter().position(|outcome| *outcome == row.outcome).unwrap_or(0);
        groups.entry((&row.target, &row.model)).or_default()[place] += 1;
    }
    let mut canvas = Canvas::new();
    canvas.text("ink", 20.0, (24.0, 34.0), Anchor::Start, "How strikes ended, by target and model");
    let legend: Vec<_> =
        Outcome::ALL.iter().zip(COLOURS).map(|(outcome, colour)| (colour, outcome.words().to_owned())).collect();
    let mut y = canvas.legend(64.0, &legend) + 8.0;
    let heads = ["target", "model", "strikes"];
    let mut numbers: Vec<Vec<String>> = vec![
        heads
            .into_iter()
            .map(str::to_owned)
            .chain(
                ["masked", "detected_recovered", "detected_unrecovered", "silent", "silent_low", "silent_high"]
                    .map(str::to_owned),
            )
            .collect(),
    ];
    let (left, width) = (210.0, WIDTH - 210.0 - 90.0);
    for ((target, model), counts) in groups {
        let n: u64 = counts.iter().sum();
        canvas.text("ink", 14.0, (left - 12.0, y + 14.0), Anchor::End, &format!("{target}, {model}"));
        let mut x = left;
        for ((outcome, colour), count) in Outcome::ALL.iter().zip(COLOURS).zip(counts) {
            let wide = width * count as f64 / n as f64;
            if count > 0 {
                let words = format!("{count} of {n} {}", outcome.words());
                canvas.rect(&format!("f{colour}"), [x, y, wide, 18.0], &words);
            }
            x += wide;
        }
        canvas.text("faint", 13.0, (left + width + 10.0, y + 14.0), Anchor::Start, &n.to_string());
        y += 24.0;
        let (low, high) = wilson(counts[3], n);
        let mut line = vec![target.to_owned(), model.to_owned(), n.to_string()];
        line.extend(counts.map(|count| count.to_string()));
        line.extend([low, high].map(|share| format!("{share:.6}")));
        numbers.push(line);
    }
    Chart {
        name: "outcomes",
        title: "How strikes ended".into(),
        note: "Each bar is the strikes of one model on one target.".into(),
        canvas,
        numbers,
    }
}
