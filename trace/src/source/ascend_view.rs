//! This module keeps device rows of Ascend's `trace_view.json`. They have no category: the name of their process tells what they are, and it may
//! stand behind them, so rows wait until it is known.
//!
//! `Ascend Hardware`: work of the device, `MEMCPY*` is memory; waits (`EVENT_*`, `NOTIFY_*`) are none. `HCCL` and `Communication`:
//! communication of the device whose hardware process is in the file. Rows of other processes belong to the host.

use crate::classify::{ByName, Rules};
use crate::recording::{Class, DeviceEvent, Label, Recording};
use std::collections::BTreeMap;

/// What a process is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    Hardware,
    Communication,
    Other,
}

impl Role {
    fn of(name: &str) -> Role {
        match name {
            "Ascend Hardware" => Role::Hardware,
            "HCCL" | "Communication" => Role::Communication,
            _ => Role::Other,
        }
    }
}

#[derive(Default, Debug)]
struct Held {
    events: Vec<DeviceEvent>,
    unreadable: u64,
}

/// Processes by id, and rows that wait for their names.
#[derive(Default, Debug)]
pub(super) struct Processes {
    roles: BTreeMap<Label, Role>,
    held: BTreeMap<Label, Held>,
}

impl Processes {
    pub(super) fn name(&mut self, process: Label, name: String) {
        let role = Role::of(&name);
        if role == Role::Other {
            self.held.remove(&process);
        }
        self.roles.insert(process, role);
    }

    /// Keeps a row (none: its times cannot be read).
    pub(super) fn hold(&mut self, process: Label, event: Option<DeviceEvent>, is_wait: bool) {
        let role = self.roles.get(&process);
        if role == Some(&Role::Other) || is_wait && role != Some(&Role::Communication) {
            return;
        }
        let held = self.held.entry(process).or_default();
        match event {
            Some(event) => held.events.push(event),
            None => held.unreadable += 1,
        }
    }

    pub(super) fn finish(self, recording: &mut Recording, by_name: &mut ByName, rules: &Rules) {
        let of = |role| self.roles.iter().filter(move |(_, other)| **other == role).map(|(id, _)| id.clone());
        let mut hardware: Vec<Label> = of(Role::Hardware).collect();
        hardware.sort();
        for (process, held) in self.held {
            let Some(&role) = self.roles.get(&process) else {
                recording.warnings.push(format!(
                    "{} rows with a stream or a model (process {process}) were left out: the file does not name their process, so \
                     whether they are event of a device is not known",
                    held.events.len() as u64 + held.unreadable
                ));
                continue;
            };
            let device = match (role, hardware.as_slice()) {
                (Role::Other, _) => continue,
                (Role::Hardware, _) | (Role::Communication, []) => process,
                (Role::Communication, [only]) => only.clone(),
                (Role::Communication, several) => {
                    recording.warnings.push(format!(
                        "{} rows of communication (process {process}) were left out: the file has {} devices and does not say \
                         which of them they belong to",
                        held.events.len(),
                        several.len()
                    ));
                    continue;
                }
            };
            recording.device(&device).dropped_unreadable += held.unreadable;
            for mut event in held.events {
                event.class = match role {
                    Role::Communication => Class::Communication,
                    _ if recording.names.text(event.name).starts_with("MEMCPY") => Class::Memory,
                    _ => by_name.class(event.name, &recording.names, rules),
                };
                recording.add(&device, event);
            }
        }
    }
}
