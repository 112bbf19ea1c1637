//! `harness trace`: where the time of devices went, from trace files of many tools.
//!
//! Files are read one after the other, and of each only its report (and for pictures its bins) is kept. Figures are the library's
//! (`trace::analysis`); here they become tables, documents and pictures.

mod rows;
mod table;
mod picture;

use crate::people::{say, with_causes};
use crate::stdout::print;
use crate::whole_file;
use clap::{Args, Subcommand, ValueEnum, ValueHint};
use framework::base::error::{Error, Result};
use std::collections::BTreeSet;
use std::fmt;
use std::io::Write;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use trace::document::{Document, FileReport, Parts};
use trace::{Options, Recording, Rules};

const INPUTS: &str = "Files are known by what is in them, not by their names:
  Chrome traces: PyTorch, Ascend trace_view.json, timeline.rankNNNN.json of harness_profiling
  rocprofv3 JSON
  SQLite: exports of Nsight Systems, Ascend databases
JSON may be packed with gzip.

Examples:
  harness trace summary rank*.pt.trace.json.gz
  harness trace breakdown --by step --format csv trace.json
  harness trace plot trace.json -o report.html

What each figure means: docs/schemas.md, \"Trace analysis\"";

/// What can be done with traces.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum TraceCommand {
    /// Split each device's time: computing, only communicating or copying, idle
    #[command(after_help = INPUTS)]
    Breakdown(ReportArgs),
    /// Say how much communication runs while the device computes
    #[command(after_help = INPUTS)]
    Overlap(ReportArgs),
    /// Both tables, kernels by name, why devices were idle, what communication costs, ranks compared
    #[command(after_help = INPUTS)]
    Summary(SummaryArgs),
    /// Draw the summary: an HTML report that opens offline, or one picture
    #[command(after_help = INPUTS)]
    Plot(PlotArgs),
}

/// Which files, and which of their events.
#[derive(Args, Clone, Debug)]
struct Input {
    /// Trace files, usually one per rank
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::FilePath)]
    files: Vec<PathBuf>,
    /// Only steps A to B, both included (`3..5`, `3..`, `..5`, `3`)
    ///
    /// Steps are PyTorch's `ProfilerStep#N`, Ascend's STEP_TIME, or the supersteps of our own timelines. An event belongs to the step in
    /// which it was launched.
    #[arg(long, value_name = "STEP..STEP", help_heading = "Events")]
    window: Option<Window>,
    /// Kernels whose name matches RE are communication, too; `auto`: all known collectives
    ///
    /// By default: names with nccl, rccl, hccl or mscclKernel, and events with a `Collective name`. RE is a regular expression; give the option again for more. `auto` adds
    /// what a warning names otherwise: NVSHMEM, dispatch and combine of experts (DeepEP and others), custom and quick all-reduce,
    /// symmetric memory and multimem kernels.
    #[arg(long, value_name = "RE|auto", help_heading = "Events")]
    communication_pattern: Vec<String>,
    /// Count events of category mtia_ccp_events (Meta's accelerators) as computation
    #[arg(long, help_heading = "Events")]
    mtia: bool,
    /// Read damaged files, too: broken events are left out and counted
    #[arg(long, help_heading = "Events")]
    recover: bool,
}

/// Options of `breakdown` and `overlap`.
#[derive(Args, Clone, Debug)]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    input: Input,
    /// Format of the output
    #[arg(long, value_enum, default_value_t = Format::Table, help_heading = "Output")]
    format: Format,
    /// One row per device, or also one per step
    #[arg(long, value_enum, default_value_t = By::Device, help_heading = "Output")]
    by: By,
}

/// Options of `summary`.
#[derive(Args, Clone, Debug)]
pub(crate) struct SummaryArgs {
    #[command(flatten)]
    tell: ReportArgs,
    /// How many kernels and collectives per device the tables show; JSON has all
    #[arg(long, value_name = "N", default_value_t = 10, help_heading = "Output")]
    top: usize,
}

/// Options of `plot`.
#[derive(Args, Clone, Debug)]
pub(crate) struct PlotArgs {
    #[command(flatten)]
    input: Input,
    /// The file to write; its ending decides the form: .html, .svg or .png
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath, help_heading = "Output")]
    output: PathBuf,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Format {
    /// For people, at most 100 columns wide
    Table,
    /// One document for programs, schema graphalg-trace/1
    Json,
    /// One row per device, or per step with `--by step`
    Csv,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum By {
    /// One row per device
    Device,
    /// Also one row per step of each device
    Step,
}

/// Steps from one to another, both included.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Window(RangeInclusive<i64>);

impl FromStr for Window {
    type Err = String;

    fn from_str(text: &str) -> Result<Window, String> {
        let step = |text: &str, open: i64| match text {
            "" => Ok(open),
            _ => text.parse().map_err(|_| format!("`{text}` is no step; give numbers, such as 3..5")),
        };
        let (from, to) = match text.split_once("..") {
            Some(("", "")) => return Err("it holds no step; give at least one, such as 3.. or ..5".into()),
            Some((from, to)) => (step(from, i64::MIN)?, step(to.trim_start_matches('='), i64::MAX)?),
            None => (step(text, 0)?, step(text, 0)?),
        };
        if from > to {
            return Err(format!("step {from} comes after step {to}; give the smaller one first"));
        }
        Ok(Window(from..=to))
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bound = |step: i64| if step == i64::MIN || step == i64::MAX { String::new() } else { step.to_string() };
        let (from, to) = (bound(*self.0.start()), bound(*self.0.end()));
        if from == to { f.write_str(&from) } else { write!(f, "{from}..{to}") }
    }
}

impl TraceCommand {
    /// Runs it.
    ///
    /// # Errors
    /// For files that cannot be read or are damaged, and when the output cannot be written.
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let (breakdown, overlap) =
            (Parts { breakdown: true, ..Parts::default() }, Parts { overlap: true, ..Parts::default() });
        match self {
            TraceCommand::Breakdown(tell) => tell.run(breakdown, 0)?,
            TraceCommand::Overlap(tell) => tell.run(overlap, 0)?,
            TraceCommand::Summary(summary) => {
                let parts = Parts { breakdown: true, overlap: true, summary: true, by_step: false };
                summary.tell.run(parts, summary.top)?;
            }
            TraceCommand::Plot(plot) => plot.run()?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl ReportArgs {
    fn run(&self, parts: Parts, top: usize) -> Result<()> {
        let parts = Parts { by_step: self.by == By::Step, ..parts };
        let mut reports = Vec::new();
        self.input.for_each_file(parts.summary || parts.by_step, |file, recording| {
            if parts.by_step
                && recording.devices.iter().all(|device| device.events.iter().all(|event| event.step().is_none()))
            {
                recording
                    .warnings
                    .push("no steps: the file has no ProfilerStep#N ranges and no events with an iteration".into());
            }
            reports.push(FileReport::of(file, recording, parts));
            Ok(())
        })?;
        let document = Document::of(reports, parts);
        if self.format != Format::Json {
            say_warnings(&document);
        }
        match self.format {
            Format::Table => print(table::whole(&document, parts, top).as_bytes()),
            Format::Csv => print(&rows::csv(&document, parts)?),
            Format::Json => {
                let failed = |error: serde_json::Error| Error::Environment(error.to_string());
                let mut text = serde_json::to_vec_pretty(&document).map_err(failed)?;
                text.push(b'\n');
                print(&text)
            }
        }
    }
}

/// Every warning, with the file it is about.
fn say_warnings(document: &Document) {
    for file in &document.files {
        for warning in &file.warnings {
            say(&format!("warning: {}: {warning}", file.file));
        }
    }
}

impl Input {
    fn options(&self, wants_launches: bool) -> Result<Options> {
        let mut rules = Rules::with_patterns(&self.communication_pattern).map_err(usage_error)?;
        rules.counts_mtia = self.mtia;
        Ok(Options { rules, wants_launches: wants_launches || self.window.is_some(), recovers: self.recover })
    }

    /// Calls `take` with each file's name and what it holds, of the window only.
    ///
    /// # Errors
    /// For files that cannot be read, and if the window holds a step of none of them.
    fn for_each_file(
        &self,
        wants_launches: bool,
        mut take: impl FnMut(&str, &mut Recording) -> Result<()>,
    ) -> Result<()> {
        let options = self.options(wants_launches)?;
        let (mut is_matched, mut steps_there) = (self.window.is_none(), BTreeSet::new());
        let mut ranks = std::collections::HashMap::new();
        for path in &self.files {
            let mut recording = trace::read(path, &options).map_err(usage_error)?;
            let name = path.display().to_string();
            if let Some(rank) = recording.rank
                && let Some(other) = ranks.insert(rank, name.clone())
            {
                recording.warnings.push(format!("rank {rank} is also that of {other}"));
            }
            if let Some(Window(steps)) = &self.window {
                let there = recording.steps();
                is_matched |= there.iter().any(|step| steps.contains(step));
                steps_there.extend(there);
                keep_window(&mut recording, steps.clone());
            }
            take(&name, &mut recording)?;
        }
        match &self.window {
            Some(window) if !is_matched => {
                let files = self.file_names();
                let there = if steps_there.is_empty() {
                    format!("{files}: no steps (no ProfilerStep#N ranges, no STEP_TIME, no events with an iteration)")
                } else {
                    format!("the steps of {files} are {}; give some of them", ranges(&steps_there))
                };
                Err(Error::usage(format!("--window {window} matches no step; {there}")))
            }
            _ => Ok(()),
        }
    }

    /// The files in a message: the first one, and how many others.
    fn file_names(&self) -> String {
        match &self.files[..] {
            [] => "no files".into(),
            [only] => only.display().to_string(),
            [first, others @ ..] => format!("{} and {} more", first.display(), others.len()),
        }
    }
}

/// Steps as ranges: `3..5, 8`.
fn ranges(steps: &BTreeSet<i64>) -> String {
    let mut ranges: Vec<RangeInclusive<i64>> = Vec::new();
    for &step in steps {
        match ranges.last_mut() {
            Some(last) if last.end().checked_add(1) == Some(step) => *last = *last.start()..=step,
            _ => ranges.push(step..=step),
        }
    }
    let text = |range: &RangeInclusive<i64>| Window(range.clone()).to_string();
    ranges.iter().map(text).collect::<Vec<_>>().join(", ")
}

/// Leaves only the window's steps, and says what span that is.
fn keep_window(recording: &mut Recording, steps: RangeInclusive<i64>) {
    let left_out = recording.keep_steps(steps.clone());
    let window = format!("window: steps {}", Window(steps));
    let mut said = vec![format!("{window}; {left_out} events of other steps or of none were left out")];
    for device in &recording.devices {
        match (device.events.first(), device.events.iter().map(|event| event.end_ns).max()) {
            (Some(first), Some(end)) => said.push(format!(
                "{window}: device {} from {} to {} us",
                device.id,
                trace::Microseconds(first.start_ns),
                trace::Microseconds(end)
            )),
            _ => said.push(format!("{window}: device {} has no events in it", device.id)),
        }
    }
    recording.warnings.extend(said);
}

impl PlotArgs {
    fn run(&self) -> Result<()> {
        let ending = self.output.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase);
        let Some(form @ ("html" | "svg" | "png")) = ending.as_deref() else {
            return Err(Error::usage(format!("{}: end it in .html, .svg or .png", self.output.display())));
        };
        whole_file::check(&self.output, whole_file::folder(&self.output))?;
        let parts = Parts { breakdown: true, overlap: true, summary: true, by_step: true };
        let (mut reports, mut strips) = (Vec::new(), Vec::new());
        self.input.for_each_file(true, |file, recording| {
            reports.push(FileReport::of(file, recording, parts));
            strips.push(recording.devices.iter().map(picture::Strip::of).collect());
            Ok(())
        })?;
        let document = Document::of(reports, parts);
        say_warnings(&document);
        let bytes = picture::rendered(&document, &strips, form)?;
        whole_file::write(&self.output, |out| out.write_all(&bytes))?;
        say(&format!("plot     {}", self.output.display()));
        Ok(())
    }
}

/// A reader's error, as the command line reports errors: bad input.
fn usage_error(error: trace::Error) -> Error {
    Error::usage(with_causes(&error))
}

/// A file's name without its folders.
fn file_name(file: &str) -> String {
    Path::new(file).file_name().map_or_else(|| file.to_owned(), |name| name.to_string_lossy().into_owned())
}

/// What a device is called beside others: its rank if it has one, else its file.
fn device_title(file: &FileReport, device: &trace::Label) -> String {
    match file.rank {
        Some(rank) => format!("rank {rank}, device {device}"),
        None => format!("{}, device {device}", file_name(&file.file)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_told_as_ranges() {
        let check = |steps: &[i64], expected: &str| assert_eq!(ranges(&steps.iter().copied().collect()), expected);
        check(&[], "");
        check(&[4], "4");
        check(&[3, 4, 5, 8, 10, 11], "3..5, 8, 10..11");
    }

    #[test]
    fn a_window_is_two_steps_or_one_with_an_open_end() {
        let check = |text: &str, expected: Option<(i64, i64)>| {
            let window = text.parse::<Window>().ok().map(|window| (*window.0.start(), *window.0.end()));
            assert_eq!(window, expected, "{text}");
        };
        check("3..5", Some((3, 5)));
        check("3..=5", Some((3, 5)));
        check("3..", Some((3, i64::MAX)));
        check("..5", Some((i64::MIN, 5)));
        check("4", Some((4, 4)));
        check("-2..-1", Some((-2, -1)));
        for text in ["..", "5..3", "a..b", "", "1..2..3"] {
            if !text.is_empty() {
                check(text, None);
            }
        }
    }
}
