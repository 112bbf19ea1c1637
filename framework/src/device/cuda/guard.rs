//! What a protected run keeps on its device beside the state: the summary of a superstep, the list of critical vertices, and sums of
//! what rests in the frontier.
//!
//! Protected operators are kernels of their own (`*_guarded_*`), which add up into the summary; it is cleared before each superstep and
//! copied to pinned memory after it, on the stream of leaving state, ordered after the operators by an event. Members of a frontier are
//! added up as they join and again as they are consumed: what rested between must not have changed.

use super::driver::{Arguments, Event, Memory, Pinned};
use super::engine::Engine;
use super::layout::{Choice, SUMMARY_WORDS, WatchView};
use super::rest::Leaving;
use crate::error::Result;
use crate::id::LocalId;
use crate::partition::Part;
use crate::protect::mix;
use crate::step::Form;
use std::time::Duration;

/// How the operators of a run are guarded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    /// The slot of the set-once field, and its initial value.
    pub(crate) once: Option<(usize, u64)>,
    /// How updates are done again, if they can be.
    pub(crate) replicas: Option<Replicas>,
    /// Whether to measure the copy of the summary.
    pub(crate) is_timed: bool,
}

/// Which updates are done again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Replicas {
    /// Whether one reads the arcs into a vertex, not those out of it.
    pub(crate) over_incoming: bool,
    /// The degree from which an active vertex is critical.
    pub(crate) least_degree: u64,
    /// Whether that counts arcs in and out.
    pub(crate) both: bool,
    /// Share of a superstep's arcs that they may read.
    pub(crate) budget: f64,
}

/// `Summary` of guard.cuh, read back.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Summary {
    pub(crate) words: [u64; SUMMARY_WORDS],
    /// Whether what was consumed is what had joined.
    pub(crate) is_whole: bool,
    /// The time of its copy; zero where nobody wants to know.
    pub(crate) copy: Duration,
}

/// Places of a summary's words.
pub(crate) mod word {
    pub(crate) const VISITED: usize = 0;
    pub(crate) const JOINED: usize = 1;
    pub(crate) const ENTERED: usize = 2;
    pub(crate) const WOKEN: usize = 3;
    pub(crate) const CONSUMED: usize = 4;
    pub(crate) const STRAYS: usize = 5;
    pub(crate) const CRITICAL: usize = 6;
    pub(crate) const ASSIGNED: usize = 7;
    pub(crate) const ASSIGNED_ARCS: usize = 8;
    pub(crate) const DIFFERING: usize = 9;
    pub(crate) const FIRST_DIFFERING: usize = 10;
    pub(crate) const SET_TWICE: usize = 11;
    pub(crate) const FIRST_TWICE: usize = 12;
    pub(crate) const BELOW: usize = 13;
    pub(crate) const LARGEST: usize = 14;
    pub(crate) const MASS: usize = 15;
}

/// The device side of protection.
pub(super) struct Guarding {
    terms: Terms,
    summary: Memory,
    seen: Pinned<u64>,
    critical: Memory,
    copied: [Event; 2],
    marked: [Event; 2],
    is_marked: bool,
    marking: Duration,
    index: u32,
    /// Arcs that replicas may still read; below 0 when a draw took more than its share.
    allowance: f64,
    /// Whether a frontier has been consumed in this superstep.
    consumes: bool,
    /// Whether one has been selected and not consumed.
    selects: bool,
    /// Sums of members: of the frontier at rest, of the vertices that the last exchange woke, and of what must have been consumed.
    resting: u64,
    woken: u64,
    expected: u64,
}

/// The term of a member of a frontier, as guard.cuh.
pub(super) fn member(v: u32) -> u64 {
    mix(v.into(), 1)
}

/// The sum of some members.
pub(super) fn members(list: impl IntoIterator<Item = u32>) -> u64 {
    list.into_iter().fold(0, |sum, v| sum.wrapping_add(member(v)))
}

impl Guarding {
    /// The frontier is empty again.
    pub(super) fn forget(&mut self) {
        (self.resting, self.woken, self.expected, self.allowance) = (0, 0, 0, 0.0);
        (self.consumes, self.selects) = (false, false);
    }

    /// Members that are put in place from the host, and woken vertices.
    pub(super) fn holds(&mut self, resting: u64, woken: u64) {
        (self.resting, self.woken) = (resting, woken);
    }

    /// Whether these are what is at rest. Where no operator consumes a frontier, nobody knows.
    pub(super) fn is_at_rest(&self, resting: u64, woken: u64) -> bool {
        self.terms.replicas.is_none() || (self.resting, self.woken) == (resting, woken)
    }

    /// What the exchange woke joins the frontier at rest.
    pub(super) fn absorb(&mut self) {
        self.resting = self.resting.wrapping_add(std::mem::take(&mut self.woken));
    }

    /// What the exchange woke is looked at one by one.
    pub(super) fn sift(&mut self) {
        self.woken = 0;
    }

    /// The frontier at rest is dropped: another one is selected.
    pub(super) fn select(&mut self, is_consumed: bool) {
        (self.resting, self.selects) = (0, !is_consumed);
    }
}

/// Bytes that guarding a part takes on the device, allocation by allocation.
pub(super) fn allocations(part: &Part, is_redundant: bool) -> [usize; 2] {
    [SUMMARY_WORDS * 8, if is_redundant { part.owned() * 4 } else { 0 }]
}

impl Engine {
    /// From here on operators are guarded.
    pub(crate) fn guard(&mut self, terms: Terms) -> Result<()> {
        let events = || -> Result<[Event; 2]> { Ok([Event::new(&self.context)?, Event::new(&self.context)?]) };
        let listed = if terms.replicas.is_some() { self.graph.view.owned as usize } else { 0 };
        self.guarding = Some(Box::new(Guarding {
            terms,
            summary: Memory::new(&self.context, SUMMARY_WORDS * 8)?,
            seen: Pinned::new(&self.context, SUMMARY_WORDS)?,
            critical: Memory::new(&self.context, listed * 4)?,
            copied: events()?,
            marked: events()?,
            is_marked: false,
            marking: Duration::ZERO,
            index: 0,
            allowance: 0.0,
            consumes: false,
            selects: false,
            resting: 0,
            woken: 0,
            expected: 0,
        }));
        self.leaving = Some(Leaving::new(&self.context, self.longest())?);
        self.begin_superstep(0)
    }

    /// A superstep begins: its summary is cleared.
    pub(crate) fn begin_superstep(&mut self, index: u32) -> Result<()> {
        let Some(guarding) = &mut self.guarding else { return Ok(()) };
        (guarding.index, guarding.expected) = (index, 0);
        (guarding.consumes, guarding.selects) = (false, false);
        self.compute.zero(&guarding.summary)
    }

    /// What guarded kernels are given beside; `None` in an unprotected run.
    pub(super) fn watch(&self) -> Option<WatchView> {
        let guarding = self.guarding.as_ref()?;
        let once = guarding.terms.once;
        Some(WatchView {
            summary: guarding.summary.address(),
            once: once.map_or(0, |(slot, _)| self.columns[slot].address()),
            critical: guarding.critical.address(),
            critical_capacity: guarding.critical.bytes() as u64 / 4,
            once_initial: once.map_or(0, |(_, initial)| initial),
        })
    }

    /// The frontier, with so many arcs (none: the report has them), is about to be consumed: critical vertices of it are listed. How many
    /// threads those may keep busy that will do them again.
    pub(super) fn mark(&mut self, arcs: Option<u64>, busy: u64) -> Result<u64> {
        let Some(watch) = self.watch() else { return Ok(0) };
        let guarding = self.guarding.as_mut().expect("there is a watch");
        guarding.consumes = true;
        guarding.expected = guarding.expected.wrapping_add(std::mem::take(&mut guarding.resting));
        let Some(replicas) = guarding.terms.replicas else { return Ok(0) };
        let choice = Choice {
            allowance: guarding.allowance,
            budget: replicas.budget,
            arcs: arcs.unwrap_or(u64::MAX),
            count: self.frontier.count,
            busy,
            least_degree: replicas.least_degree,
            both: replicas.both.into(),
            over_incoming: replicas.over_incoming.into(),
            index: guarding.index,
            pad: 0,
        };
        let is_bits = self.frontier.form == Form::Bits;
        let items = if is_bits { self.graph.view.owned.into() } else { self.frontier.count };
        let arguments = Arguments::default()
            .with(self.graph.view)
            .with(self.queue(0))
            .with(if is_bits { self.frontier_view().bits } else { 0 })
            .with(choice)
            .with(watch)
            .with(self.report_address());
        self.start_timing()?;
        self.guarding.as_ref().expect("as above").marked[0].record(&self.compute)?;
        self.own("mark", items, arguments)?;
        let guarding = self.guarding.as_mut().expect("as above");
        guarding.marked[1].record(&self.compute)?;
        guarding.is_marked = true;
        let most = if replicas.budget >= 1.0 {
            f64::INFINITY
        } else {
            guarding.allowance + replicas.budget * arcs.unwrap_or(0) as f64
        };
        // A warp does one.
        Ok((most.max(0.0) as u64).min(self.graph.view.owned.into()) * 32)
    }

    /// The compute stream has passed: how long marking took goes to its account; what replicas may read grows by the arcs consumed.
    pub(super) fn account(&mut self, arcs: u64) -> Result<()> {
        let Some(guarding) = &mut self.guarding else { return Ok(()) };
        if std::mem::take(&mut guarding.is_marked) {
            let [from, to] = &guarding.marked;
            guarding.marking += Duration::from_secs_f64(to.seconds_since(from)?.max(0.0));
        }
        if let Some(replicas) = guarding.terms.replicas {
            guarding.allowance += replicas.budget * arcs as f64;
        }
        Ok(())
    }

    /// The time that marking took since this was last asked.
    pub(crate) fn take_marking(&mut self) -> Duration {
        self.guarding.as_mut().map_or(Duration::ZERO, |guarding| std::mem::take(&mut guarding.marking))
    }

    /// Waits for the summary of the superstep, exchange included, and closes its books.
    pub(crate) fn summary(&mut self) -> Result<Summary> {
        let words = self.copied_summary()?;
        let Some(guarding) = &mut self.guarding else { return Ok(Summary { is_whole: true, ..Summary::default() }) };
        let expected = guarding.expected.wrapping_add(if guarding.selects { 0 } else { words[word::ENTERED] });
        let is_whole = !guarding.consumes || words[word::STRAYS] == 0 && words[word::CONSUMED] == expected;
        if guarding.consumes {
            guarding.resting = words[word::JOINED];
        }
        if guarding.selects {
            guarding.resting = words[word::ENTERED];
        }
        guarding.woken = words[word::WOKEN];
        guarding.allowance -= words[word::ASSIGNED_ARCS] as f64;
        let copy = if guarding.terms.is_timed {
            let [from, to] = &guarding.copied;
            Duration::from_secs_f64(to.seconds_since(from)?.max(0.0))
        } else {
            Duration::ZERO
        };
        Ok(Summary { words, is_whole, copy })
    }

    fn copied_summary(&mut self) -> Result<[u64; SUMMARY_WORDS]> {
        let (Some(guarding), Some(leaving)) = (&mut self.guarding, &self.leaving) else {
            return Ok([0; SUMMARY_WORDS]);
        };
        leaving.follow(&self.compute)?;
        let [from, to] = &guarding.copied;
        from.record(&leaving.stream)?;
        leaving.stream.download(&mut guarding.seen, &guarding.summary, 0, SUMMARY_WORDS)?;
        to.record(&leaving.stream)?;
        to.synchronize()?;
        let mut words = [0; SUMMARY_WORDS];
        words.copy_from_slice(guarding.seen.values());
        Ok(words)
    }

    /// Changes a word of the summary where it lies; for fault injection.
    pub(crate) fn strike_summary(&mut self, place: usize, change: impl FnOnce(u64) -> u64) -> Result<()> {
        let new = change(self.copied_summary()?[place]);
        let (Some(guarding), Some(leaving)) = (&mut self.guarding, &self.leaving) else { return Ok(()) };
        guarding.seen.values_mut()[0] = new;
        leaving.stream.upload(&guarding.summary, place * 8, &guarding.seen, 1)?;
        leaving.stream.synchronize()
    }

    /// An owned vertex joins the frontier at rest, from the host.
    pub(super) fn note_active(&mut self, v: LocalId) {
        if let Some(guarding) = &mut self.guarding {
            guarding.resting = guarding.resting.wrapping_add(member(v.number()));
        }
    }
}
