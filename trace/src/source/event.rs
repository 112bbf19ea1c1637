//! An `Event` is one event of a Chrome trace while it is read. Its keys come in any order, and it keeps the values that matter.

use crate::classify::Category;
use crate::json::Text;
use crate::recording::Label;
use crate::time::{Exact, MICROSECONDS, exact};
use std::borrow::Cow;

/// What PyTorch calls the ranges of its steps.
const STEP: &[u8] = b"ProfilerStep";

/// The keys that matter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Field {
    Phase,
    Category,
    Name,
    Start,
    Duration,
    Process,
    Thread,
    Args,
    Stream,
    SyclQueue,
    LevelZeroQueue,
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

impl Field {
    /// A key of an event.
    #[inline(always)]
    pub(super) fn of_event(key: &[u8]) -> Field {
        match key {
            b"ph" => Field::Phase,
            b"cat" => Field::Category,
            b"name" => Field::Name,
            b"ts" => Field::Start,
            b"dur" => Field::Duration,
            b"pid" => Field::Process,
            b"tid" => Field::Thread,
            b"args" => Field::Args,
            _ => Field::Other,
        }
    }

    /// A key of an event's arguments.
    #[inline(always)]
    pub(super) fn of_args(key: &[u8]) -> Field {
        match key {
            b"stream" => Field::Stream,
            b"sycl queue" => Field::SyclQueue,
            b"l0 queue" => Field::LevelZeroQueue,
            b"device" => Field::Device,
            b"correlation" => Field::Correlation,
            b"Collective name" => Field::Collective,
            b"iteration" => Field::Iteration,
            b"Stream Id" | b"stream id" => Field::StreamId,
            b"Model Id" | b"model id" => Field::ModelId,
            b"Task Type" | b"task type" => Field::TaskType,
            b"name" => Field::ProcessName,
            _ => Field::Other,
        }
    }
}

/// What `ph` says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// No `ph` was seen.
    Unknown,
    /// `X`: start and duration.
    Complete,
    /// `B`: the beginning of what an `E` ends.
    Begin,
    /// `E`.
    End,
    /// `M`: names of processes.
    Metadata,
    /// `s`, `t`, `f`: an arrow between events.
    Flow,
    /// Any other, by its first byte.
    Other(u8),
}

impl Phase {
    fn of(text: &[u8]) -> Phase {
        match text {
            b"X" => Phase::Complete,
            b"B" => Phase::Begin,
            b"E" => Phase::End,
            b"M" => Phase::Metadata,
            b"s" | b"t" | b"f" => Phase::Flow,
            _ => Phase::Other(text.first().copied().unwrap_or(b' ')),
        }
    }
}

/// Why an event's queue is not known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NoStream {
    /// `stream` is there, but it is no integer of at least 0.
    Odd,
    /// Neither a stream, nor a queue, nor a thread is there.
    Absent,
}

/// An event so far.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) phase: Phase,
    pub(super) category: Option<Category>,
    pub(super) is_annotation: bool,
    pub(super) has_name: bool,
    pub(super) name: Vec<u8>,
    pub(super) start: Option<Exact>,
    pub(super) duration: Option<Exact>,
    pub(super) process: Option<Label>,
    pub(super) thread: Option<Label>,
    pub(super) stream: Option<Label>,
    pub(super) has_odd_stream: bool,
    pub(super) sycl_queue: Option<Label>,
    pub(super) level_zero_queue: Option<Label>,
    pub(super) device: Option<Label>,
    pub(super) correlation: Option<i64>,
    pub(super) has_collective: bool,
    pub(super) collective: Vec<u8>,
    pub(super) iteration: Option<i64>,
    /// Ascend's rows have a stream or a model.
    pub(super) stream_id: Option<Label>,
    pub(super) has_model: bool,
    pub(super) is_wait: bool,
    pub(super) process_name: Vec<u8>,
}

impl Event {
    pub(super) fn new() -> Event {
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
            has_odd_stream: false,
            sycl_queue: None,
            level_zero_queue: None,
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
    pub(super) fn clear(&mut self) {
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

    /// Takes in a value in quotes.
    #[inline(always)]
    pub(super) fn string(&mut self, field: Field, value: Text<'_>) {
        match field {
            Field::Phase => self.phase = Phase::of(&value.bytes()),
            Field::Category => {
                let text = value.bytes();
                self.category = Some(Category::of(&text));
                // The device's own copies of annotations span work of the device; the host's are the steps.
                self.is_annotation = !text.starts_with(b"gpu_");
            }
            Field::Name => {
                self.name.clear();
                self.name.extend_from_slice(&value.bytes());
                self.has_name = true;
            }
            Field::Start => self.start = exact(&value.bytes(), MICROSECONDS),
            Field::Duration => self.duration = exact(&value.bytes(), MICROSECONDS),
            Field::Process => self.process = Some(Label::Name(value.text().into_owned())),
            Field::Thread => self.thread = Some(Label::Name(value.text().into_owned())),
            Field::Device => self.device = Some(Label::Name(value.text().into_owned())),
            Field::Stream => self.set_stream(&value.bytes()),
            Field::SyclQueue => self.sycl_queue = queue(&value.bytes()),
            Field::LevelZeroQueue => self.level_zero_queue = queue(&value.bytes()),
            Field::StreamId => self.stream_id = stream(&value.bytes()),
            Field::Correlation => self.correlation = integer(&value.bytes()),
            Field::Iteration => self.iteration = integer(&value.bytes()),
            Field::Collective => {
                self.collective.clear();
                self.collective.extend_from_slice(&value.bytes());
                self.has_collective = !self.collective.is_empty();
            }
            Field::TaskType => self.is_wait = is_wait(&value.bytes()),
            Field::ProcessName => {
                self.process_name.clear();
                self.process_name.extend_from_slice(&value.bytes());
            }
            Field::Args | Field::ModelId | Field::Other => {}
        }
    }

    /// Takes in a number, or `true`, `false`, `null`.
    #[inline(always)]
    pub(super) fn scalar(&mut self, field: Field, raw: &[u8]) {
        match field {
            Field::Start => self.start = exact(raw, MICROSECONDS),
            Field::Duration => self.duration = exact(raw, MICROSECONDS),
            Field::Process => self.process = integer(raw).map(Label::Number),
            Field::Thread => self.thread = integer(raw).map(Label::Number),
            Field::Device => self.device = integer(raw).map(Label::Number),
            Field::Stream if raw != b"null" => self.set_stream(raw),
            Field::SyclQueue if raw != b"null" => self.sycl_queue = queue(raw),
            Field::LevelZeroQueue if raw != b"null" => self.level_zero_queue = queue(raw),
            Field::StreamId => self.stream_id = stream(raw),
            Field::Correlation => self.correlation = integer(raw),
            Field::Iteration => self.iteration = integer(raw),
            Field::ModelId => self.has_model = true,
            _ => {}
        }
    }

    fn set_stream(&mut self, raw: &[u8]) {
        self.stream = stream(raw);
        self.has_odd_stream = self.stream.is_none();
    }

    /// The queue that an event of a device belongs to: its stream, else its queue (Intel), else its thread.
    pub(super) fn queue(&mut self) -> Result<Label, NoStream> {
        if self.has_odd_stream {
            return Err(NoStream::Odd);
        }
        let found = self.stream.take().or(self.sycl_queue.take()).or(self.level_zero_queue.take());
        found.or(self.thread.take()).ok_or(NoStream::Absent)
    }

    /// Whether this is a row of a device in a trace of Ascend, which has no category.
    pub(super) fn is_of_ascend(&self) -> bool {
        self.category.is_none() && (self.stream_id.is_some() || self.has_model)
    }

    /// Whether Ascend's device waits in it.
    pub(super) fn is_a_wait(&self) -> bool {
        self.is_wait || is_wait(&self.name)
    }

    /// The number of the step that this range is.
    pub(super) fn step(&self) -> Option<i64> {
        let number = self.is_annotation.then(|| self.name.strip_prefix(STEP))??;
        number.strip_prefix(b"#").and_then(integer)
    }

    /// Whether its name says that it may be a step.
    pub(super) fn may_be_a_step(&self) -> bool {
        self.name.starts_with(STEP)
    }

    /// Whether a half of a pair has anything that makes the pair an event of use, or that belongs to one.
    pub(super) fn matters_in_a_pair(&self) -> bool {
        match self.category {
            Some(category) => category.is_of_a_device() || self.step().is_some(),
            None => {
                self.is_of_ascend()
                    || self.has_odd_stream
                    || self.has_collective
                    || self.iteration.is_some()
                    || self.correlation.is_some()
                    || [&self.stream, &self.sycl_queue, &self.level_zero_queue, &self.device]
                        .iter()
                        .any(|of| of.is_some())
            }
        }
    }

    /// Takes from the other half of its pair what it does not say itself.
    pub(super) fn complete_by(&mut self, other: Event) {
        if self.category.is_none() {
            (self.category, self.is_annotation) = (other.category, other.is_annotation);
        }
        if !self.has_name {
            (self.has_name, self.name) = (other.has_name, other.name);
        }
        if !self.has_collective {
            (self.has_collective, self.collective) = (other.has_collective, other.collective);
        }
        if self.stream.is_none() {
            (self.stream, self.has_odd_stream) = (other.stream, self.has_odd_stream || other.has_odd_stream);
        }
        self.sycl_queue = self.sycl_queue.take().or(other.sycl_queue);
        self.level_zero_queue = self.level_zero_queue.take().or(other.level_zero_queue);
        self.process = self.process.take().or(other.process);
        self.thread = self.thread.take().or(other.thread);
        self.device = self.device.take().or(other.device);
        self.correlation = self.correlation.or(other.correlation);
        self.iteration = self.iteration.or(other.iteration);
        self.stream_id = self.stream_id.take().or(other.stream_id);
        self.has_model |= other.has_model;
        self.is_wait |= other.is_wait;
    }

    /// Start and end of an event that says its duration, in ns; none if one cannot be read.
    pub(super) fn span(&self) -> Option<(i64, i64)> {
        let (start, duration) = (self.start?, self.duration?);
        Some((start.rounded()?, start.plus(duration).rounded()?))
    }
}

/// Text that was checked when it was read.
pub(super) fn utf8(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

fn is_wait(text: &[u8]) -> bool {
    text.starts_with(b"EVENT_") || text.starts_with(b"NOTIFY_")
}

/// A whole number, also one such as `7.0`.
fn integer(raw: &[u8]) -> Option<i64> {
    std::str::from_utf8(raw).ok()?.parse().ok().or_else(|| exact(raw, 0)?.whole())
}

/// A stream: a whole number of at least 0.
fn stream(raw: &[u8]) -> Option<Label> {
    integer(raw).filter(|stream| *stream >= 0).map(Label::Number)
}

/// A queue of Intel's: a number, decimal or hexadecimal, or any other text.
fn queue(raw: &[u8]) -> Option<Label> {
    let text = utf8(raw);
    let hexadecimal = || i64::from_str_radix(text.strip_prefix("0x")?, 16).ok();
    let number = integer(raw).or_else(hexadecimal).map(Label::Number);
    number.or_else(|| (!text.is_empty()).then(|| Label::Name(text.into_owned())))
}
