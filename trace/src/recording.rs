//! A `Recording` is what a file says about devices, in memory: the events of each device and little else.
//!
//! A device event takes 48 bytes. Names, streams and collectives are kept once. Launches (16 bytes a call) are kept only when asked for.

use crate::interval::Interval;
use crate::json::Repairs;
use crate::names::{Name, Names};
use std::collections::HashMap;
use std::fmt;

/// What a device did.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Class {
    /// Computation.
    Computation,
    /// Data between ranks.
    Communication,
    /// Copies and fills.
    Memory,
}

impl Class {
    /// All three.
    pub const ALL: [Class; 3] = [Class::Computation, Class::Communication, Class::Memory];

    /// Its name in tables and documents.
    pub fn name(self) -> &'static str {
        match self {
            Class::Computation => "computation",
            Class::Communication => "communication",
            Class::Memory => "memory",
        }
    }
}

/// One thing that a device did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeviceEvent {
    /// When it began, in ns of the file's clock.
    pub start_ns: i64,
    /// When it ended, not before it began.
    pub end_ns: i64,
    /// While a file is read, what it shares with the call that launched it; then the time of that call.
    pub(crate) launch: i64,
    /// Its name.
    pub name: Name,
    /// The device's queue, as a number of [`Recording::stream`].
    pub stream: u32,
    collective: u32,
    step: u32,
    /// What it was.
    pub class: Class,
}

const _: () = assert!(size_of::<DeviceEvent>() <= 48);

/// No launch is known.
pub(crate) const NO_LAUNCH: i64 = i64::MIN;
const NONE: u32 = u32::MAX;

impl DeviceEvent {
    pub(crate) fn new(class: Class, name: Name, stream: u32, start_ns: i64, end_ns: i64) -> DeviceEvent {
        DeviceEvent { start_ns, end_ns, launch: NO_LAUNCH, name, stream, collective: NONE, step: NONE, class }
    }

    /// From its start to its end.
    pub fn interval(&self) -> Interval {
        Interval { start: self.start_ns, end: self.end_ns }
    }

    /// When the call that launched it began, if the file says so and launches were asked for.
    pub fn launch_ns(&self) -> Option<i64> {
        (self.launch != NO_LAUNCH).then_some(self.launch)
    }

    /// The step it belongs to, as a place of [`Recording::step_label`].
    pub fn step(&self) -> Option<usize> {
        (self.step != NONE).then_some(self.step as usize)
    }

    pub(crate) fn set_step(&mut self, step: Option<usize>) {
        self.step = step.and_then(|step| u32::try_from(step).ok()).unwrap_or(NONE);
    }

    /// The collective that it is part of, if the file says so.
    pub fn collective(&self) -> Option<Name> {
        Name::at(self.collective)
    }

    pub(crate) fn set_collective(&mut self, name: Name) {
        self.collective = name.place();
    }
}

/// What a file calls a device, a stream, a process or a thread.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize)]
#[serde(untagged)]
pub enum Label {
    /// By number.
    Number(i64),
    /// By name.
    Name(String),
}

impl From<i64> for Label {
    fn from(number: i64) -> Label {
        Label::Number(number)
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Label::Number(number) => f.pad(&number.to_string()),
            Label::Name(name) => f.pad(name),
        }
    }
}

/// A device's work.
#[derive(Clone, PartialEq, Debug)]
pub struct Device {
    /// Which device.
    pub id: Label,
    /// What it did; in order of start and end once the file is read.
    pub events: Vec<DeviceEvent>,
    /// Events that were left out because they end before they begin.
    pub dropped_negative: u64,
    /// Events that were left out because they begin at 0 and take no time: their times were lost.
    pub dropped_zero_stamp: u64,
    /// Events that were left out because a time cannot be read.
    pub dropped_unreadable: u64,
}

/// A named range that is a step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StepRange {
    /// The step's number.
    pub step: i64,
    /// When the host was in it.
    pub range: Interval,
}

/// A file, read.
#[derive(Clone, Default, Debug)]
pub struct Recording {
    /// The rank, from the file's own words or else from its name.
    pub rank: Option<i64>,
    /// Devices, by id.
    pub devices: Vec<Device>,
    /// Texts of names.
    pub names: Names,
    /// What was mended on the way.
    pub repairs: Repairs,
    /// What a reader of the figures should know, in sentences.
    pub warnings: Vec<String>,
    /// Numbers of steps that events refer to.
    pub(crate) step_labels: Vec<i64>,
    pub(crate) ranges: Vec<StepRange>,
    pub(crate) launches: Vec<(i64, i64)>,
    /// Events of category `mtia_ccp_events` that were left out because the option was not given.
    pub(crate) mtia_left_out: u64,
    by_id: HashMap<Label, usize>,
    streams: Table<Label>,
    steps: HashMap<i64, usize>,
    last_device: usize,
}

#[derive(Clone, Debug)]
struct Table<T> {
    all: Vec<T>,
    places: HashMap<T, u32>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Table { all: Vec::new(), places: HashMap::new() }
    }
}

impl Recording {
    /// The device with this id; made if it is new.
    pub(crate) fn device(&mut self, id: &Label) -> &mut Device {
        if self.devices.get(self.last_device).is_none_or(|device| device.id != *id) {
            self.last_device = match self.by_id.get(id) {
                Some(&place) => place,
                None => {
                    self.by_id.insert(id.clone(), self.devices.len());
                    self.devices.push(Device {
                        id: id.clone(),
                        events: Vec::new(),
                        dropped_negative: 0,
                        dropped_zero_stamp: 0,
                        dropped_unreadable: 0,
                    });
                    self.devices.len() - 1
                }
            };
        }
        &mut self.devices[self.last_device]
    }

    /// The number of a stream.
    pub(crate) fn stream_number(&mut self, stream: impl Into<Label>) -> u32 {
        let stream = stream.into();
        if let Some(&place) = self.streams.places.get(&stream) {
            return place;
        }
        let place = self.streams.all.len() as u32;
        self.streams.all.push(stream.clone());
        self.streams.places.insert(stream, place);
        place
    }

    /// A stream as the file calls it.
    pub fn stream(&self, number: u32) -> &Label {
        &self.streams.all[number as usize]
    }

    /// The number of the step at a place that [`DeviceEvent::step`] gave.
    pub fn step_label(&self, place: usize) -> i64 {
        self.step_labels[place]
    }

    /// The numbers of all steps that the file names, in order, whether devices worked in them or not.
    pub fn steps(&self) -> Vec<i64> {
        let mut steps = self.step_labels.clone();
        steps.sort_unstable();
        steps.dedup();
        steps
    }

    /// Keeps only events of these steps; how many events of other steps or of none were left out.
    pub fn keep_steps(&mut self, steps: std::ops::RangeInclusive<i64>) -> u64 {
        let labels = &self.step_labels;
        let mut left_out = 0;
        for device in &mut self.devices {
            let before = device.events.len();
            device.events.retain(|event| event.step().is_some_and(|place| steps.contains(&labels[place])));
            left_out += (before - device.events.len()) as u64;
        }
        left_out
    }

    /// The place of a step among the labels.
    pub(crate) fn step_place(&mut self, step: i64) -> usize {
        *self.steps.entry(step).or_insert_with(|| {
            self.step_labels.push(step);
            self.step_labels.len() - 1
        })
    }

    /// Takes in an event of a device, unless its times say that it must be left out.
    pub(crate) fn add(&mut self, id: &Label, event: DeviceEvent) {
        let device = self.device(id);
        if event.end_ns < event.start_ns {
            device.dropped_negative += 1;
        } else if event.start_ns == 0 && event.end_ns == 0 {
            device.dropped_zero_stamp += 1;
        } else {
            device.events.push(event);
        }
    }

    /// To be called when the file is read: finds the call that launched each event, by the number that they share, and the step of each;
    /// brings events into the order of time, and devices into that of their ids.
    pub(crate) fn finish(&mut self) {
        self.launches.sort_unstable();
        // Of calls that share a number the first one launched; a later one waited.
        self.launches.dedup_by_key(|launch| launch.0);
        for device in &mut self.devices {
            for event in &mut device.events {
                let found = self.launches.binary_search_by_key(&event.launch, |launch| launch.0);
                event.launch = found.map_or(NO_LAUNCH, |place| self.launches[place].1);
            }
            let key = |event: &DeviceEvent| (event.start_ns, event.end_ns, event.class, event.name, event.stream);
            if !device.events.is_sorted_by_key(key) {
                device.events.sort_unstable_by_key(key);
            }
        }
        self.launches = Vec::new();
        self.devices.sort_by(|a, b| a.id.cmp(&b.id));
        self.by_id = self.devices.iter().enumerate().map(|(place, device)| (device.id.clone(), place)).collect();
        self.last_device = 0;
        self.assign_steps();
    }

    /// Events without a step of their own belong to the range that holds their launch, or, without a launch, their start.
    fn assign_steps(&mut self) {
        if self.ranges.is_empty() {
            return;
        }
        let mut ranges = std::mem::take(&mut self.ranges);
        ranges.sort_by_key(|range| (range.range.start, range.step));
        ranges.dedup();
        let places: Vec<usize> = ranges.iter().map(|range| self.step_place(range.step)).collect();
        for event in self.devices.iter_mut().flat_map(|device| &mut device.events) {
            if event.step().is_none() {
                let at = event.launch_ns().unwrap_or(event.start_ns);
                let before = ranges.partition_point(|range| range.range.start <= at);
                let holds = before.checked_sub(1).filter(|&place| at < ranges[place].range.end);
                event.set_step(holds.map(|place| places[place]));
            }
        }
        self.ranges = ranges;
    }
}
