//! Events of Chrome traces: PyTorch (Kineto), Ascend's `trace_view.json`, our own timelines.
//!
//! Keys of an event come in any order, so what decides (`ph`, `cat`, `name`) may be known late; as soon as it is known that an event
//! is of no use, the rest of it is passed over. What looks like work of a device and cannot be read is counted and told.
//! Format: "Trace Event Format", Google, 2016.

use super::ascend_view::Processes;
use super::event::{Event, Field, NoStream, Phase, utf8};
use super::options::Options;
use super::pairs::{Half, Pair, Pairs};
use crate::classify::{ByName, Category};
use crate::interval::Interval;
use crate::json::Text;
use crate::recording::{Class, DeviceEvent, Label, Recording, StepRange};
use crate::time::Exact;
use std::collections::BTreeMap;

/// Events that look like work of a device and were left out, by why.
#[derive(Default, Debug)]
struct LeftOut {
    odd_stream: u64,
    no_stream: u64,
    /// By the first byte of `ph`; 0 for none.
    by_phase: BTreeMap<u8, u64>,
    halves_without_time: u64,
    /// By device.
    unclosed: BTreeMap<String, u64>,
    unclosed_steps: u64,
    lone_ends: u64,
    mtia: u64,
}

impl LeftOut {
    /// Says each count in a sentence.
    fn tell(self, recording: &mut Recording) {
        recording.mtia_left_out += self.mtia;
        let mut say = |count: u64, what: &str| {
            if count > 0 {
                recording.warnings.push(format!("{count} {what}"));
            }
        };
        say(self.odd_stream, "kernels or copies were left out: their `stream` is no integer of at least 0");
        say(self.no_stream, "kernels or copies were left out: they have no `stream`, no queue and no `tid`");
        for (phase, count) in self.by_phase {
            let of = match phase {
                0 => "no `ph`".to_owned(),
                _ => format!("`ph` {}", char::from(phase)),
            };
            say(count, &format!("kernels or copies were left out: {of} is not read, only X and pairs of B and E are"));
        }
        say(self.halves_without_time, "`ph` B or E events were left out: their `ts` is absent or no number");
        for (device, count) in self.unclosed {
            say(count, &format!("events of device {device} were left out: they begin (`ph` B) and never end"));
        }
        say(self.unclosed_steps, "steps were left out: they begin (`ph` B) and never end");
        say(self.lone_ends, "ends (`ph` E) were left out: nothing that they could end begins on their track");
    }
}

/// What becomes of whole events.
struct Intake<'o> {
    options: &'o Options,
    by_name: ByName,
    processes: Processes,
    left_out: LeftOut,
}

impl Intake<'_> {
    /// Takes in an event; without a `span` its times cannot be read.
    fn take(&mut self, event: &mut Event, span: Option<(i64, i64)>, recording: &mut Recording) {
        match event.category {
            Some(Category::Mtia) if !self.options.rules.counts_mtia => self.left_out.mtia += 1,
            Some(Category::Kernel | Category::Memory | Category::Mtia) => self.take_work(event, span, recording),
            Some(Category::Call) => {
                if let (Some(correlation), Some(start)) = (event.correlation, event.start.and_then(Exact::rounded)) {
                    recording.launches.push((correlation, start));
                }
            }
            Some(Category::Other) => {
                if let (Some(step), Some((start, end))) = (event.step(), span) {
                    recording.ranges.push(StepRange { step, range: Interval { start, end } });
                }
            }
            None if event.is_of_ascend() => {
                let is_wait = event.is_a_wait();
                let stream = event.stream_id.take().or(event.thread.take()).unwrap_or(Label::Number(0));
                let process = event.process.take().unwrap_or(Label::Name("unknown".into()));
                let name = recording.names.name(&utf8(&event.name));
                let device_event = span.map(|(start, end)| {
                    DeviceEvent::new(Class::Computation, name, recording.stream_number(stream), start, end)
                });
                self.processes.hold(process, device_event, is_wait);
            }
            None => {}
        }
    }

    fn take_work(&mut self, event: &mut Event, span: Option<(i64, i64)>, recording: &mut Recording) {
        let stream = match event.queue() {
            Ok(stream) => stream,
            Err(NoStream::Odd) => return self.left_out.odd_stream += 1,
            Err(NoStream::Absent) => return self.left_out.no_stream += 1,
        };
        let id = device(event);
        let Some((start, end)) = span else {
            recording.device(&id).dropped_unreadable += 1;
            return;
        };
        let name = recording.names.name(&utf8(&event.name));
        let class = match event.category {
            Some(Category::Memory) => Class::Memory,
            _ if event.has_collective => Class::Communication,
            _ => self.by_name.class(name, &recording.names, &self.options.rules),
        };
        let mut device_event = DeviceEvent::new(class, name, recording.stream_number(stream), start, end);
        device_event.launch = event.correlation.unwrap_or(device_event.launch);
        if event.has_collective {
            device_event.set_collective(recording.names.name(&utf8(&event.collective)));
        }
        if let Some(step) = event.iteration {
            let place = recording.step_place(step);
            device_event.set_step(Some(place));
        }
        recording.add(&id, device_event);
    }
}

/// The device of an event of one: what its arguments say, else its process.
fn device(event: &mut Event) -> Label {
    event.device.take().or(event.process.take()).unwrap_or(Label::Name("unknown".into()))
}

/// Takes in the events of a list. Levels count from the list: 1 is an event, 2 its arguments.
pub(super) struct Events<'o> {
    event: Event,
    field: Field,
    in_args: bool,
    /// The rest of this event is of no use.
    skips: bool,
    pairs: Pairs<Event>,
    intake: Intake<'o>,
    not_events: u64,
}

impl<'o> Events<'o> {
    pub(super) fn new(options: &'o Options) -> Events<'o> {
        let (by_name, processes, left_out) = (ByName::default(), Processes::default(), LeftOut::default());
        Events {
            event: Event::new(),
            field: Field::Other,
            in_args: false,
            skips: false,
            pairs: Pairs::default(),
            intake: Intake { options, by_name, processes, left_out },
            not_events: 0,
        }
    }

    #[inline(always)]
    pub(super) fn open(&mut self, level: usize, is_object: bool) {
        if level == 1 {
            self.event.clear();
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
            1 => Field::of_event(&key.bytes()),
            2 if self.in_args => Field::of_args(&key.bytes()),
            _ => Field::Other,
        };
    }

    #[inline(always)]
    pub(super) fn string(&mut self, level: usize, value: Text<'_>) {
        if self.skips || level > 2 || (level == 2 && !self.in_args) {
            return;
        }
        self.event.string(self.field, value);
        if matches!(self.field, Field::Phase | Field::Category | Field::Name) {
            self.judge();
        }
        self.field = Field::Other;
    }

    #[inline(always)]
    pub(super) fn scalar(&mut self, level: usize, raw: &[u8]) {
        if self.skips || level > 2 || (level == 2 && !self.in_args) {
            return;
        }
        self.event.scalar(self.field, raw);
        self.field = Field::Other;
    }

    /// Passes over the rest of an event when what is known of it says that it is of no use.
    #[inline(always)]
    fn judge(&mut self) {
        let event = &self.event;
        self.skips = match (event.phase, event.category) {
            (Phase::Flow, _) => true,
            (Phase::Complete, Some(Category::Other)) => event.has_name && !event.may_be_a_step(),
            (Phase::Complete, Some(Category::Call)) => !self.intake.options.wants_launches,
            (Phase::Complete, Some(Category::Mtia)) if !self.intake.options.rules.counts_mtia => {
                self.intake.left_out.mtia += 1;
                true
            }
            (Phase::Other(_), Some(category)) => !category.is_of_a_device(),
            _ => false,
        };
    }

    pub(super) fn abandon(&mut self) {
        self.event.clear();
        self.skips = true;
    }

    /// The event is whole.
    fn take(&mut self, recording: &mut Recording) {
        let is_of_a_device = self.event.category.is_some_and(Category::is_of_a_device);
        match self.event.phase {
            Phase::Complete => {
                let span = self.event.span();
                self.intake.take(&mut self.event, span, recording);
            }
            Phase::Begin | Phase::End => self.hold_half(recording),
            Phase::Metadata if self.event.name == b"process_name" => {
                if let Some(process) = self.event.process.take() {
                    self.intake.processes.name(process, utf8(&self.event.process_name).into_owned());
                }
            }
            Phase::Other(phase) if is_of_a_device => *self.intake.left_out.by_phase.entry(phase).or_default() += 1,
            Phase::Unknown if is_of_a_device => *self.intake.left_out.by_phase.entry(0).or_default() += 1,
            Phase::Metadata | Phase::Flow | Phase::Other(_) | Phase::Unknown => {}
        }
    }

    /// A beginning or an end waits for its other half.
    fn hold_half(&mut self, recording: &mut Recording) {
        let event = &self.event;
        let is_begin = event.phase == Phase::Begin;
        let is_of_host = matches!(event.category, Some(Category::Call | Category::Other));
        let Some(at_ns) = event.start.and_then(Exact::rounded) else {
            self.intake.left_out.halves_without_time += u64::from(!is_of_host);
            return;
        };
        if is_begin && event.category == Some(Category::Call) && self.intake.options.wants_launches {
            recording.launches.extend(event.correlation.map(|correlation| (correlation, at_ns)));
        }
        let name = event.has_name.then(|| recording.names.name(&utf8(&event.name)));
        let what = event.matters_in_a_pair().then(|| Box::new(event.clone()));
        let half = Half { at_ns, is_begin, is_of_host, name, what };
        self.pairs.add((event.process.clone(), event.thread.clone()), half);
    }

    pub(super) fn finish(self, recording: &mut Recording) {
        let Events { pairs, mut intake, not_events, .. } = self;
        let lone = pairs.finish(|Pair { start_ns, end_ns, begin, end, name }| {
            let (Some(mut event), other) = (match begin {
                Some(begin) => (Some(begin), end),
                None => (end, None),
            }) else {
                return;
            };
            if let Some(other) = other {
                event.complete_by(*other);
            }
            if let (false, Some(name)) = (event.has_name, name) {
                event.name = recording.names.text(name).as_bytes().to_vec();
            }
            intake.take(&mut event, Some((start_ns, end_ns)), recording);
        });
        for mut begin in lone.begins {
            if begin.category.is_some_and(Category::is_of_a_device) || begin.is_of_ascend() {
                *intake.left_out.unclosed.entry(device(&mut begin).to_string()).or_default() += 1;
            } else if begin.step().is_some() {
                intake.left_out.unclosed_steps += 1;
            }
        }
        intake.left_out.lone_ends = lone.ends;
        let Intake { options, mut by_name, processes, left_out } = intake;
        processes.finish(recording, &mut by_name, &options.rules);
        left_out.tell(recording);
        if not_events > 0 {
            recording.warnings.push(format!("{not_events} elements of the list of events are no objects"));
        }
    }
}
