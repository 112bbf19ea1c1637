//! Idle capacity by iteration, from the activity of a profiling run: counts, no times.

use super::super::collect::Collected;
use super::super::labels::{Labels, fitted};
use super::panel::{self, panel};
use crate::drawing::svg::{Anchor, Canvas, Chart, Stroke, ticks};
use crate::trace_files::ActivityRow;
use std::collections::BTreeMap;

/// The name of its files.
pub(super) const NAME: &str = "idle";

/// Sums over ranks by iteration, then divides; a redone iteration counts once, as it ended.
fn idle_pct(rows: &[ActivityRow]) -> Vec<(u32, u64, u64, f64)> {
    let mut newest: BTreeMap<(u32, u32), (u64, u64)> = BTreeMap::new();
    for row in rows {
        newest.insert((row.iteration, row.rank), (row.work_vertices, row.active_vertices));
    }
    let mut sums: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for ((iteration, _), (work, active)) in newest {
        let sum = sums.entry(iteration).or_default();
        *sum = (sum.0 + work, sum.1 + active);
    }
    let share =
        |work: u64, active: u64| if work == 0 { 0.0 } else { (work - active.min(work)) as f64 / work as f64 * 100.0 };
    sums.into_iter().map(|(iteration, (work, active))| (iteration, work, active, share(work, active))).collect()
}

/// The chart; None without activity.
pub(crate) fn chart(collected: &Collected) -> Option<Chart> {
    let manifest = &collected.manifest;
    let labels = Labels::of(manifest);
    let mut numbers = vec![
        [
            "item",
            "algorithm",
            "dataset",
            "method",
            "ranks",
            "label",
            "iteration",
            "work_vertices",
            "active_vertices",
            "idle_pct",
            "attempt_id",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    let mut curves = Vec::new();
    for item in &manifest.items {
        for (place, method) in manifest.methods.iter().enumerate() {
            // Activity does not depend on the repeat; the first sound one stands for all.
            let Some((judged, attempt)) =
                collected.measured().find(|(_, attempt)| (attempt.item, attempt.method_index) == (item.item, place))
            else {
                continue;
            };
            let idle = idle_pct(&judged.traces.activity);
            for (iteration, work, active, share) in &idle {
                numbers.push(vec![
                    item.item.to_string(),
                    attempt.algorithm.clone(),
                    attempt.dataset.clone(),
                    method.name.clone(),
                    method.ranks.to_string(),
                    labels.methods[place].clone(),
                    iteration.to_string(),
                    work.to_string(),
                    active.to_string(),
                    format!("{share:.4}"),
                    attempt.attempt_id.to_string(),
                ]);
            }
            if !idle.is_empty() {
                curves.push((item.algorithm, item.dataset, place, idle));
            }
        }
    }
    if curves.is_empty() {
        return None;
    }
    let mut canvas = Canvas::new();
    canvas.text("ink", 20.0, (24.0, 34.0), Anchor::Start, "Idle vertices by iteration");
    // A series is a data set and a method; it has its colour and dashes in every panel.
    let mut series: Vec<(usize, usize)> = curves.iter().map(|&(_, dataset, method, _)| (dataset, method)).collect();
    series.sort_unstable();
    series.dedup();
    let name = |&(dataset, method): &(usize, usize)| {
        format!("{}, {}", manifest.datasets[dataset].name, labels.methods[method])
    };
    let names = fitted(&series.iter().map(name).collect::<Vec<_>>(), 90);
    let titles = fitted(&labels.algorithms, panel::TITLE);
    let strokes = Stroke::of_series(&series.iter().map(|&(_, method)| method).collect::<Vec<_>>());
    let entries: Vec<_> = strokes.iter().copied().zip(names.iter().cloned()).collect();
    let mut y = canvas.line_legend(64.0, &entries) + 8.0;
    for (algorithm, title) in titles.iter().enumerate() {
        let column = algorithm % 2;
        let own: Vec<_> = curves.iter().filter(|curve| curve.0 == algorithm).collect();
        let last = own.iter().flat_map(|curve| curve.3.iter().map(|point| point.0)).max().unwrap_or(1).max(1);
        let area = panel(&mut canvas, column, y, title, "share of vertices that are idle");
        let is_log = last > 60;
        let place_x = |iteration: f64| {
            let share =
                if is_log { (iteration + 1.0).ln() / f64::from(last + 1).ln() } else { iteration / f64::from(last) };
            area.left + share * area.width
        };
        let place_y = |pct: f64| area.bottom - pct / 100.0 * area.height;
        for mark in [0.0, 25.0, 50.0, 75.0, 100.0] {
            canvas.line("grid", (area.left, place_y(mark)), (area.left + area.width, place_y(mark)));
            canvas.text("faint", 13.0, (area.left - 6.0, place_y(mark) + 4.0), Anchor::End, &format!("{mark:.0} %"));
        }
        let marks: Vec<f64> = if is_log {
            (0..)
                .map(|power| 10_f64.powi(power) - if power == 0 { 1.0 } else { 0.0 })
                .take_while(|mark| *mark <= f64::from(last))
                .collect()
        } else {
            ticks(f64::from(last), 6.0)
                .into_iter()
                .filter(|mark| *mark <= f64::from(last) && mark.fract() == 0.0)
                .collect()
        };
        for mark in marks {
            canvas.text("faint", 13.0, (place_x(mark), area.bottom + 18.0), Anchor::Middle, &format!("{mark:.0}"));
        }
        let words = if is_log { "iteration (logarithmic)" } else { "iteration" };
        canvas.text("faint", 13.0, (area.left + area.width / 2.0, area.bottom + 36.0), Anchor::Middle, words);
        for (_, dataset, method, idle) in own {
            let points: Vec<_> = idle.iter().map(|point| (place_x(f64::from(point.0)), place_y(point.3))).collect();
            let Some(place) = series.iter().position(|one| one == &(*dataset, *method)) else { continue };
            canvas.series(strokes[place], &points);
            if let [only] = points.as_slice() {
                canvas.dot(&strokes[place].fill(), *only, 3.5, &names[place]);
            }
        }
        if column == 1 || algorithm + 1 == manifest.algorithms.len() {
            y += panel::HEIGHT;
        }
    }
    Some(Chart {
        name: NAME,
        title: "Idle vertices by iteration".into(),
        note: "Share of a superstep's vertices that it did not activate: summed over ranks by iteration, then divided. Methods that do the \
               same work lie on one line. Counts from a profiling run, which has the same answers; no times."
            .into(),
        canvas,
        numbers,
    })
}
