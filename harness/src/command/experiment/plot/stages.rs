//! Where the time of a run goes: one bar a method, one piece a stage.

use super::super::attempt::Attempt;
use super::super::collect::Collected;
use super::super::labels::{Labels, fitted};
use super::super::verdict::{fields, rank_records};
use crate::drawing::svg::{Anchor, Canvas, Chart, WIDTH, short};

/// The name of its files.
pub(super) const NAME: &str = "stages";

/// Name, colour, and the piece in terms of a rank's 24 fields (numbers of schema v9: added, taken away). They do not overlap.
type Stage = (&'static str, usize, &'static [usize], &'static [usize]);

const STAGES: [Stage; 10] = [
    ("set-up", 11, &[18, 19], &[]),
    ("first exchange", 5, &[20], &[]),
    ("compute", 0, &[2], &[]),
    ("exchange", 1, &[12], &[]),
    ("agreement", 4, &[13], &[]),
    ("rest of the loop", 2, &[1], &[2, 12, 13]),
    ("checker drain", 3, &[11], &[]),
    ("post-check", 6, &[14], &[]),
    ("result", 7, &[21, 22], &[]),
    ("not attributed", 9, &[23], &[]),
];

/// Means over ranks add up (maxima would not), and so do means over repeats.
fn means(attempts: &[&Attempt], ranks: u32) -> Option<[f64; STAGES.len()]> {
    let mut sums = [0.0; STAGES.len()];
    for attempt in attempts {
        for record in rank_records(&attempt.records, ranks) {
            let values = fields(record).ok()?;
            for (sum, (_, _, added, taken)) in sums.iter_mut().zip(STAGES) {
                let of = |numbers: &[usize]| numbers.iter().map(|number| values[number - 1]).sum::<f64>();
                *sum += (of(added) - of(taken)).max(0.0);
            }
        }
    }
    let count = attempts.len() as f64 * f64::from(ranks);
    (!attempts.is_empty()).then(|| sums.map(|sum| sum / count))
}

/// The chart.
pub(crate) fn chart(collected: &Collected) -> Chart {
    let manifest = &collected.manifest;
    let labels = Labels::of(manifest);
    let mut numbers = vec![
        ["item", "algorithm", "dataset", "method", "ranks", "label", "stage", "mean_ms", "repeats", "attempt_ids"]
            .map(str::to_owned)
            .to_vec(),
    ];
    let mut canvas = Canvas::new();
    let mut rows = Vec::new();
    for item in &manifest.items {
        for (place, method) in manifest.methods.iter().enumerate() {
            let attempts: Vec<&Attempt> = collected
                .measured()
                .map(|(_, attempt)| attempt)
                .filter(|attempt| (attempt.item, attempt.method_index) == (item.item, place))
                .collect();
            let Some(stages) = means(&attempts, method.ranks) else { continue };
            let ids: Vec<_> = attempts.iter().map(|attempt| attempt.attempt_id.to_string()).collect();
            for (value, (name, ..)) in stages.iter().zip(STAGES) {
                let (algorithm, dataset) = (&manifest.algorithms[item.algorithm], &manifest.datasets[item.dataset]);
                numbers.push(vec![
                    item.item.to_string(),
                    algorithm.name.clone(),
                    dataset.name.clone(),
                    method.name.clone(),
                    method.ranks.to_string(),
                    labels.methods[place].clone(),
                    name.to_owned(),
                    format!("{value:.4}"),
                    attempts.len().to_string(),
                    ids.join(";"),
                ]);
            }
            rows.push((item, place, stages));
        }
    }
    canvas.text("ink", 20.0, (24.0, 34.0), Anchor::Start, "Where the time goes");
    let used = |place: usize| rows.iter().any(|(_, _, stages)| stages[place] > 0.0);
    let entries: Vec<_> = STAGES
        .iter()
        .enumerate()
        .filter(|(place, _)| used(*place))
        .map(|(_, (name, colour, ..))| (*colour, (*name).to_owned()))
        .collect();
    let mut y = canvas.legend(64.0, &entries) + 10.0;
    let names: Vec<String> = manifest.datasets.iter().map(|set| set.name.clone()).collect();
    let (methods, datasets) = (fitted(&labels.methods, 46), fitted(&names, 100));
    let titles = fitted(&labels.algorithms, 110);
    let (left, room) = (410.0, WIDTH - 410.0 - 110.0);
    for (algorithm, title) in titles.iter().enumerate() {
        canvas.text("ink", 16.0, (24.0, y + 6.0), Anchor::Start, title);
        canvas.line("axis", (24.0, y + 14.0), (WIDTH - 24.0, y + 14.0));
        y += 24.0;
        for (dataset, name) in datasets.iter().enumerate() {
            let of_item: Vec<_> =
                rows.iter().filter(|(item, ..)| (item.algorithm, item.dataset) == (algorithm, dataset)).collect();
            let longest = of_item.iter().map(|(_, _, stages)| stages.iter().sum::<f64>()).fold(0.0, f64::max);
            for (place, (_, method, stages)) in of_item.iter().enumerate() {
                if place == 0 {
                    canvas.text("ink", 14.0, (24.0, y + 14.0), Anchor::Start, name);
                    y += 20.0;
                }
                canvas.text("faint", 13.0, (left - 8.0, y + 14.0), Anchor::End, &methods[*method]);
                let mut x = left;
                for (value, (name, colour, ..)) in stages.iter().zip(STAGES) {
                    let width = if longest > 0.0 { value / longest * room } else { 0.0 };
                    if width > 0.0 {
                        canvas.rect(
                            &format!("f{colour}"),
                            [x, y + 2.0, width, 15.0],
                            &format!("{name}: {} ms", short(*value)),
                        );
                    }
                    x += width;
                }
                let total: f64 = stages.iter().sum();
                let words = format!("{} ms", short(total));
                canvas.text("ink", 13.0, (x + 6.0, y + 14.0), Anchor::Start, &words);
                y += 19.0;
            }
            y += if of_item.is_empty() { 0.0 } else { 9.0 };
        }
        y += 12.0;
    }
    Chart {
        name: NAME,
        title: "Where the time goes".into(),
        note: "algorithm_e2e_ms by stage, mean over ranks and repeats (means add up, maxima would not). Each data set has a \
               scale of its own: its slowest method fills the width, the number is the whole in ms."
            .into(),
        canvas,
        numbers,
    }
}
