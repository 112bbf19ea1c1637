//! What a protected run keeps on its device beside the state: the summary of a superstep, the list of critical vertices, and sums of
//! what rests in the frontier.
//!
//! Protected operators are kernels of their own (`*_guarded_*`), which add up into the summary; it is cleared before each superstep and
//! copied to pinned memory after it, on the stream of leaving state, ordered after the operators by an event. Members of a frontier are
//! added up as they join and again as they are consumed: what rested between must not have changed.

use super::driver::{Arguments, Event, Memory, Pinned};
use super::engine::Engine;
use super::guard_state::{DeviceGuard, member};
use super::host_transfer::HostTransfer;
use super::layout::{SamplingParameters, WatchView};
use crate::base::error::Result;
use crate::base::id::LocalId;
use crate::device::{GuardTerms, Guarded, SUMMARY_WORDS, Summary, word};
use crate::frontier::FrontierFormat;
use std::time::Duration;

impl Guarded for Engine {
    fn guard(&mut self, terms: GuardTerms) -> Result<()> {
        let events = || -> Result<[Event; 2]> { Ok([Event::new(&self.context)?, Event::new(&self.context)?]) };
        let listed = if terms.replicas.is_some() { self.graph.view.owned as usize } else { 0 };
        self.guard = Some(Box::new(DeviceGuard {
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
            activated: 0,
            expected: 0,
        }));
        self.transfer = Some(HostTransfer::new(&self.context, self.longest())?);
        self.begin_superstep(0)
    }

    fn begin_superstep(&mut self, index: u32) -> Result<()> {
        let Some(guard) = &mut self.guard else { return Ok(()) };
        (guard.index, guard.expected) = (index, 0);
        (guard.consumes, guard.selects) = (false, false);
        self.compute.zero(&guard.summary)
    }

    fn take_marking(&mut self) -> Duration {
        self.guard.as_mut().map_or(Duration::ZERO, |guard| std::mem::take(&mut guard.marking))
    }

    fn summary(&mut self) -> Result<Summary> {
        let words = self.copied_summary()?;
        let Some(guard) = &mut self.guard else { return Ok(Summary { is_whole: true, ..Summary::default() }) };
        let expected = guard.expected.wrapping_add(if guard.selects { 0 } else { words[word::ENTERED] });
        let is_whole = !guard.consumes || words[word::STRAYS] == 0 && words[word::CONSUMED] == expected;
        if guard.consumes {
            guard.resting = words[word::JOINED];
        }
        if guard.selects {
            guard.resting = words[word::ENTERED];
        }
        guard.activated = words[word::WOKEN];
        guard.allowance -= words[word::ASSIGNED_ARCS] as f64;
        let copy = if guard.terms.is_timed {
            let [from, to] = &guard.copied;
            Duration::from_secs_f64(to.seconds_since(from)?.max(0.0))
        } else {
            Duration::ZERO
        };
        Ok(Summary { words, is_whole, copy })
    }
}

impl Engine {
    /// What guarded kernels are given beside; `None` in an unprotected run.
    pub(super) fn watch(&self) -> Option<WatchView> {
        let guard = self.guard.as_ref()?;
        let once = guard.terms.once;
        Some(WatchView {
            summary: guard.summary.address(),
            once: once.map_or(0, |(slot, _)| self.columns[slot].address()),
            critical: guard.critical.address(),
            critical_capacity: guard.critical.bytes() as u64 / 4,
            once_initial: once.map_or(0, |(_, initial)| initial),
        })
    }

    /// The frontier, with so many arcs (none: the report has them), is about to be consumed: critical vertices of it are listed. How many
    /// threads those may keep busy that will do them again.
    pub(super) fn mark(&mut self, arcs: Option<u64>, busy: u64) -> Result<u64> {
        let Some(watch) = self.watch() else { return Ok(0) };
        let guard = self.guard.as_mut().expect("there is a watch");
        guard.consumes = true;
        guard.expected = guard.expected.wrapping_add(std::mem::take(&mut guard.resting));
        let Some(replicas) = guard.terms.replicas else { return Ok(0) };
        let choice = SamplingParameters {
            allowance: guard.allowance,
            budget: replicas.budget,
            arcs: arcs.unwrap_or(u64::MAX),
            count: self.frontier.count,
            busy,
            least_degree: replicas.least_degree,
            both: replicas.both.into(),
            over_incoming: replicas.over_incoming.into(),
            index: guard.index,
            pad: 0,
        };
        let is_bits = self.frontier.form == FrontierFormat::Bitmap;
        let items = if is_bits { self.graph.view.owned.into() } else { self.frontier.count };
        let arguments = Arguments::default()
            .with(self.graph.view)
            .with(self.queue(0))
            .with(if is_bits { self.frontier_view().bits } else { 0 })
            .with(choice)
            .with(watch)
            .with(self.report_address());
        self.start_timing()?;
        self.guard.as_ref().expect("as above").marked[0].record(&self.compute)?;
        self.own("mark", items, arguments)?;
        let guard = self.guard.as_mut().expect("as above");
        guard.marked[1].record(&self.compute)?;
        guard.is_marked = true;
        let most = if replicas.budget >= 1.0 {
            f64::INFINITY
        } else {
            guard.allowance + replicas.budget * arcs.unwrap_or(0) as f64
        };
        // A warp does one.
        Ok((most.max(0.0) as u64).min(self.graph.view.owned.into()) * 32)
    }

    /// The compute stream has passed: how long marking took goes to its account; what replicas may read grows by the arcs consumed.
    pub(super) fn account(&mut self, arcs: u64) -> Result<()> {
        let Some(guard) = &mut self.guard else { return Ok(()) };
        if std::mem::take(&mut guard.is_marked) {
            let [from, to] = &guard.marked;
            guard.marking += Duration::from_secs_f64(to.seconds_since(from)?.max(0.0));
        }
        if let Some(replicas) = guard.terms.replicas {
            guard.allowance += replicas.budget * arcs as f64;
        }
        Ok(())
    }

    pub(super) fn copied_summary(&mut self) -> Result<[u64; SUMMARY_WORDS]> {
        let (Some(guard), Some(transfer)) = (&mut self.guard, &self.transfer) else {
            return Ok([0; SUMMARY_WORDS]);
        };
        transfer.follow(&self.compute)?;
        let [from, to] = &guard.copied;
        from.record(&transfer.stream)?;
        transfer.stream.download(&mut guard.seen, &guard.summary, 0, SUMMARY_WORDS)?;
        to.record(&transfer.stream)?;
        to.synchronize()?;
        let mut words = [0; SUMMARY_WORDS];
        words.copy_from_slice(guard.seen.values());
        Ok(words)
    }

    /// An owned vertex joins the frontier at rest, from the host.
    pub(super) fn note_active(&mut self, v: LocalId) {
        if let Some(guard) = &mut self.guard {
            guard.resting = guard.resting.wrapping_add(member(v.number()));
        }
    }
}
