//! How long a superstep's summary waits for its verdict, from the traces of a profiling run: the checker works beside the loop, so this
//! is how late a fault would be noticed, not time that the run takes.

use super::super::collect::Collected;
use super::super::labels::{Labels, fitted};
use crate::drawing::svg::{Anchor, Canvas, Chart, WIDTH, short};
use crate::trace_files::TimingRow;
use std::collections::BTreeMap;

/// The name of its files.
pub(super) const NAME: &str = "latency";

/// What one rank's checker did in one superstep of one attempt.
#[derive(Clone, Copy, Default)]
struct Verdict {
    /// From the end of the superstep to the verdict on its summary.
    latency_ms: f64,
    /// Of that, the checker at work.
    validation_ms: f64,
    /// The superstep itself, all that the loop did in it.
    superstep_ms: f64,
}

/// By rank and superstep. A row without a verdict has none to wait for: snapshots alone are checked then.
fn verdicts(rows: &[TimingRow]) -> Vec<Verdict> {
    let mut found: BTreeMap<(u32, u32), Verdict> = BTreeMap::new();
    for row in rows {
        let verdict = found.entry((row.rank, row.iteration)).or_default();
        match row.stage.as_str() {
            "checker_end_to_end" => verdict.latency_ms += row.elapsed_ms,
            "cpu_validation" => verdict.validation_ms += row.elapsed_ms,
            "d2h_summary" => {}
            _ => verdict.superstep_ms += row.elapsed_ms,
        }
    }
    found.into_values().filter(|verdict| verdict.latency_ms > 0.0).collect()
}

/// The value that so large a share does not exceed.
fn at_share(sorted: &[f64], share: f64) -> f64 {
    let place = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(place.clamp(1, sorted.len().max(1)) - 1).copied().unwrap_or(0.0)
}

struct Line {
    algorithm: usize,
    name: String,
    verdicts: usize,
    /// Median, 95 %, worst.
    ms: [f64; 3],
    /// The median over the mean superstep.
    supersteps: f64,
}

const HEADER: [&str; 15] = [
    "item",
    "algorithm",
    "dataset",
    "method",
    "ranks",
    "label",
    "repeats",
    "verdicts",
    "median_ms",
    "p95_ms",
    "worst_ms",
    "validation_mean_ms",
    "superstep_mean_ms",
    "median_supersteps",
    "attempt_ids",
];

/// The chart; None where no run was protected.
pub(crate) fn chart(collected: &Collected) -> Option<Chart> {
    let manifest = &collected.manifest;
    let labels = Labels::of(manifest);
    let mut numbers = vec![HEADER.map(str::to_owned).to_vec()];
    let mut lines = Vec::new();
    for item in &manifest.items {
        for (place, method) in manifest.methods.iter().enumerate() {
            let own = || collected.measured().filter(move |(_, a)| (a.item, a.method_index) == (item.item, place));
            let all: Vec<Verdict> = own().flat_map(|(judged, _)| verdicts(&judged.traces.timings)).collect();
            if all.is_empty() {
                continue;
            }
            let mut sorted: Vec<f64> = all.iter().map(|verdict| verdict.latency_ms).collect();
            sorted.sort_by(f64::total_cmp);
            let mean = |of: fn(&Verdict) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
            let ms = [0.5, 0.95, 1.0].map(|share| at_share(&sorted, share));
            let superstep = mean(|verdict| verdict.superstep_ms);
            let supersteps = if superstep > 0.0 { ms[0] / superstep } else { 0.0 };
            let (algorithm, dataset) = (&manifest.algorithms[item.algorithm], &manifest.datasets[item.dataset]);
            let ids: Vec<_> = own().map(|(_, attempt)| attempt.attempt_id.to_string()).collect();
            let mut row = vec![
                item.item.to_string(),
                algorithm.name.clone(),
                dataset.name.clone(),
                method.name.clone(),
                method.ranks.to_string(),
                labels.methods[place].clone(),
                ids.len().to_string(),
                all.len().to_string(),
            ];
            row.extend(ms.map(|ms| format!("{ms:.6}")));
            row.extend([mean(|verdict| verdict.validation_ms), superstep].map(|ms| format!("{ms:.6}")));
            row.extend([format!("{supersteps:.3}"), ids.join(";")]);
            numbers.push(row);
            let name = format!("{}, {}", dataset.name, labels.methods[place]);
            lines.push(Line { algorithm: item.algorithm, name, verdicts: all.len(), ms, supersteps });
        }
    }
    if lines.is_empty() {
        return None;
    }
    let titles = fitted(&labels.algorithms, 110);
    let names = fitted(&lines.iter().map(|line| line.name.clone()).collect::<Vec<_>>(), 46);
    lines.iter_mut().zip(names).for_each(|(line, name)| line.name = name);
    Some(Chart {
        name: NAME,
        title: "Detection latency".into(),
        note: "How long the summary of a superstep waited for its verdict (checker_end_to_end), over all supersteps, ranks and repeats of a \
               profiling run: median, 95 % and worst, on a logarithmic axis. The checker works beside the loop, so this is how late a \
               fault is noticed, not time that the run takes. In supersteps: the median over the mean superstep. Summaries are handed over in batches; waiting for that is \
               not in it."
            .into(),
        canvas: drawn(&titles, &lines),
        numbers,
    })
}

fn drawn(titles: &[String], lines: &[Line]) -> Canvas {
    let mut canvas = Canvas::new();
    canvas.text(
        "ink",
        20.0,
        (24.0, 34.0),
        Anchor::Start,
        "Detection latency: from a superstep's summary to its verdict",
    );
    let legend = [(0, "median to 95 %"), (1, "worst")].map(|(colour, words)| (colour, words.to_owned()));
    let top = canvas.legend(64.0, &legend) + 4.0;
    let (left, right) = (420.0, WIDTH - 320.0);
    let decade = |ms: f64| ms.max(1e-6).log10();
    let low = lines.iter().map(|line| decade(line.ms[0])).fold(f64::INFINITY, f64::min).floor();
    let high = lines.iter().map(|line| decade(line.ms[2])).fold(low + 1.0, f64::max).ceil();
    let place = |ms: f64| left + (decade(ms) - low) / (high - low) * (right - left);
    canvas.text("faint", 13.0, (right + 24.0, top), Anchor::Start, "median / 95 % / worst, ms; supersteps");
    let mut y = top + 14.0;
    let mut rows = Vec::new();
    for (algorithm, title) in titles.iter().enumerate() {
        let own: Vec<&Line> = lines.iter().filter(|line| line.algorithm == algorithm).collect();
        if own.is_empty() {
            continue;
        }
        canvas.text("ink", 15.0, (24.0, y + 6.0), Anchor::Start, title);
        y += 26.0;
        for line in own {
            rows.push((y, line));
            y += 24.0;
        }
        y += 12.0;
    }
    for power in low as i32..=high as i32 {
        let ms = 10_f64.powi(power);
        canvas.line("grid", (place(ms), top + 8.0), (place(ms), y));
        let words = if power >= 0 { format!("{ms:.0} ms") } else { format!("{ms} ms") };
        canvas.text("faint", 13.0, (place(ms), y + 18.0), Anchor::Middle, &words);
    }
    for (y, line) in rows {
        canvas.text("ink", 13.0, (left - 14.0, y + 4.0), Anchor::End, &line.name);
        let [median, most, worst] = line.ms;
        canvas.line("l0", (place(median), y), (place(most), y));
        let words = format!("{} verdicts: median {} ms", line.verdicts, short(median));
        canvas.dot("f1", (place(worst), y), 3.5, &format!("worst {} ms", short(worst)));
        canvas.dot("f0", (place(median), y), 5.0, &words);
        let parts = line.ms.map(|ms| format!("{ms:.3}")).join(" / ");
        let words = format!("{parts}; {}", short(line.supersteps));
        canvas.text("faint", 13.0, (right + 24.0, y + 4.0), Anchor::Start, &words);
    }
    canvas
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_belongs_to_its_rank_and_superstep_and_shares_are_reached() {
        let row = |rank, iteration, stage: &str, elapsed_ms| TimingRow {
            rank,
            iteration,
            stage: stage.into(),
            elapsed_ms,
            dataset: "ring".into(),
            algorithm: "bfs".into(),
            method: "multi_cpu_fault_tolerant".into(),
            instrumentation_profile: "profiling".into(),
        };
        let rows = [
            row(0, 0, "checker_end_to_end", 2.0),
            row(0, 0, "cpu_validation", 0.5),
            row(0, 0, "tolerance_graph_update", 3.0),
            row(0, 0, "mpi_sync", 1.0),
            row(1, 0, "checker_end_to_end", 4.0),
            row(1, 1, "tolerance_graph_update", 9.0),
        ];
        let found = verdicts(&rows);
        assert_eq!(found.len(), 2, "superstep 1 of rank 1 has no verdict");
        assert_eq!((found[0].latency_ms, found[0].validation_ms, found[0].superstep_ms), (2.0, 0.5, 4.0));
        assert_eq!(found[1].latency_ms, 4.0);
        let sorted: Vec<f64> = (1..=20).map(f64::from).collect();
        assert_eq!([0.5, 0.95, 1.0].map(|share| at_share(&sorted, share)), [10.0, 19.0, 20.0]);
        assert_eq!(at_share(&[], 0.5), 0.0);
    }
}
