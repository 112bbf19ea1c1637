//! Pictures of traces: stacked time by rank and device, overlap over time, causes of idle time, exposed communication by
//! collective; as one HTML report that opens offline or as one picture.

use super::device_title;
use crate::drawing::page::{self, table};
use crate::drawing::svg::{Anchor, Canvas, Theme, WIDTH, escaped, png, short, shortened};
use framework::base::error::Result;
use std::collections::BTreeMap;
use std::fmt::Write;
use trace::analysis::{Bin, ClassIntervals, bins};
use trace::document::{DeviceReport, Document, FileReport};
use trace::interval::Interval;
use trace::{Device, Microseconds};

/// Colours of the canvas.
const COMPUTATION: usize = 0;
const COMMUNICATION: usize = 1;
const OVERLAP: usize = 2;
const MEMORY: usize = 4;
const IDLE: usize = 11;

/// Where bars begin, and how long the longest is.
const LEFT: f64 = 330.0;
const ROOM: f64 = WIDTH - LEFT - 130.0;
/// Bins over the longest device's time; each is 3 pixels wide.
const BINS: usize = 246;
/// Collectives in a picture.
const COLLECTIVES: usize = 15;

/// What a picture needs of a device beside its report.
pub(super) struct Strip {
    length_ns: i64,
    bins: Vec<Bin>,
}

impl Strip {
    pub(super) fn of(device: &Device) -> Strip {
        let lists = ClassIntervals::of(&device.events);
        match lists.figures().span {
            Some(span) => Strip { length_ns: span.length(), bins: bins(&lists, span, BINS) },
            None => Strip { length_ns: 0, bins: bins(&lists, Interval { start: 0, end: 0 }, 0) },
        }
    }
}

/// The whole in the form asked for.
///
/// # Errors
/// When a picture is too large to draw.
pub(super) fn rendered(document: &Document, strips: &[Vec<Strip>], form: &str) -> Result<Vec<u8>> {
    let devices: Vec<(String, &DeviceReport, &Strip)> = document
        .files
        .iter()
        .zip(strips)
        .flat_map(|(file, strips)| {
            file.devices
                .iter()
                .zip(strips)
                .map(move |(device, strip)| (device_title(file, &device.device), device, strip))
        })
        .collect();
    if form == "html" {
        return Ok(report(document, &devices).into_bytes());
    }
    let mut canvas = Canvas::new();
    let mut y = 0.0;
    for chart in CHARTS {
        canvas.text("ink", 20.0, (24.0, y + 34.0), Anchor::Start, chart.title);
        y = (chart.draw)(&mut canvas, y + 46.0, &devices) + 10.0;
    }
    let svg = canvas.alone(Theme::Light);
    if form == "png" { png(&svg) } else { Ok(svg.into_bytes()) }
}

type Titled<'a> = (String, &'a DeviceReport, &'a Strip);

struct Chart {
    title: &'static str,
    note: &'static str,
    /// Draws below `y`; where it ended.
    draw: fn(&mut Canvas, f64, &[Titled<'_>]) -> f64,
}

const CHARTS: [Chart; 4] = [
    Chart {
        title: "Where the time of each device goes",
        note: "From the first start to the last end of its events; all bars on one scale. Compute includes what overlaps with \
               communication; non-compute is communication and memory that computation does not hide.",
        draw: stacked,
    },
    Chart {
        title: "What was on, over time",
        note: "Each device from its own first event, all on one scale; the height of a colour is its share of the bin. Blank is idle.",
        draw: timeline,
    },
    Chart {
        title: "Why devices were idle",
        note: "Host wait: the next event was not launched yet. Kernel wait: it was, but had not begun. Other: the file does not say when \
               it was launched.",
        draw: idle,
    },
    Chart {
        title: "Exposed communication by collective",
        note: "Sums over devices: time of a collective in which no computation was on, and time that computation hid.",
        draw: exposed,
    },
];

/// Microseconds with a unit that suits.
fn words(ns: i64) -> String {
    let us = ns as f64 / 1000.0;
    match us {
        us if us >= 1e6 => format!("{} s", short(us / 1e6)),
        us if us >= 1e3 => format!("{} ms", short(us / 1e3)),
        us => format!("{} us", short(us)),
    }
}

fn nothing(canvas: &mut Canvas, y: f64, words: &str) -> f64 {
    canvas.text("faint", 14.0, (24.0, y + 16.0), Anchor::Start, words);
    y + 30.0
}

/// Bars of several pieces: the y below them.
fn bars(canvas: &mut Canvas, y: f64, legend: &[(usize, &str)], rows: &[(String, Vec<i64>)]) -> f64 {
    let entries: Vec<_> = legend.iter().map(|(colour, name)| (*colour, (*name).to_owned())).collect();
    let mut y = canvas.legend(y + 14.0, &entries);
    let longest = rows.iter().map(|(_, parts)| parts.iter().sum::<i64>()).max().unwrap_or(0).max(1) as f64;
    for (title, parts) in rows {
        canvas.text("ink", 13.0, (LEFT - 8.0, y + 14.0), Anchor::End, &shortened(title, 38));
        let mut x = LEFT;
        for (part, (colour, name)) in parts.iter().zip(legend) {
            let width = *part as f64 / longest * ROOM;
            if width > 0.0 {
                canvas.rect(&format!("f{colour}"), [x, y + 2.0, width, 16.0], &format!("{name}: {}", words(*part)));
            }
            x += width;
        }
        canvas.text("ink", 13.0, (x + 6.0, y + 14.0), Anchor::Start, &words(parts.iter().sum()));
        y += 21.0;
    }
    y + 8.0
}

fn stacked(canvas: &mut Canvas, y: f64, devices: &[Titled<'_>]) -> f64 {
    let row = |(title, device, _): &Titled<'_>| {
        let of = device.temporal_breakdown?;
        Some((title.clone(), vec![of.compute_time_us.0, of.non_compute_time_us.0, of.idle_time_us.0]))
    };
    let rows: Vec<_> = devices.iter().filter_map(row).collect();
    if rows.is_empty() {
        return nothing(canvas, y, "No device events.");
    }
    bars(canvas, y, &[(COMPUTATION, "compute"), (COMMUNICATION, "non-compute"), (IDLE, "idle")], &rows)
}

fn timeline(canvas: &mut Canvas, y: f64, devices: &[Titled<'_>]) -> f64 {
    const HEIGHT: f64 = 40.0;
    if devices.is_empty() {
        return nothing(canvas, y, "No device events.");
    }
    let legend = [
        (COMPUTATION, "computation"),
        (OVERLAP, "computation and communication"),
        (COMMUNICATION, "communication"),
        (MEMORY, "memory only"),
    ];
    let entries: Vec<_> = legend.iter().map(|(colour, name)| (*colour, (*name).to_owned())).collect();
    let mut y = canvas.legend(y + 14.0, &entries);
    let longest = devices.iter().map(|(_, _, strip)| strip.length_ns).max().unwrap_or(0).max(1) as f64;
    for (title, _, strip) in devices {
        canvas.text("ink", 13.0, (LEFT - 8.0, y + HEIGHT / 2.0 + 5.0), Anchor::End, &shortened(title, 38));
        let bin_ns = strip.length_ns as f64 / strip.bins.len() as f64;
        let width = bin_ns / longest * ROOM;
        for (place, bin) in strip.bins.iter().enumerate().filter(|_| bin_ns > 0.0) {
            let mut bottom = y + HEIGHT;
            let parts = [bin.computation_ns, bin.overlap_ns, bin.communication_ns, bin.memory_ns];
            for (part, (colour, name)) in parts.iter().zip(legend) {
                let height = *part as f64 / bin_ns * HEIGHT;
                if height > 0.02 {
                    bottom -= height;
                    let at = words((place as f64 * bin_ns) as i64);
                    let says = format!("{name}: {} of {} at {at}", words(*part), words(bin_ns as i64));
                    canvas.rect(&format!("f{colour}"), [LEFT + place as f64 * width, bottom, width, height], &says);
                }
            }
        }
        canvas.line("axis", (LEFT, y + HEIGHT), (LEFT + strip.length_ns as f64 / longest * ROOM, y + HEIGHT));
        let end = LEFT + strip.length_ns as f64 / longest * ROOM + 6.0;
        canvas.text("ink", 13.0, (end, y + HEIGHT), Anchor::Start, &words(strip.length_ns));
        y += HEIGHT + 12.0;
    }
    y + 8.0
}

fn idle(canvas: &mut Canvas, y: f64, devices: &[Titled<'_>]) -> f64 {
    let row = |(title, device, _): &Titled<'_>| {
        let of = device.idle_causes?;
        Some((title.clone(), vec![of.host_wait_us.0, of.kernel_wait_us.0, of.other_us.0]))
    };
    let rows: Vec<_> = devices.iter().filter_map(row).collect();
    if rows.is_empty() {
        return nothing(canvas, y, "No device events.");
    }
    bars(canvas, y, &[(3, "host wait"), (5, "kernel wait"), (IDLE, "other")], &rows)
}

fn exposed(canvas: &mut Canvas, y: f64, devices: &[Titled<'_>]) -> f64 {
    let rows = by_collective(devices);
    if rows.is_empty() {
        return nothing(canvas, y, "No communication.");
    }
    let left_out = rows.len().saturating_sub(COLLECTIVES);
    let shown: Vec<_> = rows.into_iter().take(COLLECTIVES).collect();
    let y = bars(canvas, y, &[(COMMUNICATION, "exposed"), (OVERLAP, "hidden by computation")], &shown);
    if left_out == 0 {
        y
    } else {
        nothing(canvas, y, &format!("{left_out} collectives with less exposed time are not shown."))
    }
}

/// Exposed and hidden time of each collective over all devices, the most exposed first.
fn by_collective(devices: &[Titled<'_>]) -> Vec<(String, Vec<i64>)> {
    let mut sums: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
    for of in devices.iter().flat_map(|(_, device, _)| device.collectives.iter().flatten()) {
        let (exposed, hidden) = sums.entry(&of.name).or_default();
        *exposed += of.exposed_us.0;
        *hidden += of.time_us.0 - of.exposed_us.0;
    }
    let mut rows: Vec<_> =
        sums.into_iter().map(|(name, (exposed, hidden))| (name.to_owned(), vec![exposed, hidden])).collect();
    rows.sort_by_key(|(_, parts)| -parts[0]);
    rows
}

/// How to read each table.
const DEVICES_NOTE: &str = "Kernel is the time from a device's first event to its last, and compute, non-compute and idle add up to it; exposed is \
                            communication while the device did not compute, and hidden % the share of communication while it did.";
const COUNTS_NOTE: &str = "In how many of its steps each device took longest: a device that is the slowest in most steps holds the others up, while \
                           equal counts are chance.";
const STEPS_NOTE: &str = "Each row is one step, from the first start to the last end of its events on a device; slower by % is how much longer the \
                          slowest device took than the fastest.";
const KERNELS_NOTE: &str = "Each row is one kernel name, the largest sum of durations first; kernels that run at the same time count each, so sums may \
                            exceed the device's time.";

/// The page: pictures, then numbers, then what a reader should know.
fn report(document: &Document, devices: &[Titled<'_>]) -> String {
    let mut text = page::head("Trace analysis");
    let warnings: String = document
        .files
        .iter()
        .flat_map(|file| file.warnings.iter().map(|warning| format!("{}: {warning}", super::file_name(&file.file))))
        .map(|warning| format!("<li>{}</li>", escaped(&warning)))
        .collect();
    if !warnings.is_empty() {
        let _ = writeln!(text, "<div class=\"warn\">To know:<ul>{warnings}</ul></div>");
    }
    for chart in CHARTS {
        let mut canvas = Canvas::new();
        (chart.draw)(&mut canvas, 10.0, devices);
        let _ = writeln!(
            text,
            "<h2>{}</h2>\n<figure>{}<figcaption>{}</figcaption></figure>",
            escaped(chart.title),
            canvas.inline(),
            escaped(chart.note)
        );
    }
    let _ = writeln!(
        text,
        "<h2>Numbers</h2>\n<h3>By device, us</h3><p>{DEVICES_NOTE}</p>{}",
        table(&device_rows(document))
    );
    let by_step = super::table::stragglers(document);
    if !by_step.slowest.is_empty() {
        let rows = |names: &[&str], rows: Vec<Vec<String>>| table(&[vec![head(names)], rows].concat());
        let _ = writeln!(
            text,
            "<h3>Slowest device by step, us</h3><p>{COUNTS_NOTE}</p>{}<p>{STEPS_NOTE}</p>{}",
            rows(&super::table::COUNTS_HEAD, by_step.counts),
            rows(&super::table::SLOWEST_HEAD, by_step.slowest)
        );
    }
    for file in &document.files {
        for device in &file.devices {
            let _ = writeln!(
                text,
                "<details><summary>Kernels of {}</summary><p>{KERNELS_NOTE}</p>{}</details>",
                escaped(&device_title(file, &device.device)),
                table(&kernel_rows(device))
            );
        }
    }
    text + page::FOOT
}

fn head(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn device_rows(document: &Document) -> Vec<Vec<String>> {
    let mut rows = vec![head(&[
        "file",
        "rank",
        "device",
        "kernel",
        "compute",
        "non-compute",
        "idle",
        "comm.",
        "exposed",
        "hidden %",
        "events",
    ])];
    let row = |file: &FileReport, device: &DeviceReport| {
        let (times, overlap, events) = (device.temporal_breakdown?, device.overlap_analysis?, device.events);
        let exposed = Microseconds(overlap.comm_time_us.0 - overlap.overlap_time_us.0);
        let mut row = vec![super::file_name(&file.file), file.rank.map(|rank| rank.to_string()).unwrap_or_default()];
        row.push(device.device.to_string());
        row.extend(
            [times.kernel_time_us, times.compute_time_us, times.non_compute_time_us, times.idle_time_us]
                .map(|time| time.to_string()),
        );
        row.extend([overlap.comm_time_us, exposed].map(|time| time.to_string()));
        row.push(overlap.comm_hidden_by_comp_percent.map_or_else(|| "-".into(), |percent| format!("{percent:.2}")));
        row.push((events.computation + events.communication + events.memory).to_string());
        Some(row)
    };
    rows.extend(document.files.iter().flat_map(|file| file.devices.iter().filter_map(move |device| row(file, device))));
    rows
}

fn kernel_rows(device: &DeviceReport) -> Vec<Vec<String>> {
    let mut rows = vec![head(&["name", "type", "count", "sum us", "mean us", "min us", "max us"])];
    let mut all: Vec<_> = device.kernels.iter().flatten().collect();
    all.sort_by_key(|kernel| std::cmp::Reverse(kernel.sum_us));
    rows.extend(all.iter().map(|of| {
        let mut row = vec![shortened(&of.name, 160), of.r#type.clone(), of.count.to_string()];
        row.extend([of.sum_us, of.mean_us, of.min_us, of.max_us].map(|time| time.to_string()));
        row
    }));
    rows
}
