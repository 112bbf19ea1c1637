//! What a protected run keeps on its device beside the state: the summary of a superstep, the list of critical vertices, and sums of
//! what rests in the frontier.
//!
//! Protected operators are kernels of their own (`*_guarded_*`), which add up into the summary; it is cleared before each superstep and
//! copied to pinned memory after it, on the stream of leaving state, ordered after the operators by an event. Members of a frontier are
//! added up as they join and again as they are consumed: what rested between must not have changed.

use super::driver::{Arguments, Event, Memory, Pinned};
use super::engine::Engine;
use super::guard_state::{Guarding, member};
use super::host_transfer::Leaving;
use super::layout::{Choice, WatchView};
use crate::base::error::Result;
use crate::base::id::LocalId;
use crate::device::{GuardTerms, Guarded, SUMMARY_WORDS, Summary, word};
use crate::frontier::Form;
use std::time::Duration;

impl Guarded for Engine {
    fn guard(&mut self, terms: GuardTerms) -> Result<()> {
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

    fn begin_superstep(&mut self, index: u32) -> Result<()> {
        let Some(guarding) = &mut self.guarding else { return Ok(()) };
        (guarding.index, guarding.expected) = (index, 0);
        (guarding.consumes, guarding.selects) = (false, false);
        self.compute.zero(&guarding.summary)
    }

    fn take_marking(&mut self) -> Duration {
        self.guarding.as_mut().map_or(Duration::ZERO, |guarding| std::mem::take(&mut guarding.marking))
    }

    fn summary(&mut self) -> Result<Summary> {
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
}

impl Engine {
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

    pub(super) fn copied_summary(&mut self) -> Result<[u64; SUMMARY_WORDS]> {
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

    /// An owned vertex joins the frontier at rest, from the host.
    pub(super) fn note_active(&mut self, v: LocalId) {
        if let Some(guarding) = &mut self.guarding {
            guarding.resting = guarding.resting.wrapping_add(member(v.number()));
        }
    }
}
