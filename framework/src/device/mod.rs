//! What a device must be able to do for a rank, as traits: run operators, keep fields and frontier, exchange ghosts, guard itself.
//!
//! The host's threads need none of this: there an operator is a loop over the fields in host memory ([`crate::step`]). Any other device
//! holds the rank's state in its own memory behind a `Device`; steps, exchange, protection and fault injection name only these
//! traits, never the device. [`crate::cuda`] implements them.
//! An error of an operator stays with the device: what follows does nothing, and the driver finds it after the superstep.

mod exchange;
mod guard;
mod injection;
mod operators;
mod state;

pub(crate) use exchange::{DirectTraffic, GhostExchange, MessageKind, Packed, PeerExchange};
pub(crate) use guard::{CriticalDegrees, GatherMarks, GuardTerms, Guarded, Replicas, SUMMARY_WORDS, Summary, word};
pub(crate) use injection::InjectionSites;
pub(crate) use operators::{Operators, Rule};
pub(crate) use state::{DeviceState, StateTransfer};

use crate::base::error::Result;
use crate::field::FieldSpec;
use crate::host::Pool;
use crate::partition::Part;
use std::fmt::Debug;

/// A rank's device: its part, its fields and its frontier lie there.
pub(crate) trait Device:
    DeviceState + StateTransfer + Operators + GhostExchange + PeerExchange + Guarded + InjectionSites
{
}

impl dyn Device + '_ {
    /// Runs `work` unless something has failed before, and keeps the error if it fails.
    pub(crate) fn attempt<R: Default>(&mut self, work: impl FnOnce(&mut Self) -> Result<R>) -> R {
        if self.has_failed() {
            return R::default();
        }
        work(self).unwrap_or_else(|error| {
            self.fail(error);
            R::default()
        })
    }
}

/// What a rank asks of the device that is opened for it.
#[derive(Clone, Copy, Debug)]
pub struct Demands {
    /// Whether every rank is a thread of this process, with nothing between them.
    pub(crate) is_one_process: bool,
    /// Whether messages carry checksums: then ghosts travel over the transport.
    pub(crate) has_checksums: bool,
    /// Of a protected run: whether updates are done again, which takes room.
    pub(crate) repeats_updates: Option<bool>,
}

/// The devices of a run, other than the host's threads, dealt to the ranks in order.
pub trait Devices: Sync + Debug {
    #[doc(hidden)] // the trait behind it is the framework's own
    fn open(&self, part: &Part, pool: &Pool, fields: &[FieldSpec], demands: Demands) -> Result<Opened>;
}

/// A device that was just opened.
#[doc(hidden)]
pub struct Opened(pub(crate) Box<dyn Device>);

/// The kernels of a plugin, as data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kernels {
    /// The name of its file in kernels/, without the ending.
    pub name: &'static str,
    /// The file's text.
    pub source: &'static str,
    /// The same, compiled to PTX at release, for machines without NVRTC; may be empty.
    pub ptx: &'static str,
}

impl Kernels {
    /// Whether some rule runs by an operator, `GK_SELECT` or `GK_GATHER`.
    pub(crate) fn have(&self, operator: &str) -> bool {
        self.source.contains(&format!("\n{operator}("))
    }
}
