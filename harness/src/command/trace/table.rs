//! The analysis as tables for people, at most 100 columns wide.

use super::device_title;
use crate::drawing::svg::shortened;
use std::fmt::Write;
use trace::Microseconds;
use trace::analysis::{StepSpread, percent};
use trace::document::{
    BreakdownReport, ComparisonReport, DeviceReport, Document, FileReport, IdleReport, OverlapReport, Parts,
};

/// Columns of a terminal that a table may take.
const WIDTH: usize = 100;

/// The tables of what was asked for.
pub(super) fn whole(document: &Document, parts: Parts, top: usize) -> String {
    let mut text = String::new();
    if parts.breakdown {
        text += &breakdown(document, parts.by_step);
    }
    if parts.overlap {
        text += &overlap(document, parts.by_step);
    }
    if parts.summary {
        text += &idle(document);
        for (file, device) in devices(document) {
            text += &kernels(file, device, top);
            text += &collectives(file, device, top);
        }
        text += &comparison(document.comparison.as_deref().unwrap_or_default());
        let by_step = stragglers(document);
        text += &table(SLOWEST_TITLE, &SLOWEST_HEAD, &by_step.slowest);
        text += &table(COUNTS_TITLE, &COUNTS_HEAD, &by_step.counts);
    }
    text
}

fn devices(document: &Document) -> impl Iterator<Item = (&FileReport, &DeviceReport)> {
    document.files.iter().flat_map(|file| file.devices.iter().map(move |device| (file, device)))
}

/// Columns: the first is text, the others are numbers. The first column gives way to what the others need.
fn table(title: &str, head: &[&str], rows: &[Vec<String>]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([head[column].chars().count()]).max().unwrap_or(0)
    };
    let others: Vec<usize> = (1..head.len()).map(width).collect();
    let room = WIDTH.saturating_sub(others.iter().map(|width| width + 2).sum()).max(8);
    let first = width(0).min(room);
    let mut text = format!("{title}\n");
    let mut line = |cells: &mut dyn Iterator<Item = &str>| {
        let mut line = String::new();
        for (column, cell) in cells.enumerate() {
            let _ = match column {
                0 => write!(line, "{:<first$}", shortened(cell, first)),
                _ => write!(line, "  {cell:>width$}", width = others[column - 1]),
            };
        }
        text += line.trim_end();
        text.push('\n');
    };
    line(&mut head.iter().copied());
    for row in rows {
        line(&mut row.iter().map(String::as_str));
    }
    text.push('\n');
    text
}

fn share(part: Microseconds, whole: Microseconds) -> String {
    two_decimals(percent(part.0, whole.0))
}

fn two_decimals(value: Option<f64>) -> String {
    value.map_or_else(|| "-".into(), |value| format!("{value:.2}"))
}

fn breakdown_cells(of: &BreakdownReport) -> Vec<String> {
    let mut cells = vec![of.kernel_time_us.to_string()];
    for part in [of.compute_time_us, of.non_compute_time_us, of.idle_time_us] {
        cells.extend([part.to_string(), share(part, of.kernel_time_us)]);
    }
    cells
}

fn breakdown(document: &Document, by_step: bool) -> String {
    let mut rows = Vec::new();
    for (file, device) in devices(document) {
        let mut push = |title: String, of: Option<&BreakdownReport>| {
            rows.extend(of.map(|of| [vec![title], breakdown_cells(of)].concat()));
        };
        push(device_title(file, &device.device), device.temporal_breakdown.as_ref());
        for step in device.steps.iter().flatten().filter(|_| by_step) {
            push(format!("  step {}", step.step), step.temporal_breakdown.as_ref());
        }
    }
    table(
        "Temporal breakdown: us from the first start to the last end of device events, and % of that",
        &["", "kernel time", "compute", "%", "non-compute", "%", "idle", "%"],
        &rows,
    )
}

fn overlap_cells(of: &OverlapReport) -> Vec<String> {
    vec![
        of.comp_time_us.to_string(),
        of.comm_time_us.to_string(),
        of.overlap_time_us.to_string(),
        two_decimals(of.overlap_ratio_of_union_percent),
        two_decimals(of.comm_hidden_by_comp_percent),
    ]
}

fn overlap(document: &Document, by_step: bool) -> String {
    let mut rows = Vec::new();
    for (file, device) in devices(document) {
        let mut push = |title: String, of: Option<&OverlapReport>| {
            rows.extend(of.map(|of| [vec![title], overlap_cells(of)].concat()));
        };
        push(device_title(file, &device.device), device.overlap_analysis.as_ref());
        for step in device.steps.iter().flatten().filter(|_| by_step) {
            push(format!("  step {}", step.step), step.overlap_analysis.as_ref());
        }
    }
    table(
        "Overlap of computation and communication, us",
        &["", "computation", "communication", "both", "% of union", "% of comm. hidden"],
        &rows,
    )
}

fn idle(document: &Document) -> String {
    let row = |(file, device): (&FileReport, &DeviceReport)| {
        let IdleReport { host_wait_us, kernel_wait_us, other_us, gaps } = device.idle_causes?;
        let whole = Microseconds(host_wait_us.0 + kernel_wait_us.0 + other_us.0);
        let mut row = vec![device_title(file, &device.device)];
        for part in [host_wait_us, kernel_wait_us, other_us] {
            row.extend([part.to_string(), share(part, whole)]);
        }
        row.push(gaps.to_string());
        Some(row)
    };
    let rows: Vec<_> = devices(document).filter_map(row).collect();
    table(
        "Idle by cause, us: host wait ends with the launch of the next work, kernel wait with its start",
        &["", "host wait", "%", "kernel wait", "%", "other", "%", "gaps"],
        &rows,
    )
}

fn kernels(file: &FileReport, device: &DeviceReport, top: usize) -> String {
    let mut all: Vec<_> = device.kernels.iter().flatten().collect();
    all.sort_by_key(|kernel| std::cmp::Reverse(kernel.sum_us));
    let whole = Microseconds(all.iter().fold(0, |sum, kernel| kernel.sum_us.0.saturating_add(sum)));
    let row = |name: String, kind: &str, count: u64, sum: Microseconds, rest: [String; 3]| {
        let [mean, least, most] = rest;
        vec![name, kind.to_owned(), count.to_string(), sum.to_string(), share(sum, whole), mean, least, most]
    };
    let mut rows: Vec<_> = all
        .iter()
        .take(top)
        .map(|of| {
            let rest = [of.mean_us, of.min_us, of.max_us].map(|time| time.to_string());
            row(of.name.clone(), short_type(&of.r#type), of.count, of.sum_us, rest)
        })
        .collect();
    if let Some(others) = all.get(top..).filter(|others| !others.is_empty()) {
        let sum = Microseconds(others.iter().fold(0, |sum, of| of.sum_us.0.saturating_add(sum)));
        let count = others.iter().map(|of| of.count).sum();
        rows.push(row(format!("{} others", others.len()), "", count, sum, [const { String::new() }; 3]));
    }
    let title = format!("Work of {} by name: sums of durations, us", device_title(file, &device.device));
    table(&title, &["", "type", "count", "sum", "%", "mean", "min", "max"], &rows)
}

fn short_type(name: &str) -> &str {
    match name {
        "computation" => "comp",
        "communication" => "comm",
        "memory" => "mem",
        other => other,
    }
}

fn collectives(file: &FileReport, device: &DeviceReport, top: usize) -> String {
    let all = device.collectives.as_deref().unwrap_or_default();
    let mut rows: Vec<_> = all
        .iter()
        .take(top)
        .map(|of| {
            vec![
                of.name.clone(),
                of.count.to_string(),
                of.time_us.to_string(),
                of.exposed_us.to_string(),
                share(of.exposed_us, of.time_us),
            ]
        })
        .collect();
    if all.len() > top {
        rows.push(vec![
            format!("{} others", all.len() - top),
            String::new(),
            String::new(),
            String::new(),
            String::new(),
        ]);
    }
    let title =
        format!("Communication of {} by collective: us, and how much is exposed", device_title(file, &device.device));
    table(&title, &["", "count", "time", "exposed", "% exposed"], &rows)
}

/// Title and columns of the table of steps.
const SLOWEST_TITLE: &str = "Steps compared: us from the first start to the last end of a step's events on a device";
pub(super) const SLOWEST_HEAD: [&str; 7] = ["step", "devices", "fastest", "of", "slowest", "of", "slower by %"];
/// Title and columns of the table of stragglers.
const COUNTS_TITLE: &str = "How often each device is the slowest of a step; one far above the others is a straggler";
pub(super) const COUNTS_HEAD: [&str; 4] = ["", "slowest in", "of steps", "%"];

/// Rows about steps that several devices have.
pub(super) struct StragglerRows {
    pub(super) slowest: Vec<Vec<String>>,
    pub(super) counts: Vec<Vec<String>>,
}

/// The slowest device of each step, and how often each is it; nothing if steps were not asked for.
pub(super) fn stragglers(document: &Document) -> StragglerRows {
    let times = |device: &DeviceReport| -> Vec<(i64, i64)> {
        device.steps.iter().flatten().map(|step| (step.step, step.end_us.0 - step.start_us.0)).collect()
    };
    let all: Vec<_> = devices(document).collect();
    let found = trace::analysis::stragglers(&all.iter().map(|(_, device)| times(device)).collect::<Vec<_>>());
    let title = |place: usize| device_title(all[place].0, &all[place].1.device);
    let slowest = |of: &StepSpread| {
        vec![
            of.step.to_string(),
            of.devices.to_string(),
            Microseconds(of.fastest.0).to_string(),
            shortened(&title(of.fastest.1), 24),
            Microseconds(of.slowest.0).to_string(),
            of.slowest.1.map_or_else(|| "several".into(), |place| shortened(&title(place), 24)),
            two_decimals(percent(of.slowest.0 - of.fastest.0, of.fastest.0)),
        ]
    };
    let counts = |(place, &(slowest, steps)): (usize, &(u64, u64))| {
        let whole = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        let share = two_decimals(percent(whole(slowest), whole(steps)));
        (steps > 0).then(|| vec![title(place), slowest.to_string(), steps.to_string(), share])
    };
    StragglerRows {
        slowest: found.steps.iter().map(slowest).collect(),
        counts: found.counts.iter().enumerate().filter_map(counts).collect(),
    }
}

fn comparison(all: &[ComparisonReport]) -> String {
    let place = |place: &trace::document::Place| match place.rank {
        Some(rank) => format!("rank {rank}, device {}", place.device),
        None => format!("{}, device {}", shortened(&super::file_name(&place.file), 12), place.device),
    };
    let rows: Vec<_> = all
        .iter()
        .map(|of| {
            vec![
                of.figure.replace('_', " "),
                of.min.time_us.to_string(),
                place(&of.min),
                of.max.time_us.to_string(),
                place(&of.max),
                two_decimals(of.spread_percent),
            ]
        })
        .collect();
    table("Devices compared, us; spread = (most - least) / mean", &["", "least", "of", "most", "of", "spread %"], &rows)
}
