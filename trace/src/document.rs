//! This file is the schema `graphalg-trace/1`, which `harness trace --format json` writes. A change of a field bumps the number and changes
//! docs/schemas.md, where the formulas stand, and the snapshots.

use crate::analysis::{
    Breakdown, ClassIntervals, Collective, Comparison, Figures, IdleCauses, KernelTotal, Overlap, collectives, compare,
    idle_causes, kernel_totals,
};
use crate::recording::{Class, Device, DeviceEvent, Label, Recording};
use crate::time::Microseconds;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The schema's name and version.
pub const SCHEMA: &str = "graphalg-trace/1";

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Parts {
    /// The temporal breakdown.
    pub breakdown: bool,
    /// The overlap.
    pub overlap: bool,
    /// Kernels, idle causes, collectives, comparison of ranks.
    pub summary: bool,
    /// The parts for each step, too.
    pub by_step: bool,
}

/// The document.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// [`SCHEMA`].
    pub schema: String,
    /// In the order given.
    pub files: Vec<FileReport>,
    /// Devices of all files beside each other; only in a summary of two or more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Vec<ComparisonReport>>,
}

/// A file.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct FileReport {
    /// As given.
    pub file: String,
    /// The rank, if file or name tell it.
    pub rank: Option<i64>,
    /// By id.
    pub devices: Vec<DeviceReport>,
    /// What a reader of the figures should know.
    pub warnings: Vec<String>,
}

/// A device.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct DeviceReport {
    /// As the file calls it.
    pub device: Label,
    /// If asked for.
    pub temporal_breakdown: Option<BreakdownReport>,
    /// If asked for.
    pub overlap_analysis: Option<OverlapReport>,
    /// Events behind the figures.
    pub events: EventCounts,
    /// Only by step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<Vec<StepReport>>,
    /// Only in a summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_causes: Option<IdleReport>,
    /// Only in a summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernels: Option<Vec<KernelReport>>,
    /// Only in a summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collectives: Option<Vec<CollectiveReport>>,
}

/// The temporal breakdown, in us.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the formulas of docs/schemas.md")]
pub struct BreakdownReport {
    pub kernel_time_us: Microseconds,
    pub compute_time_us: Microseconds,
    pub non_compute_time_us: Microseconds,
    pub idle_time_us: Microseconds,
}

impl From<Breakdown> for BreakdownReport {
    fn from(of: Breakdown) -> Self {
        BreakdownReport {
            kernel_time_us: Microseconds(of.kernel_ns),
            compute_time_us: Microseconds(of.compute_ns),
            non_compute_time_us: Microseconds(of.non_compute_ns),
            idle_time_us: Microseconds(of.idle_ns),
        }
    }
}

impl From<BreakdownReport> for Breakdown {
    fn from(of: BreakdownReport) -> Self {
        Breakdown {
            kernel_ns: of.kernel_time_us.0,
            compute_ns: of.compute_time_us.0,
            non_compute_ns: of.non_compute_time_us.0,
            idle_ns: of.idle_time_us.0,
        }
    }
}

/// The overlap, in us and percent.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the formulas of docs/schemas.md")]
pub struct OverlapReport {
    pub comp_time_us: Microseconds,
    pub comm_time_us: Microseconds,
    pub overlap_time_us: Microseconds,
    pub overlap_ratio_of_union_percent: Option<f64>,
    pub comm_hidden_by_comp_percent: Option<f64>,
}

impl From<Overlap> for OverlapReport {
    fn from(of: Overlap) -> Self {
        OverlapReport {
            comp_time_us: Microseconds(of.comp_ns),
            comm_time_us: Microseconds(of.comm_ns),
            overlap_time_us: Microseconds(of.overlap_ns),
            overlap_ratio_of_union_percent: of.ratio_of_union_percent(),
            comm_hidden_by_comp_percent: of.hidden_percent(),
        }
    }
}

impl From<OverlapReport> for Overlap {
    fn from(of: OverlapReport) -> Self {
        Overlap { comp_ns: of.comp_time_us.0, comm_ns: of.comm_time_us.0, overlap_ns: of.overlap_time_us.0 }
    }
}

/// Events of a device.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Default, Debug)]
#[serde(deny_unknown_fields)]
pub struct EventCounts {
    /// Of computation.
    pub computation: u64,
    /// Of communication.
    pub communication: u64,
    /// Of memory.
    pub memory: u64,
    /// Left out: they end before they begin.
    pub dropped_negative: u64,
    /// Left out: they begin at 0 and take no time.
    pub dropped_zero_stamp: u64,
}

impl EventCounts {
    fn of(device: &Device) -> EventCounts {
        let count = |class| device.events.iter().filter(|event| event.class == class).count() as u64;
        EventCounts {
            computation: count(Class::Computation),
            communication: count(Class::Communication),
            memory: count(Class::Memory),
            dropped_negative: device.dropped_negative,
            dropped_zero_stamp: device.dropped_zero_stamp,
        }
    }
}

/// A step of a device.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct StepReport {
    /// Its number.
    pub step: i64,
    /// First start of its work.
    pub start_us: Microseconds,
    /// Last end of its work.
    pub end_us: Microseconds,
    /// If asked for.
    pub temporal_breakdown: Option<BreakdownReport>,
    /// If asked for.
    pub overlap_analysis: Option<OverlapReport>,
}

/// Idle time by cause.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the definitions of docs/schemas.md")]
pub struct IdleReport {
    pub host_wait_us: Microseconds,
    pub kernel_wait_us: Microseconds,
    pub other_us: Microseconds,
    pub gaps: u64,
}

impl From<IdleCauses> for IdleReport {
    fn from(of: IdleCauses) -> Self {
        IdleReport {
            host_wait_us: Microseconds(of.host_wait_ns),
            kernel_wait_us: Microseconds(of.kernel_wait_ns),
            other_us: Microseconds(of.other_ns),
            gaps: of.gaps,
        }
    }
}

/// All device events of one class and name.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the formulas of docs/schemas.md")]
pub struct KernelReport {
    /// `computation`, `communication` or `memory`.
    pub r#type: String,
    pub name: String,
    pub count: u64,
    pub sum_us: Microseconds,
    pub mean_us: Microseconds,
    pub min_us: Microseconds,
    pub max_us: Microseconds,
}

impl KernelReport {
    fn of(total: &KernelTotal, recording: &Recording) -> KernelReport {
        KernelReport {
            r#type: total.class.name().into(),
            name: recording.names.text(total.name).into(),
            count: total.count,
            sum_us: Microseconds(total.sum_ns),
            mean_us: Microseconds(total.mean_ns()),
            min_us: Microseconds(total.min_ns),
            max_us: Microseconds(total.max_ns),
        }
    }
}

/// A collective.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the formulas of docs/schemas.md")]
pub struct CollectiveReport {
    pub name: String,
    pub count: u64,
    pub time_us: Microseconds,
    pub exposed_us: Microseconds,
}

impl From<Collective> for CollectiveReport {
    fn from(of: Collective) -> Self {
        CollectiveReport {
            name: of.name,
            count: of.count,
            time_us: Microseconds(of.time_ns),
            exposed_us: Microseconds(of.exposed_ns),
        }
    }
}

/// One figure over all devices.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct ComparisonReport {
    /// Which figure.
    pub figure: String,
    /// The least.
    pub min: Place,
    /// The largest.
    pub max: Place,
    /// The mean over devices.
    pub mean_us: Microseconds,
    /// `100 (max - min) / mean`.
    pub spread_percent: Option<f64>,
}

/// A figure with where it was found.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// The file.
    pub file: String,
    /// Its rank.
    pub rank: Option<i64>,
    /// The device.
    pub device: Label,
    /// The figure.
    pub time_us: Microseconds,
}

impl Document {
    /// Of reports in the order in which the files were given.
    pub fn of(files: Vec<FileReport>, parts: Parts) -> Document {
        let comparison = parts.summary.then(|| comparison(&files)).filter(|all| !all.is_empty());
        Document { schema: SCHEMA.into(), files, comparison }
    }
}

impl FileReport {
    /// Of one file.
    pub fn of(file: &str, recording: &Recording, parts: Parts) -> FileReport {
        FileReport {
            file: file.into(),
            rank: recording.rank,
            devices: recording.devices.iter().map(|device| DeviceReport::of(device, recording, parts)).collect(),
            warnings: recording.warnings.clone(),
        }
    }
}

impl DeviceReport {
    fn of(device: &Device, recording: &Recording, parts: Parts) -> DeviceReport {
        let lists = ClassIntervals::of(&device.events);
        let figures = lists.figures();
        DeviceReport {
            device: device.id.clone(),
            temporal_breakdown: parts.breakdown.then(|| figures.breakdown.into()),
            overlap_analysis: parts.overlap.then(|| figures.overlap.into()),
            events: EventCounts::of(device),
            steps: parts.by_step.then(|| steps(&device.events, recording, parts)),
            idle_causes: parts.summary.then(|| idle_causes(&device.events, &lists).into()),
            kernels: parts.summary.then(|| {
                kernel_totals(&device.events).iter().map(|total| KernelReport::of(total, recording)).collect()
            }),
            collectives: parts.summary.then(|| {
                collectives(&device.events, &lists, &recording.names).into_iter().map(CollectiveReport::from).collect()
            }),
        }
    }
}

fn steps(events: &[DeviceEvent], recording: &Recording, parts: Parts) -> Vec<StepReport> {
    let mut by_step: BTreeMap<i64, Vec<&DeviceEvent>> = BTreeMap::new();
    for event in events {
        if let Some(place) = event.step() {
            by_step.entry(recording.step_label(place)).or_default().push(event);
        }
    }
    let report = |(step, events): (i64, Vec<&DeviceEvent>)| {
        let figures = Figures::of(events);
        let span = figures.span?;
        Some(StepReport {
            step,
            start_us: Microseconds(span.start),
            end_us: Microseconds(span.end),
            temporal_breakdown: parts.breakdown.then(|| figures.breakdown.into()),
            overlap_analysis: parts.overlap.then(|| figures.overlap.into()),
        })
    };
    by_step.into_iter().filter_map(report).collect()
}

/// Devices without work are not compared, nor are those of which not both parts were asked for.
fn comparison(files: &[FileReport]) -> Vec<ComparisonReport> {
    let mut places = Vec::new();
    let mut figures = Vec::new();
    for (file, device) in files.iter().flat_map(|file| file.devices.iter().map(move |device| (file, device))) {
        let EventCounts { computation, communication, memory, .. } = device.events;
        if let (Some(breakdown), Some(overlap), true) =
            (device.temporal_breakdown, device.overlap_analysis, computation + communication + memory > 0)
        {
            places.push((file, device));
            figures.push(Figures { span: None, breakdown: breakdown.into(), overlap: overlap.into() });
        }
    }
    let report = |of: &Comparison| {
        let place = |(ns, at): (i64, usize)| {
            let (file, device) = places[at];
            Place { file: file.file.clone(), rank: file.rank, device: device.device.clone(), time_us: Microseconds(ns) }
        };
        ComparisonReport {
            figure: of.figure.into(),
            min: place(of.min),
            max: place(of.max),
            mean_us: Microseconds(of.mean_ns),
            spread_percent: of.spread_percent(),
        }
    };
    compare(&figures).iter().map(report).collect()
}
