//! This reader takes dispatches and copies from the JSON of AMD's rocprofv3 (`rocprofiler-sdk-tool`). Times are in ns, kernels are numbers.
//!
//! Names of kernels may stand behind the dispatches, so a dispatch carries a stand-in until the end. Kernels named `__amd_rocclr_*` are
//! copies and fills. A copy belongs to the GPU that it goes to, else to the one it comes from.

use super::options::Options;
use crate::classify::ByName;
use crate::json::Text;
use crate::names::Name;
use crate::recording::{Class, DeviceEvent, Label, Recording};
use crate::time::integer;
use std::collections::{HashMap, HashSet};

/// Levels at which keys matter: document 1, list 2, tool 3, section 4, and so on to the handles within a record.
const LEVELS: usize = 10;
/// What agents are by `type`: 1 a processor, 2 a GPU.
const GPU: i64 = 2;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Key {
    Agents,
    Symbols,
    Records,
    Dispatches,
    Copies,
    Calls,
    Id,
    Type,
    Handle,
    KernelId,
    ReadableName,
    Start,
    End,
    Info,
    Agent,
    Source,
    Destination,
    Stream,
    Queue,
    Correlation,
    Internal,
    Other,
}

impl Key {
    fn of(text: &[u8]) -> Key {
        match text {
            b"agents" => Key::Agents,
            b"kernel_symbols" => Key::Symbols,
            b"buffer_records" => Key::Records,
            b"kernel_dispatch" => Key::Dispatches,
            b"memory_copy" => Key::Copies,
            b"hip_api" | b"hsa_api" => Key::Calls,
            b"id" => Key::Id,
            b"type" => Key::Type,
            b"handle" => Key::Handle,
            b"kernel_id" => Key::KernelId,
            b"formatted_kernel_name" => Key::ReadableName,
            b"start_timestamp" => Key::Start,
            b"end_timestamp" => Key::End,
            b"dispatch_info" => Key::Info,
            b"agent_id" => Key::Agent,
            b"src_agent_id" => Key::Source,
            b"dst_agent_id" => Key::Destination,
            b"stream_id" => Key::Stream,
            b"queue_id" => Key::Queue,
            b"correlation_id" => Key::Correlation,
            b"internal" => Key::Internal,
            _ => Key::Other,
        }
    }
}

/// A record so far.
#[derive(Clone, Default, Debug)]
struct Record {
    id: Option<i64>,
    kind: Option<i64>,
    kernel: Option<i64>,
    name: Option<String>,
    start: Option<i64>,
    end: Option<i64>,
    agent: Option<i64>,
    source: Option<i64>,
    destination: Option<i64>,
    stream: Option<i64>,
    queue: Option<i64>,
    correlation: Option<i64>,
}

/// Takes in the document.
pub(super) struct Dispatches<'o> {
    options: &'o Options,
    keys: [Key; LEVELS],
    record: Record,
    gpus: HashSet<i64>,
    kernels: HashMap<i64, String>,
    stand_ins: HashMap<i64, Name>,
    copies: Vec<(Record, DeviceEvent)>,
}

impl<'o> Dispatches<'o> {
    pub(super) fn new(options: &'o Options) -> Dispatches<'o> {
        Dispatches {
            options,
            keys: [Key::Other; LEVELS],
            record: Record::default(),
            gpus: HashSet::new(),
            kernels: HashMap::new(),
            stand_ins: HashMap::new(),
            copies: Vec::new(),
        }
    }

    /// The section that the key path is in, and the level of its records.
    fn section(&self) -> Option<(Key, usize)> {
        match (self.keys[3], self.keys[4]) {
            (section @ (Key::Agents | Key::Symbols), _) => Some((section, 5)),
            (Key::Records, section @ (Key::Dispatches | Key::Copies | Key::Calls)) => Some((section, 6)),
            _ => None,
        }
    }

    pub(super) fn open(&mut self, level: usize) {
        if level < LEVELS {
            self.keys[level] = Key::Other;
        }
        if self.section().is_some_and(|(_, records)| records == level) {
            self.record = Record::default();
        }
    }

    pub(super) fn key(&mut self, level: usize, key: Text<'_>) {
        if level < LEVELS {
            self.keys[level] = Key::of(&key.bytes());
        }
    }

    pub(super) fn string(&mut self, level: usize, value: Text<'_>) {
        if level == 5 && self.keys[3] == Key::Symbols && self.keys[5] == Key::ReadableName {
            self.record.name = Some(value.text().into_owned());
        }
    }

    pub(super) fn scalar(&mut self, level: usize, raw: &[u8]) {
        let Some((section, records)) = self.section() else { return };
        if level < records || level >= LEVELS {
            return;
        }
        let record = &mut self.record;
        let slot = match (section, &self.keys[records..=level]) {
            (Key::Agents, [Key::Id, Key::Handle]) => &mut record.id,
            (Key::Agents, [Key::Type]) => &mut record.kind,
            (Key::Symbols, [Key::KernelId]) | (Key::Dispatches, [Key::Info, Key::KernelId]) => &mut record.kernel,
            (_, [Key::Start]) => &mut record.start,
            (_, [Key::End]) => &mut record.end,
            (_, [Key::Info, Key::Agent, Key::Handle]) => &mut record.agent,
            (_, [Key::Info, Key::Queue, Key::Handle]) => &mut record.queue,
            (_, [Key::Source, Key::Handle]) => &mut record.source,
            (_, [Key::Destination, Key::Handle]) => &mut record.destination,
            (_, [Key::Stream, Key::Handle]) => &mut record.stream,
            (_, [Key::Correlation, Key::Internal]) => &mut record.correlation,
            _ => return,
        };
        *slot = integer(raw);
    }

    pub(super) fn close(&mut self, level: usize, recording: &mut Recording) {
        if let Some((section, _)) = self.section().filter(|(_, records)| *records == level) {
            let record = std::mem::take(&mut self.record);
            self.take(section, record, recording);
        }
    }

    fn take(&mut self, section: Key, record: Record, recording: &mut Recording) {
        match section {
            Key::Agents if record.kind == Some(GPU) => self.gpus.extend(record.id),
            Key::Symbols => {
                if let (Some(kernel), Some(name)) = (record.kernel, record.name) {
                    self.kernels.insert(kernel, name);
                }
            }
            Key::Calls => {
                if let (true, Some(call), Some(start)) = (self.options.wants_launches, record.correlation, record.start)
                {
                    recording.launches.push((call, start));
                }
            }
            Key::Dispatches | Key::Copies => {
                let stream = recording.stream_number(record.stream.or(record.queue).unwrap_or(0));
                let kernel = record.kernel.unwrap_or(-1);
                let (class, name) = if section == Key::Copies {
                    (Class::Memory, recording.names.name("memory copy"))
                } else {
                    let name = *self
                        .stand_ins
                        .entry(kernel)
                        .or_insert_with(|| recording.names.name(&format!("kernel {kernel}")));
                    (Class::Computation, name)
                };
                let id = Label::Number(record.agent.unwrap_or(-1));
                let (Some(start), Some(end)) = (record.start, record.end) else {
                    recording.device(&id).dropped_unreadable += 1;
                    return;
                };
                let mut event = DeviceEvent::new(class, name, stream, start, end);
                event.launch = record.correlation.unwrap_or(event.launch);
                if section == Key::Copies {
                    self.copies.push((record, event));
                } else {
                    recording.add(&id, event);
                }
            }
            _ => {}
        }
    }

    pub(super) fn finish(self, recording: &mut Recording) {
        let mut real = HashMap::new();
        let mut by_name = ByName::default();
        for (kernel, stand_in) in &self.stand_ins {
            if let Some(name) = self.kernels.get(kernel) {
                let text = recording.names.name(name);
                let class = if name.starts_with("__amd_rocclr_") {
                    Class::Memory
                } else {
                    by_name.class(text, &recording.names, &self.options.rules)
                };
                real.insert(*stand_in, (text, class));
            }
        }
        for event in recording.devices.iter_mut().flat_map(|device| &mut device.events) {
            if let Some(&(name, class)) = real.get(&event.name) {
                (event.name, event.class) = (name, class);
            }
        }
        let nameless = self.stand_ins.len() - real.len();
        if nameless > 0 {
            recording.warnings.push(format!("{nameless} kernels have no name in the file; they count as computation"));
        }
        for (record, event) in self.copies {
            let gpu = [record.destination, record.source].into_iter().flatten().find(|agent| self.gpus.contains(agent));
            let agent = gpu.or(record.destination).or(record.source).unwrap_or(-1);
            recording.add(&Label::Number(agent), event);
        }
    }
}
