//! The record of everything observable: one `Activity` says what happened, on which rank, device and thread, from when to when.
//! Our own runs record activities, and [`crate::chrome`] writes them; files of other tools are read into [`crate::Recording`] instead.

use crate::names::{Detail, Index, Name};

/// What happened, where and when. 56 bytes: text stands in [`crate::Names`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Activity {
    /// What it was.
    pub kind: Kind,
    /// Its name: a kernel, a collective, a call, a range.
    pub name: Name,
    /// When it began, in ns. All activities of one recording count from one moment.
    pub start_ns: i64,
    /// When it ended, in ns, on the same clock; not before `start_ns`.
    pub end_ns: i64,
    /// The rank that it belongs to, if that is known.
    pub rank: Option<Index>,
    /// The device that worked; none for work of the host on its own behalf.
    pub device: Option<Index>,
    /// The device's queue.
    pub stream: Option<Index>,
    /// Shared by a call and the device's work that it started.
    pub correlation: Option<Index>,
    /// The process, or what stands for one: in our own traces the rank.
    pub pid: u32,
    /// The thread, or what stands for one: in our own traces the lane.
    pub tid: u32,
    /// Further attributes.
    pub detail: Option<Detail>,
}

const _: () = assert!(size_of::<Activity>() == 56);

/// What an activity was.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// Computation on a device.
    Kernel,
    /// Data or agreement between ranks.
    Communication,
    /// Memory got or given back.
    Memory,
    /// A copy.
    MemCpy,
    /// Memory filled with one value.
    MemSet,
    /// A call from the host.
    Api(ApiClass),
    /// A named range of the host's time.
    Marker,
}

/// Which interface a call went to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ApiClass {
    /// Not told apart.
    General,
    /// The ACL of Ascend devices.
    Acl,
    /// A node of a graph that is launched as one.
    Node,
    /// The device's runtime.
    Runtime,
}
