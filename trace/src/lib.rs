//! Activities: the one record of everything observable (operators, exchanges, copies, calls, markers), and what reads and
//! writes them: a writer of Chrome traces, readers of traces of many tools, and the analysis of where devices' time went.
//!
//! The way of an analysis: [`read`] turns a file into a [`Recording`] (devices with their work), [`analysis`] turns each device's
//! work into figures by the algebra of [`interval`], [`document`] is what programs read. Formulas: docs/schemas.md, "Trace analysis".
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
pub use recording::{Class, Device, Label, Recording, StepRange, Work};
pub use source::{Options, read};
pub use time::{Microseconds, nanoseconds};
