//! This crate reads traces of GPUs and other devices and tells where the time of each device went. It also holds [`Activity`], the one record
//! of everything observable in our own runs (operators, exchanges, copies, calls, markers), and writes Chrome traces of it.
//!
//! An analysis goes like this: [`read`] turns a file into a [`Recording`] (devices with their events), [`analysis`] turns each device's
//! events into figures by the algebra of [`interval`], [`document`] is what programs read. Formulas: docs/schemas.md, "Trace analysis".
//!
//! Modules are declared from the lowest floor up: each imports only from modules above it in this list, here and in every folder.

mod error;
mod names;
mod time;
pub mod interval;
mod json;
mod activity;
mod recording;
mod classify;
mod source;
pub mod analysis;
pub mod chrome;
pub mod document;

pub use activity::{Activity, ApiClass, Kind};
pub use classify::Rules;
pub use error::{Error, Result};
pub use json::{Count, Repairs};
pub use names::{Detail, Index, Name, Names};
pub use recording::{Class, Device, DeviceEvent, Label, Recording, StepRange};
pub use source::{Options, read};
pub use time::{Microseconds, nanoseconds};
