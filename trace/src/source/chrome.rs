//! Events of Chrome traces: PyTorch (Kineto), Ascend's `trace_view.json`, our own timelines.
//!
//! Keys of an event come in any order, so what decides (`ph`, `cat`, `name`) may be known late; as soon as it is known that an event
//! is of no use, the rest of it is passed over. Format: "Trace Event Format", Google, 2016.

use super::ascend_view::Processes;
use super::options::Options;
use crate::classify::{ByName, Category};
use crate::interval::Interval;
use crate::json::Text;
use crate::recording::{Class, DeviceId, Recording, StepRange, Work};
use crate::time::{Exact, MICROSECONDS, exact, integer as nearest};
use std::borrow::Cow;

/// What PyTorch calls the ranges of its steps.
const STEP: &[u8] = b"ProfilerStep";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Field {
    Phase,
    Category,
    Name,
    Start,
    Duration,
    Process,
    Thread,
    Args,
    Stream,
    Device,
    Correlation,
    Collective,
    Iteration,
    StreamId,
    ModelId,
    TaskType,
    ProcessName,
    Other,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Unknown,
    Complete,
    Metadata,
    Other,
}

/// An event so far.
struct Event {
    phase: Phase,
    category: Option<Category>,
    is_annotation: bool,
    has_name: bool,
    name: Vec<u8>,
    start: Option<Exact>,
    duration: Option<Exact>,
    process: Option<DeviceId>,
    thread: Option<i64>,
    stream: Option<i64>,
    device: Option<DeviceId>,
    correlation: Option<i64>,
    has_collective: bool,
    collective: Vec<u8>,
    iteration: Option<i64>,
    /// Ascend's rows have a stream or a model.
    stream_id: Option<i64>,
    has_model: bool,
    is_wait: bool,
    process_name: Vec<u8>,
}

impl Event {
    fn new() -> Event {
        Event {
            phase: Phase::Unknown,
            category: None,
            is_annotation: false,
            has_name: false,
            name: Vec::new(),
            start: None,
            duration: None,
            process: None,
            thread: None,
            stream: None,
            device: None,
            correlation: None,
            has_collective: false,
            collective: Vec::new(),
            iteration: None,
            stream_id: None,
            has_model: false,
            is_wait: false,
            process_name: Vec::new(),
        }
    }

    /// Ready for the next event; buffers keep their memory.
    fn clear(&mut self) {
        let (mut name, mut collective, mut process_name) = (
            std::mem::take(&mut self.name),
            std::mem::take(&mut self.collective),
            std::mem::take(&mut self.process_name),
        );
        name.clear();
        collective.clear();
        process_name.clear();
        *self = Event { name, collective, process_name, ..Event::new() };
    }
}

/// Takes in the events of a list. Levels count from the list: 1 is an event, 2 its arguments.
pub(super) struct Events<'o> {
    options: &'o Options,
    event: Event,
    field: Field,
    in_args: bool,
    /// The rest of this event is of no use.
    skips: bool,
    by_name: ByName,
    processes: Processes,
    is_event: bool,
    not_events: u64,
}

impl<'o> Events<'o> {
    pub(super) fn new(options: &'o Options) -> Events<'o> {
        Events {
            options,
            event: Event::new(),
            field: Field::Other,
            in_args: false,
            skips: false,
            by_name: ByName::default(),
            processes: Processes::default(),
            is_event: false,
            not_events: 0,
        }
    }

    #[inline(always)]
    pub(super) fn open(&mut self, level: usize, is_object: bool) {
        if level == 1 {
            self.event.clear();
            self.is_event = is_object;
            self.not_events += u64::from(!is_object);
            (self.skips, self.in_args) = (!is_object, false);
        } else if level == 2 {
            self.in_args = is_object && self.field == Field::Args;
        }
    }

    #[inline(always)]
    pub(super) fn close(&mut self, level: usize, recording: &mut Recording) {
        if level == 1 {
            if !self.skips {
                self.take(recording);
            }
        } else if level == 2 {
            self.in_args = false;
        }
    }

    #[inline(always)]
    pub(super) fn key(&mut self, level: usize, key: Text<'_>) {
        if self.skips {
            return;
        }
        self.field = match level {
            1 => match &*key.bytes() {
                b"ph" => Field::Phase,
                b"cat" => Field::Category,
                b"name" => Field::Name,
                b"ts" => Field::Start,
                b"dur" => Field::Duration,
                b"pid" => Field::Process,
                b"tid" => Field::Thread,
                b"args" => Field::Args,
                _ => Field::Other,
            },
            2 if self.in_args => match &*key.bytes() {
                b"stream" => Field::Stream,
                b"device" => Field::Device,
                b"correlation" => Field::Correlation,
                b"Collective name" => Field::Collective,
                b"iteration" => Field::Iteration,
                b"Stream Id" | b"stream id" => Field::StreamId,
                b"Model Id" | b"model id" => Field::ModelId,
                b"Task Type" | b"task type" => Field::TaskType,
                b"name" => Field::ProcessName,
                _ => Field::Other,
            },
            _ => Field::Other,
        };
    }

    #[inline(always)]
    pub(super) fn string(&mut self, level: usize, value: Text<'_>) {
        if self.skips || level > 2 || (level == 2 && !self.in_args) {
            return;
        }
        let event = &mut self.event;
        match self.field {
            Field::Phase => {
                event.phase = match &*value.bytes() {
                    b"X" => Phase::Complete,
                    b"M" => Phase::Metadata,
                    _ => Phase::Other,
                };
                self.skips = event.phase == Phase::Other;
            }
            Field::Category => {
                let text = value.bytes();
                event.category = Some(Category::of(&text));
                // The device's own copies of annotations span work of the device; the host's are the steps.
                event.is_annotation = !text.starts_with(b"gpu_");
                self.judge();
            }
            Field::Name => {
                event.name.clear();
                event.name.extend_from_slice(&value.bytes());
                event.has_name = true;
                self.judge();
            }
            Field::Start => event.start = exact(&value.bytes(), MICROSECONDS),
            Field::Duration => event.duration = exact(&value.bytes(), MICROSECONDS),
            Field::Process => event.process = Some(DeviceId::Name(value.text().into_owned())),
            Field::Device => event.device = Some(DeviceId::Name(value.text().into_owned())),
            Field::Stream => event.stream = stream(&value.bytes()),
            Field::StreamId => event.stream_id = stream(&value.bytes()),
            Field::Correlation => event.correlation = nearest(&value.bytes()),
            Field::Collective => {
                event.collective.clear();
                event.collective.extend_from_slice(&value.bytes());
                event.has_collective = !event.collective.is_empty();
            }
            Field::TaskType => {
                let text = value.bytes();
                event.is_wait = text.starts_with(b"EVENT_") || text.starts_with(b"NOTIFY_");
            }
            Field::ProcessName => {
                event.process_name.clear();
                event.process_name.extend_from_slice(&value.bytes());
            }
            Field::Thread | Field::Args | Field::Iteration | Field::ModelId | Field::Other => {}
        }
        self.field = Field::Other;
    }

    #[inline(always)]
    pub(super) fn scalar(&mut self, level: usize, raw: &[u8]) {
        if self.skips || level > 2 || (level == 2 && !self.in_args) {
            return;
        }
        let event = &mut self.event;
        match self.field {
            Field::Start => event.start = exact(raw, MICROSECONDS),
            Field::Duration => event.duration = exact(raw, MICROSECONDS),
            Field::Process => event.process = integer(raw).map(DeviceId::Number),
            Field::Device => event.device = integer(raw).map(DeviceId::Number),
            Field::Thread => event.thread = integer(raw),
            Field::Stream => event.stream = stream(raw),
            Field::StreamId => event.stream_id = stream(raw),
            Field::Correlation => event.correlation = integer(raw),
            Field::Iteration => event.iteration = integer(raw),
            Field::ModelId => event.has_model = true,
            _ => {}
        }
        self.field = Field::Other;
    }

    /// Passes over the rest of an event when what is known of it says that it is of no use.
    #[inline(always)]
    fn judge(&mut self) {
        let event = &self.event;
        self.skips = event.has_name
            && match event.category {
                Some(Category::Other) => !event.name.starts_with(STEP),
                Some(Category::Call) => !self.options.wants_launches,
                Some(Category::Mtia) => !self.options.rules.counts_mtia,
                Some(Category::Kernel | Category::Memory) | None => false,
            };
    }

    pub(super) fn abandon(&mut self) {
        self.event.clear();
        self.skips = true;
    }

    /// The event is whole.
    fn take(&mut self, recording: &mut Recording) {
        match self.event.phase {
            Phase::Complete => self.take_complete(recording),
            Phase::Metadata if self.event.name == b"process_name" => {
                if let Some(process) = self.event.process.take() {
                    self.processes.name(process, utf8(&self.event.process_name).into_owned());
                }
            }
            Phase::Metadata | Phase::Other | Phase::Unknown => {}
        }
    }

    fn take_complete(&mut self, recording: &mut Recording) {
        let event = &mut self.event;
        match event.category {
            Some(Category::Kernel | Category::Memory | Category::Mtia) => {
                let Some(stream) = event.stream else { return };
                let id = event.device.take().or(event.process.take()).unwrap_or(DeviceId::Name("unknown".into()));
                let Some((start, end)) = span(event) else {
                    recording.device(&id).dropped_unreadable += 1;
                    return;
                };
                let name = recording.names.name(&utf8(&event.name));
                let class = match event.category {
                    Some(Category::Memory) => Class::Memory,
                    _ if event.has_collective => Class::Communication,
                    _ => self.by_name.class(name, &recording.names, &self.options.rules),
                };
                let mut work = Work::new(class, name, recording.stream_number(stream), start, end);
                work.launch = event.correlation.unwrap_or(work.launch);
                if event.has_collective {
                    work.set_collective(recording.names.name(&utf8(&event.collective)));
                }
                if let Some(step) = event.iteration {
                    let place = recording.step_place(step);
                    work.set_step(Some(place));
                }
                recording.add(&id, work);
            }
            Some(Category::Call) => {
                if let (Some(correlation), Some(start)) = (event.correlation, event.start.and_then(Exact::rounded)) {
                    recording.launches.push((correlation, start));
                }
            }
            Some(Category::Other) if event.is_annotation && event.name.starts_with(STEP) => {
                let number = event.name[STEP.len()..].strip_prefix(b"#").and_then(integer);
                if let (Some(step), Some((start, end))) = (number, span(event)) {
                    recording.ranges.push(StepRange { step, range: Interval { start, end } });
                }
            }
            Some(Category::Other) => {}
            None if event.stream_id.is_some() || event.has_model => {
                let Some(process) = event.process.take() else { return };
                let is_wait = event.is_wait || event.name.starts_with(b"EVENT_") || event.name.starts_with(b"NOTIFY_");
                let stream = event.stream_id.or(event.thread).unwrap_or(0);
                let name = recording.names.name(&utf8(&event.name));
                let work = span(event).map(|(start, end)| {
                    Work::new(Class::Computation, name, recording.stream_number(stream), start, end)
                });
                self.processes.hold(process, work, is_wait);
            }
            None => {}
        }
    }

    pub(super) fn finish(mut self, recording: &mut Recording) {
        let processes = std::mem::take(&mut self.processes);
        processes.finish(recording, &mut self.by_name, &self.options.rules);
        if self.not_events > 0 {
            recording.warnings.push(format!("{} elements of the list of events are no objects", self.not_events));
        }
    }
}

/// Start and end; none if one cannot be read.
fn span(event: &Event) -> Option<(i64, i64)> {
    let (start, duration) = (event.start?, event.duration?);
    Some((start.rounded()?, start.plus(duration).rounded()?))
}

/// Text that was checked when it was read.
fn utf8(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// An integer of decimal digits.
fn integer(raw: &[u8]) -> Option<i64> {
    std::str::from_utf8(raw).ok()?.parse().ok()
}

/// A stream: an integer of at least 0.
fn stream(raw: &[u8]) -> Option<i64> {
    integer(raw).filter(|stream| *stream >= 0)
}
