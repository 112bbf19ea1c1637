//! The analysis as tables for people, at most 100 columns wide.

use super::device_title;
use crate::drawing::svg::shortened;
use std::fmt::Write;
use trace::Microseconds;
use trace::analysis::percent;
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
