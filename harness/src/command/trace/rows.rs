//! The analysis as CSV: file, rank, device, step, then the names of the JSON document's leaves. One row a device, or a step of one.

use framework::base::error::{Error, Result};
use trace::document::{BreakdownReport, DeviceReport, Document, EventCounts, FileReport, OverlapReport, Parts};

const BREAKDOWN: [&str; 4] = ["kernel_time_us", "compute_time_us", "non_compute_time_us", "idle_time_us"];
const OVERLAP: [&str; 5] = [
    "comp_time_us",
    "comm_time_us",
    "overlap_time_us",
    "overlap_ratio_of_union_percent",
    "comm_hidden_by_comp_percent",
];
const EVENTS: [&str; 5] = ["computation", "communication", "memory", "dropped_negative", "dropped_zero_stamp"];
const IDLE: [&str; 4] = ["host_wait_us", "kernel_wait_us", "other_us", "gaps"];

/// The table as text.
///
/// # Errors
/// Never in practice: it is written to memory.
pub(super) fn csv(document: &Document, parts: Parts) -> Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let failed = |error: csv::Error| Error::Environment(error.to_string());
    writer.write_record(head(parts)).map_err(failed)?;
    for file in &document.files {
        for device in &file.devices {
            for row in rows(file, device, parts) {
                writer.write_record(row).map_err(failed)?;
            }
        }
    }
    writer.into_inner().map_err(|error| Error::Environment(error.to_string()))
}

fn head(parts: Parts) -> Vec<&'static str> {
    let mut head = vec!["file", "rank", "device", "step"];
    if parts.by_step {
        head.extend(["start_us", "end_us"]);
    }
    if parts.breakdown {
        head.extend(BREAKDOWN);
    }
    if parts.overlap {
        head.extend(OVERLAP);
    }
    if !parts.by_step {
        head.extend(EVENTS);
        if parts.summary {
            head.extend(IDLE);
        }
    }
    head
}

fn rows(file: &FileReport, device: &DeviceReport, parts: Parts) -> Vec<Vec<String>> {
    let rank = file.rank.map(|rank| rank.to_string()).unwrap_or_default();
    let begin = |step: String| vec![file.file.clone(), rank.clone(), device.device.to_string(), step];
    if parts.by_step {
        let step = |step: &trace::document::StepReport| {
            let mut row = begin(step.step.to_string());
            row.extend([step.start_us.shortest(), step.end_us.shortest()]);
            row.extend(figures(step.temporal_breakdown.as_ref(), step.overlap_analysis.as_ref()));
            row
        };
        return device.steps.iter().flatten().map(step).collect();
    }
    let mut row = begin(String::new());
    row.extend(figures(device.temporal_breakdown.as_ref(), device.overlap_analysis.as_ref()));
    let EventCounts { computation, communication, memory, dropped_negative, dropped_zero_stamp } = device.events;
    row.extend(
        [computation, communication, memory, dropped_negative, dropped_zero_stamp].map(|count| count.to_string()),
    );
    if let Some(idle) = device.idle_causes {
        row.extend([idle.host_wait_us, idle.kernel_wait_us, idle.other_us].map(trace::Microseconds::shortest));
        row.push(idle.gaps.to_string());
    }
    vec![row]
}

fn figures(breakdown: Option<&BreakdownReport>, overlap: Option<&OverlapReport>) -> Vec<String> {
    let mut row = Vec::new();
    if let Some(of) = breakdown {
        let times = [of.kernel_time_us, of.compute_time_us, of.non_compute_time_us, of.idle_time_us];
        row.extend(times.map(trace::Microseconds::shortest));
    }
    if let Some(of) = overlap {
        row.extend([of.comp_time_us, of.comm_time_us, of.overlap_time_us].map(trace::Microseconds::shortest));
        let percents = [of.overlap_ratio_of_union_percent, of.comm_hidden_by_comp_percent];
        row.extend(percents.map(|percent| percent.map(|percent| percent.to_string()).unwrap_or_default()));
    }
    row
}
