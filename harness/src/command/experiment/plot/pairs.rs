//! What pairs show: speed-up by ranks, and the change against a baseline with its interval.

use super::super::analyze::{Interval, Kind, Pairing, summary};
use super::super::collect::Collected;
use super::super::labels::{Labels, fitted};
use super::panel::{self, panel};
use crate::drawing::svg::{Anchor, Canvas, Chart, Stroke, WIDTH, short, ticks};
use std::collections::BTreeSet;

/// The names of their files.
pub(super) const SPEEDUP: &str = "speedup";
pub(super) const OVERHEAD: &str = "overhead";

const HEADER: [&str; 14] = [
    "pair",
    "item",
    "algorithm",
    "parameters",
    "dataset",
    "baseline",
    "variant",
    "variant_ranks",
    "field",
    "measure",
    "median",
    "ci95_low",
    "ci95_high",
    "attempt_ids",
];

fn numbers(pairing: &Pairing, field: &str, measure: &str, interval: &Interval) -> Vec<String> {
    let ids: Vec<_> = pairing.sources.iter().map(|source| format!("{}:{}", source.baseline, source.variant)).collect();
    let mut row: Vec<String> = [
        pairing.kind.name(),
        &pairing.item.to_string(),
        &pairing.algorithm,
        &pairing.parameters,
        &pairing.dataset,
        &pairing.labels[0],
        &pairing.labels[1],
        &pairing.variant.ranks.to_string(),
        field,
        measure,
    ]
    .map(str::to_owned)
    .to_vec();
    row.extend([interval.median, interval.low, interval.high].map(|value| format!("{value:.4}")));
    row.push(ids.join(";"));
    row
}

fn header() -> Vec<Vec<String>> {
    vec![HEADER.map(str::to_owned).to_vec()]
}

/// A point of a series: speed-ups at a number of ranks.
struct Point {
    algorithm: usize,
    series: usize,
    field: &'static str,
    ranks: u32,
    interval: Interval,
}

const TOTALS: [(&str, &str); 2] = [
    ("algorithm_e2e_ms", "speed-up of the whole run (algorithm_e2e_ms)"),
    ("algorithm_total_ms", "speed-up of the steady state (algorithm_total_ms)"),
];

/// Speed-up by ranks, one panel an algorithm; None without scaling pairs. A series is a data set and what is the same in all its methods but
/// their ranks.
pub(crate) fn speedup(collected: &Collected, pairings: &[Pairing]) -> Option<Chart> {
    let manifest = &collected.manifest;
    let labels = Labels::of(manifest);
    let family = |label: &str| {
        let place = labels.methods.iter().position(|own| own == label);
        place.map_or_else(String::new, |place| labels.families[place].clone())
    };
    let mut series: Vec<(usize, [String; 2])> = Vec::new();
    let mut points = Vec::new();
    let mut rows = header();
    for pairing in pairings.iter().filter(|pairing| pairing.kind == Kind::Scaling) {
        let item = &manifest.items[pairing.item];
        for (field, _) in TOTALS {
            let Some(interval) = pairing.total(field).and_then(|metric| summary(&metric.speedup())) else { continue };
            rows.push(numbers(pairing, field, "speedup", &interval));
            let own = (item.dataset, pairing.labels.each_ref().map(|label| family(label)));
            let place = series.iter().position(|one| *one == own).unwrap_or_else(|| {
                series.push(own);
                series.len() - 1
            });
            let (algorithm, ranks) = (item.algorithm, pairing.variant.ranks);
            points.push(Point { algorithm, series: place, field, ranks, interval });
        }
    }
    if points.is_empty() {
        return None;
    }
    let families: BTreeSet<&[String; 2]> = series.iter().map(|(_, family)| family).collect();
    let name = |(dataset, [baseline, variant]): &(usize, [String; 2])| {
        let dataset = &manifest.datasets[*dataset].name;
        if families.len() > 1 { format!("{dataset}: {variant} vs {baseline}") } else { dataset.clone() }
    };
    let names = fitted(&series.iter().map(name).collect::<Vec<_>>(), 120);
    let kinds = series.iter().map(|(_, own)| families.iter().position(|family| *family == own).unwrap_or(0));
    let strokes = Stroke::of_series(&kinds.collect::<Vec<_>>());
    let ranks: BTreeSet<u32> = points.iter().map(|point| point.ranks).chain([1]).collect();
    let most_ranks = f64::from(ranks.iter().copied().max().unwrap_or(2));
    let mut canvas = Canvas::new();
    canvas.text("ink", 20.0, (24.0, 34.0), Anchor::Start, "Speed-up over one rank");
    let entries: Vec<_> = strokes.iter().copied().zip(names.iter().cloned()).collect();
    let mut y = canvas.line_legend(64.0, &entries) + 8.0;
    let titles = fitted(&labels.algorithms, panel::TITLE);
    // Beside each other, so that intervals at the same number of ranks can be told apart.
    let step = (60.0 / series.len() as f64).min(3.5);
    for (algorithm, title) in titles.iter().enumerate() {
        for (column, (field, words)) in TOTALS.into_iter().enumerate() {
            let own: Vec<_> =
                points.iter().filter(|point| point.algorithm == algorithm && point.field == field).collect();
            let top = own.iter().map(|point| point.interval.high).fold(1.2, f64::max) * 1.08;
            let area = panel(&mut canvas, column, y, title, words);
            let marks = ticks(top, 4.0);
            let top = marks.last().copied().unwrap_or(top);
            let place_x =
                |ranks: f64| area.left + 34.0 + ranks.log2() / most_ranks.log2().max(1.0) * (area.width - 68.0);
            let place_y = |value: f64| area.bottom - value / top * area.height;
            for mark in marks {
                canvas.line("grid", (area.left, place_y(mark)), (area.left + area.width, place_y(mark)));
                canvas.text("faint", 13.0, (area.left - 6.0, place_y(mark) + 4.0), Anchor::End, &format!("{mark}"));
            }
            for &rank in &ranks {
                let at = (place_x(f64::from(rank)), area.bottom + 18.0);
                canvas.text("faint", 13.0, at, Anchor::Middle, &rank.to_string());
            }
            canvas.text("faint", 13.0, (area.left + area.width / 2.0, area.bottom + 36.0), Anchor::Middle, "ranks");
            let ideal: Vec<_> = (0..=40)
                .map(|step| 2_f64.powf(most_ranks.log2() * f64::from(step) / 40.0))
                .filter(|ranks| *ranks <= top)
                .map(|ranks| (place_x(ranks), place_y(ranks)))
                .collect();
            canvas.path("ideal", &ideal);
            for (place, stroke) in strokes.iter().enumerate() {
                let mut line: Vec<_> = own.iter().filter(|point| point.series == place).collect();
                if line.is_empty() {
                    continue;
                }
                line.sort_by_key(|point| point.ranks);
                let aside = (place as f64 - (series.len() - 1) as f64 / 2.0) * step;
                let mut path = vec![(place_x(1.0), place_y(1.0))];
                let at = |point: &Point| (place_x(f64::from(point.ranks)) + aside, place_y(point.interval.median));
                path.extend(line.iter().map(|point| at(point)));
                canvas.series(*stroke, &path);
                for point in line {
                    let (x, y) = at(point);
                    let (low, high) = (place_y(point.interval.low), place_y(point.interval.high));
                    canvas.line(&stroke.line(), (x, low), (x, high));
                    let words = format!("{}: {} at {} ranks", names[place], short(point.interval.median), point.ranks);
                    canvas.dot(&stroke.fill(), (x, y), 3.5, &words);
                }
            }
        }
        y += panel::HEIGHT;
    }
    Some(Chart {
        name: SPEEDUP,
        title: "Speed-up over one rank".into(),
        note: "Time of single_*_baseline over the slowest rank's time of multi_*_baseline: median of the repeats and the 95 % \
               bootstrap interval. Dashed: as many times as there are ranks."
            .into(),
        canvas,
        numbers: rows,
    })
}

/// A row of the overhead chart: a pair and its two totals.
struct Row<'a> {
    pairing: &'a Pairing,
    label: String,
    totals: Vec<(usize, Interval)>,
}

/// The ratio to the baseline with its interval, one row a pair; None without pairs.
pub(crate) fn overhead(collected: &Collected, pairings: &[Pairing]) -> Option<Chart> {
    let manifest = &collected.manifest;
    let algorithms = Labels::of(manifest).algorithms;
    let mut numbered = header();
    let mut rows = Vec::new();
    for pairing in pairings {
        let mut totals = Vec::new();
        for (colour, (field, _)) in TOTALS.iter().enumerate() {
            let pct = pairing.total(field).and_then(|metric| summary(&metric.relative_pct()));
            if let Some(pct) = pct {
                numbered.push(numbers(pairing, field, "difference_pct", &pct));
                totals.push((colour, pct));
            }
        }
        if !totals.is_empty() {
            let algorithm = &algorithms[manifest.items[pairing.item].algorithm];
            rows.push(Row { pairing, label: format!("{algorithm} on {}", pairing.dataset), totals });
        }
    }
    if rows.is_empty() {
        return None;
    }
    // Every item once; a row of it stands once under each pair of methods.
    let mut items: Vec<String> = rows.iter().map(|row| row.label.clone()).collect();
    items.sort();
    items.dedup();
    let short_items = fitted(&items, 46);
    let fit = |label: &String| items.iter().position(|item| item == label).map(|place| short_items[place].clone());
    Some(Chart {
        name: OVERHEAD,
        title: "Time against the baseline".into(),
        note: "Variant over baseline, rank maxima: median of the repeats and the 95 % bootstrap interval, on a logarithmic \
               axis; right of 1\u{d7} is slower. The text gives algorithm_e2e_ms in percent. Pairs that were not computed have no row."
            .into(),
        canvas: drawn(&rows, &fit),
        numbers: numbered,
    })
}

fn drawn(rows: &[Row<'_>], fit: &dyn Fn(&String) -> Option<String>) -> Canvas {
    let ratio = |pct: f64| (1.0 + pct / 100.0).max(1e-6).log2();
    let all = || rows.iter().flat_map(|row| &row.totals);
    let low = all().map(|(_, pct)| ratio(pct.low)).fold(-0.5, f64::min).floor();
    let high = all().map(|(_, pct)| ratio(pct.high)).fold(0.5, f64::max).ceil();
    // Marks are whole steps from 1x, which is always one of them.
    let step = ((high - low) / 10.0).ceil().max(1.0);
    let low = (low / step).floor() * step;
    let (left, right) = (410.0, WIDTH - 250.0);
    let place = |exponent: f64| left + (exponent - low) / (high - low) * (right - left);
    let mut canvas = Canvas::new();
    canvas.text("ink", 20.0, (24.0, 34.0), Anchor::Start, "Time against the baseline");
    let entries: Vec<_> = TOTALS.iter().enumerate().map(|(colour, (field, _))| (colour, (*field).to_owned())).collect();
    let top = canvas.legend(64.0, &entries) + 8.0;
    let mut groups: Vec<&[String; 2]> = Vec::new();
    for row in rows {
        if !groups.contains(&&row.pairing.labels) {
            groups.push(&row.pairing.labels);
        }
    }
    let titles: Vec<String> = groups.iter().map(|[baseline, variant]| format!("{variant} vs {baseline}")).collect();
    let titles = fitted(&titles, 110);
    // Where each row stands; the grid is drawn first, below them.
    let (mut y, mut heads, mut placed) = (top, Vec::new(), Vec::new());
    for (group, title) in groups.into_iter().zip(titles) {
        y += 20.0;
        heads.push((y, title));
        y += 8.0;
        for row in rows.iter().filter(|row| &row.pairing.labels == group) {
            y += 26.0;
            placed.push((y, row));
        }
        y += 22.0;
    }
    let mut exponent = low;
    while exponent <= high {
        let class = if exponent == 0.0 { "axis" } else { "grid" };
        canvas.line(class, (place(exponent), top + 8.0), (place(exponent), y));
        let words = if exponent >= 0.0 {
            format!("{}\u{d7}", 2_f64.powf(exponent))
        } else {
            format!("1/{}\u{d7}", 2_f64.powf(-exponent))
        };
        canvas.text("faint", 13.0, (place(exponent), y + 18.0), Anchor::Middle, &words);
        exponent += step;
    }
    for (y, title) in heads {
        canvas.text("ink", 15.0, (24.0, y), Anchor::Start, &title);
    }
    for (y, row) in placed {
        let label = fit(&row.label).unwrap_or_default();
        canvas.text("ink", 13.0, (left - 14.0, y + 4.0), Anchor::End, &label);
        for (colour, pct) in &row.totals {
            // The two totals of a pair stand one above the other.
            let at = y + if *colour == 0 { -5.0 } else { 5.0 };
            if *colour == 0 {
                // No decimals where they would not fit beside the plot and say nothing.
                let decimals = usize::from(pct.high.abs() < 1000.0);
                let [median, low, high] = [pct.median, pct.low, pct.high].map(|pct| format!("{pct:+.decimals$}"));
                let words = format!("{median} % [{low}, {high}]");
                canvas.text("faint", 13.0, (right + 12.0, y + 4.0), Anchor::Start, &words);
            }
            canvas.line(&format!("l{colour}"), (place(ratio(pct.low)), at), (place(ratio(pct.high)), at));
            let words = format!("{}: {} {:+.2} %", row.label, TOTALS[*colour].0, pct.median);
            canvas.dot(&format!("f{colour}"), (place(ratio(pct.median)), at), 4.0, &words);
        }
    }
    canvas
}
