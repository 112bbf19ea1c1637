//! What pairs show: speed-up by ranks, and the change against a baseline with its interval.

use super::super::analyze::{Interval, Kind, Pairing, summary};
use super::super::collect::Collected;
use super::{item_title, panel};
use crate::drawing::svg::{Anchor, COLOURS, Canvas, Chart, WIDTH, short, shortened, ticks};
use std::collections::BTreeSet;

const HEADER: [&str; 13] = [
    "pair",
    "item",
    "algorithm",
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
    let ids: Vec<_> = pairing.sources.iter().map(|(_, _, base, other)| format!("{base}:{other}")).collect();
    let mut row: Vec<String> = [
        pairing.kind.name(),
        &pairing.item.to_string(),
        &pairing.algorithm,
        &pairing.dataset,
        &pairing.baseline.name,
        &pairing.variant.name,
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

/// Speed-up by ranks, one panel an algorithm; None without scaling pairs.
pub(crate) fn speedup(collected: &Collected, pairings: &[Pairing]) -> Option<Chart> {
    let manifest = &collected.manifest;
    let mut points = Vec::new();
    let mut rows = header();
    for pairing in pairings.iter().filter(|pairing| pairing.kind == Kind::Scaling) {
        let item = &manifest.items[pairing.item];
        for field in ["algorithm_e2e_ms", "algorithm_total_ms"] {
            let Some(interval) = pairing.metric(field).and_then(|metric| summary(&metric.speedup())) else { continue };
            rows.push(numbers(pairing, field, "speedup", &interval));
            points.push((item.algorithm, item.dataset, field, pairing.variant.ranks, interval));
        }
    }
    if points.is_empty() {
        return None;
    }
    let ranks: BTreeSet<u32> = points.iter().map(|point| point.3).chain([1]).collect();
    let most_ranks = ranks.iter().copied().max().unwrap_or(2);
    let mut canvas = Canvas::new();
    canvas.text("ink", 20.0, (24.0, 34.0), Anchor::Start, "Speed-up over one rank");
    let entries: Vec<_> =
        manifest.datasets.iter().enumerate().map(|(place, set)| (place, shortened(&set.name, 26))).collect();
    let mut y = canvas.legend(64.0, &entries) + 8.0;
    for algorithm in 0..manifest.algorithms.len() {
        for (column, (field, words)) in [
            ("algorithm_e2e_ms", "whole run (algorithm_e2e_ms)"),
            ("algorithm_total_ms", "steady state (algorithm_total_ms)"),
        ]
        .into_iter()
        .enumerate()
        {
            let own: Vec<_> = points.iter().filter(|point| point.0 == algorithm && point.2 == field).collect();
            let top = own.iter().map(|point| point.4.high).fold(1.2, f64::max) * 1.08;
            let title = format!("{}: {words}", item_title(manifest, algorithm));
            let area = panel(&mut canvas, column, y, &title);
            let marks = ticks(top, 4.0);
            let top = marks.last().copied().unwrap_or(top);
            let place_x = |ranks: f64| {
                area.left + 24.0 + ranks.log2() / f64::from(most_ranks).log2().max(1.0) * (area.width - 48.0)
            };
            let place_y = |value: f64| area.bottom - value / top * area.height;
            for mark in marks {
                canvas.line("grid", (area.left, place_y(mark)), (area.left + area.width, place_y(mark)));
                canvas.text("faint", 13.0, (area.left - 6.0, place_y(mark) + 4.0), Anchor::End, &format!("{mark}"));
            }
            for &rank in &ranks {
                canvas.text(
                    "faint",
                    13.0,
                    (place_x(f64::from(rank)), area.bottom + 18.0),
                    Anchor::Middle,
                    &rank.to_string(),
                );
            }
            canvas.text("faint", 13.0, (area.left + area.width / 2.0, area.bottom + 36.0), Anchor::Middle, "ranks");
            let ideal: Vec<_> = (0..=40)
                .map(|step| 2_f64.powf(f64::from(most_ranks).log2() * f64::from(step) / 40.0))
                .filter(|ranks| *ranks <= top)
                .map(|ranks| (place_x(ranks), place_y(ranks)))
                .collect();
            canvas.path("ideal", &ideal, false);
            for dataset in 0..manifest.datasets.len() {
                let mut line: Vec<_> = own.iter().filter(|point| point.1 == dataset).collect();
                line.sort_by_key(|point| point.3);
                // Beside each other, so that intervals at the same number of ranks can be told apart.
                let aside = (dataset as f64 - (manifest.datasets.len() - 1) as f64 / 2.0) * 3.5;
                let colour = dataset % COLOURS;
                let mut path = vec![(place_x(1.0), place_y(1.0))];
                path.extend(line.iter().map(|point| (place_x(f64::from(point.3)) + aside, place_y(point.4.median))));
                if path.len() > 1 {
                    canvas.path(&format!("l{colour}"), &path, dataset >= COLOURS);
                }
                for point in line {
                    let x = place_x(f64::from(point.3)) + aside;
                    canvas.line(&format!("l{colour}"), (x, place_y(point.4.low)), (x, place_y(point.4.high)));
                    let words =
                        format!("{}: {} at {} ranks", manifest.datasets[dataset].name, short(point.4.median), point.3);
                    canvas.dot(&format!("f{colour}"), (x, place_y(point.4.median)), 3.5, &words);
                }
            }
        }
        y += 312.0;
    }
    Some(Chart {
        name: "speedup",
        title: "Speed-up over one rank".into(),
        note: "Time of single_*_baseline over the slowest rank's time of multi_*_baseline: median of the repeats and the 95 % \
               bootstrap interval. Dashed: as many times as there are ranks."
            .into(),
        canvas,
        numbers: rows,
    })
}

/// The ratio to the baseline with its interval, one row a pair; None without pairs.
pub(crate) fn overhead(pairings: &[Pairing]) -> Option<Chart> {
    const FIELDS: [(&str, usize); 2] = [("algorithm_e2e_ms", 0), ("algorithm_total_ms", 1)];
    let mut rows = header();
    let mut found = Vec::new();
    for pairing in pairings {
        for (field, colour) in FIELDS {
            let Some(metric) = pairing.metric(field) else { continue };
            let Some(pct) = summary(&metric.relative_pct()) else { continue };
            rows.push(numbers(pairing, field, "difference_pct", &pct));
            found.push((pairing, colour, pct));
        }
    }
    if found.is_empty() {
        return None;
    }
    let ratio = |pct: f64| (1.0 + pct / 100.0).max(1e-6).log2();
    let low = found.iter().map(|(_, _, pct)| ratio(pct.low)).fold(-0.5, f64::min).floor();
    let high = found.iter().map(|(_, _, pct)| ratio(pct.high)).fold(0.5, f64::max).ceil();
    let (left, right) = (330.0, WIDTH - 260.0);
    let place = |exponent: f64| left + (exponent - low) / (high - low) * (right - left);
    let mut canvas = Canvas::new();
    canvas.text("ink", 20.0, (24.0, 34.0), Anchor::Start, "Time against the baseline");
    let entries = FIELDS.map(|(field, colour)| (colour, field.to_owned()));
    let mut y = canvas.legend(64.0, &entries) + 8.0;
    let top = y;
    let mut titles = Vec::new();
    for (pairing, ..) in &found {
        if !titles.contains(&pairing.title()) {
            titles.push(pairing.title());
        }
    }
    let mut lines = Vec::new();
    for title in titles {
        y += 20.0;
        lines.push((y, title.clone(), None));
        y += 8.0;
        let own: Vec<_> = found.iter().filter(|(pairing, ..)| pairing.title() == title).collect();
        let mut last = None;
        for (pairing, colour, pct) in own {
            if last != Some(pairing.item) {
                y += 26.0;
                last = Some(pairing.item);
            }
            lines.push((y, String::new(), Some((*pairing, *colour, *pct))));
        }
        y += 22.0;
    }
    let step = ((high - low) / 10.0).ceil().max(1.0);
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
    for (y, title, row) in lines {
        let Some((pairing, colour, pct)) = row else {
            canvas.text("ink", 15.0, (24.0, y), Anchor::Start, &title);
            continue;
        };
        // The two fields of a pair stand one above the other.
        let aside = if colour == 0 { -5.0 } else { 5.0 };
        if colour == 0 {
            let words = format!("{}  {}", pairing.algorithm, shortened(&pairing.dataset, 22));
            canvas.text("ink", 13.0, (left - 14.0, y + 4.0), Anchor::End, &words);
            let words = format!("{:+.1} % [{:+.1}, {:+.1}]", pct.median, pct.low, pct.high);
            canvas.text("faint", 13.0, (right + 12.0, y + 4.0), Anchor::Start, &words);
        }
        let at = y + aside;
        canvas.line(&format!("l{colour}"), (place(ratio(pct.low)), at), (place(ratio(pct.high)), at));
        let words = format!("{} {}: {:+.2} %", pairing.algorithm, pairing.dataset, pct.median);
        canvas.dot(&format!("f{colour}"), (place(ratio(pct.median)), at), 4.0, &words);
    }
    Some(Chart {
        name: "overhead",
        title: "Time against the baseline".into(),
        note: "Variant over baseline, rank maxima: median of the repeats and the 95 % bootstrap interval, on a logarithmic \
               axis; right of 1\u{d7} is slower. The text gives algorithm_e2e_ms in percent."
            .into(),
        canvas,
        numbers: rows,
    })
}
