//! The operators as launches. Each leaves what its host twin in `step/` leaves: the next frontier, offers, news and a tally.

use super::driver::Arguments;
use super::engine::Engine;
use super::layout::{BLOCK, List, Report, Slot};
use crate::base::error::Result;
use crate::base::sum::Sum;
use crate::base::tally::Tally;
use crate::device::{DeviceState, GatherMarks, Operators, Rule};
use crate::frontier::{DirtySet, FrontierFormat, visit_pulls};
use crate::partition::Part;

impl Operators for Engine {
    fn push(&mut self, rule: &Rule) -> Result<(Tally, u64)> {
        self.apply_exchange()?;
        self.make_queue()?;
        let arcs = self.frontier.arcs;
        self.clear(&[self.queue_slot(1), Slot::Offers, Slot::Pieces])?;
        self.launch_push(rule, Some(arcs))?;
        let report = self.read_report()?;
        self.account(arcs)?;
        self.take_next(&report);
        Ok((self.frontier_tally(), report.consumed))
    }

    fn select(&mut self, rule: &Rule, bound: u32, then: Option<&Rule>) -> Result<(Tally, Tally, u64)> {
        let slot = |turn: usize| if turn.is_multiple_of(2) { Slot::CandidatesA } else { Slot::CandidatesB };
        let turn = self.frontier.candidates_turn;
        let [a, b] = self.lists.candidates.as_ref().expect("the kernels select");
        let (from, to) = if turn.is_multiple_of(2) { (a, b) } else { (b, a) };
        let (from, to) = (self.list(from, slot(turn)), self.list(to, slot(turn + 1)));
        let is_first = self.frontier.candidates.is_none();
        let candidates = self.frontier.candidates.unwrap_or(self.graph.view.owned);
        self.clear(&[self.queue_slot(1), slot(turn + 1), Slot::Offers, Slot::Pieces])?;
        let arguments = self.for_frontier(rule).with(from).with(to).with(bound).with(u32::from(is_first));
        if let Some(guard) = &mut self.guard {
            guard.select(then.is_some());
        }
        self.guarded(rule, "select", candidates.into(), arguments)?;
        self.frontier.candidates_turn += 1;
        let selected = self.queue_slot(1);
        if let Some(push) = then {
            self.frontier.turn += 1;
            self.frontier.count = candidates.into();
            self.clear_lists(&[self.queue_slot(1)])?;
            self.launch_push(push, None)?;
        }
        let report = self.read_report()?;
        self.account(if then.is_some() { report.active } else { 0 })?;
        self.take_next(&report);
        self.frontier.candidates = Some(report.length[slot(turn + 1) as usize]);
        let chosen = Tally {
            active: report.length[selected as usize].into(),
            arcs: report.active,
            least: if report.least_inverted == 0 { Tally::NONE } else { !report.least_inverted },
            ..Tally::default()
        };
        if then.is_none() {
            self.frontier.arcs = chosen.arcs;
        }
        Ok((chosen, self.frontier_tally(), report.consumed))
    }

    fn visit(&mut self, rule: &Rule, part: &Part, total: &Tally) -> Result<(Tally, u64)> {
        self.apply_exchange()?;
        self.frontier.remaining = self.frontier.remaining.saturating_sub(total.active);
        let pulls = visit_pulls(part, total, self.frontier.remaining);
        let consumed = if pulls {
            self.make_bitmap()?;
            let consumed = self.frontier.count;
            // A pull reads at least one arc for each vertex that looks, and seldom many more.
            let reads = self.frontier.arcs.min(part.owned() as u64);
            self.clear(&[Slot::Offers])?;
            self.mark(Some(reads), 0, rule.critical)?;
            self.guarded(rule, "pull", part.locals() as u64, self.for_frontier(rule))?;
            let report = self.read_report()?;
            self.account(reads)?;
            self.frontier.bits_turn += 1;
            (self.frontier.count, self.frontier.arcs, self.frontier.offers) = (report.active, report.arcs, 0);
            consumed
        } else {
            self.make_queue()?;
            let arcs = self.frontier.arcs;
            self.clear(&[self.queue_slot(1), Slot::Offers, Slot::Pieces])?;
            self.launch_push(rule, Some(arcs))?;
            let report = self.read_report()?;
            self.account(arcs)?;
            self.take_next(&report);
            report.consumed
        };
        self.frontier.dirty = DirtySet::Frontier;
        Ok((self.frontier_tally(), consumed))
    }

    fn each(&mut self, rule: &Rule, with_ghosts: bool, counts: bool) -> Result<u64> {
        let by_arcs = self.graph.has_hubs && self.has_kernel(rule.name, "each_hubs")?;
        if counts {
            self.clear(&[Slot::Pieces])?;
        } else if by_arcs {
            self.clear_lists(&[Slot::Pieces])?;
        }
        let part = &self.graph.view;
        let vertices = u64::from(part.owned) + u64::from(part.locals - part.ghost_base);
        let arguments = self.for_frontier(rule).with(u32::from(with_ghosts)).with(u32::from(counts));
        self.of_rule(rule.name, "each", vertices, arguments)?;
        if by_arcs {
            self.of_rule(rule.name, "each_hubs", self.everywhere(), self.for_frontier(rule))?;
        }
        if counts { Ok(self.read_report()?.active) } else { Ok(0) }
    }

    fn boundary(&mut self, rule: &Rule) -> Result<Tally> {
        self.clear(&[self.queue_slot(1), Slot::Offers, Slot::Listed])?;
        let count = self.graph.boundary_len;
        let listed = self.list(&self.lists.listed, Slot::Listed);
        let range = Arguments::default().with(0u32).with(count).with(listed);
        self.own("list_range", count.into(), range)?;
        let boundary = List { items: self.graph.boundary.address(), ..listed };
        let ghosts = u64::from(self.graph.view.locals - self.graph.view.ghost_base);
        let arguments = self.for_frontier(rule).with(boundary).with(1u32).with(1u32);
        self.of_rule(rule.name, "listed", u64::from(count) + ghosts, arguments)?;
        let report = self.read_report()?;
        self.take_next(&report);
        Ok(Tally::active(self.frontier.count + u64::from(self.frontier.offers)))
    }

    fn changed(&mut self, rule: &Rule) -> Result<()> {
        let lists = [
            (&self.lists.activated, Slot::Woken, self.frontier.activated),
            (&self.lists.updated_ghosts, Slot::Renewed, self.frontier.updated_ghosts),
        ];
        for (list, count) in lists.map(|(memory, slot, count)| (self.list(memory, slot), count)) {
            if count > 0 {
                let arguments = self.for_frontier(rule).with(list).with(0u32).with(0u32);
                self.of_rule(rule.name, "listed", count.into(), arguments)?;
            }
        }
        Ok(())
    }

    fn filter(&mut self, rule: &Rule) -> Result<()> {
        if self.frontier.activated > 0 {
            self.make_queue()?;
            let mut view = self.frontier_view();
            view.next = view.queue; // they join what is there
            let activated = self.list(&self.lists.activated, Slot::Woken);
            let arguments = self.arguments(rule).with(view).with(activated).with(0u32).with(1u32);
            if let Some(guard) = &mut self.guard {
                guard.forget_woken();
            }
            self.guarded(rule, "listed", self.frontier.activated.into(), arguments)?;
            self.frontier.count += u64::from(self.frontier.activated);
            self.frontier.arcs += self.frontier.woken_arcs;
            self.frontier.activated = 0;
        }
        Ok(())
    }

    fn gather(&mut self, rule: &Rule, part: &Part, marks: Option<GatherMarks>) -> Result<Tally> {
        let rows = self.long_rows.as_ref().expect("the kernels gather").view;
        self.clear(&[])?;
        if rows.pieces > 0 {
            let arguments = self.arguments(rule).with(rows);
            self.of_rule(rule.name, "pieces", u64::from(rows.pieces) * u64::from(BLOCK), arguments)?;
        }
        let arguments = self.for_frontier(rule).with(rows);
        match self.watch().zip(marks) {
            Some((watch, marks)) => {
                let arguments = arguments.with(watch).with(self.marks(marks));
                self.of_rule(rule.name, "guarded_rows", part.owned() as u64, arguments)?;
                self.repeat_gathered(rule, part.incoming().arcs())?;
            }
            None => self.of_rule(rule.name, "rows", part.owned() as u64, arguments)?,
        }
        let report = self.read_report()?;
        self.account(part.incoming().arcs())?;
        self.frontier.dirty = DirtySet::All;
        Ok(Tally {
            active: part.owned() as u64,
            residual: Sum::from_bits(report.residual),
            carry: Sum::from_bits(report.carry),
            ..Tally::default()
        })
    }
}

impl Engine {
    pub(super) fn arguments(&self, rule: &Rule) -> Arguments {
        Arguments::default().with(self.call(&rule.slots, rule.scalars.words()))
    }

    fn for_frontier(&self, rule: &Rule) -> Arguments {
        self.arguments(rule).with(self.frontier_view())
    }

    /// Items that fill the device, for kernels that share out what other kernels have listed.
    fn everywhere(&self) -> u64 {
        u64::MAX / 2
    }

    /// The kernel of a rule's operator, in its guarded form if the run is protected.
    fn guarded(&mut self, rule: &Rule, operator: &str, items: u64, arguments: Arguments) -> Result<()> {
        match self.watch() {
            Some(watch) => self.of_rule(rule.name, &format!("guarded_{operator}"), items, arguments.with(watch)),
            None => self.of_rule(rule.name, operator, items, arguments),
        }
    }

    /// The vertices of a list become bits.
    fn set_bits_of(&mut self, list: List, count: u64, bits: u64) -> Result<()> {
        let arguments = Arguments::default().with(list).with(bits).with(self.graph.view.locals);
        self.own("set_bits", count, arguments)
    }

    /// Takes in what the last exchange brought, as the host's frontier does.
    fn apply_exchange(&mut self) -> Result<()> {
        let view = self.frontier_view();
        let activated = self.list(&self.lists.activated, Slot::Woken);
        let updated_ghosts = self.list(&self.lists.updated_ghosts, Slot::Renewed);
        if self.frontier.activated > 0 {
            let count = self.frontier.activated.into();
            self.set_bits_of(activated, count, view.visited)?;
            match self.frontier.form {
                FrontierFormat::Queue => {
                    self.own("append_list", count, Arguments::default().with(activated).with(view.queue))?
                }
                FrontierFormat::Bitmap => self.set_bits_of(activated, count, view.bits)?,
            }
            if let Some(guard) = &mut self.guard {
                guard.apply_exchange();
            }
            self.frontier.count += count;
            self.frontier.arcs += self.frontier.woken_arcs;
            self.frontier.activated = 0;
        }
        if self.frontier.updated_ghosts > 0 {
            let count = self.frontier.updated_ghosts.into();
            self.set_bits_of(updated_ghosts, count, view.visited)?;
            if self.frontier.form == FrontierFormat::Bitmap {
                self.set_bits_of(updated_ghosts, count, view.bits)?;
                self.frontier.updated_ghosts = 0;
            }
        }
        Ok(())
    }

    fn make_bitmap(&mut self) -> Result<()> {
        if self.frontier.form == FrontierFormat::Queue {
            self.compute.zero(&self.lists.bits[self.frontier.bits_turn % 2])?;
            let view = self.frontier_view();
            self.set_bits_of(view.queue, self.frontier.count, view.bits)?;
            if self.frontier.updated_ghosts > 0 {
                let updated_ghosts = self.list(&self.lists.updated_ghosts, Slot::Renewed);
                self.set_bits_of(updated_ghosts, self.frontier.updated_ghosts.into(), view.bits)?;
            }
            self.frontier.updated_ghosts = 0;
            self.frontier.form = FrontierFormat::Bitmap;
        }
        Ok(())
    }

    fn make_queue(&mut self) -> Result<()> {
        self.frontier.updated_ghosts = 0;
        if self.frontier.form == FrontierFormat::Bitmap {
            self.clear_lists(&[self.queue_slot(0)])?;
            let view = self.frontier_view();
            let owned = self.graph.view.owned;
            self.own("list_bits", owned.into(), Arguments::default().with(view.bits).with(owned).with(view.queue))?;
            self.frontier.form = FrontierFormat::Queue;
        }
        Ok(())
    }

    /// The list just written becomes the frontier.
    fn take_next(&mut self, report: &Report) {
        self.frontier.turn += 1;
        self.frontier.form = FrontierFormat::Queue;
        self.frontier.count = report.length[self.queue_slot(0) as usize].into();
        self.frontier.arcs = report.arcs;
        self.frontier.offers = report.length[Slot::Offers as usize];
        self.frontier.dirty = DirtySet::Frontier;
    }

    /// Pushes along so many arcs; none: as the report says.
    fn launch_push(&mut self, rule: &Rule, arcs: Option<u64>) -> Result<()> {
        let replicas = self.mark(arcs, 0, rule.critical)?;
        self.guarded(rule, "push", self.frontier.count.max(replicas), self.for_frontier(rule))?;
        if self.graph.has_hubs {
            self.guarded(rule, "push_hubs", self.everywhere(), self.for_frontier(rule))?;
        }
        Ok(())
    }
}
