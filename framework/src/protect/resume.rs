//! Putting a checkpoint back in place: as it was on the same number of ranks; by global vertex on another one.
//!
//! On another number of ranks the owned values of all ranks, in order, are the values of the graph. A ghost of a copied field gets its
//! owner's; one that makes offers starts without any; members of the frontier go with their owners, and a ghost whose
//! owner changed last counts as renewed. Where fields hold local numbers, the run starts over.

use super::checkpoint::{CheckpointSet, RankCheckpoint};
use crate::algorithm::GraphAlgorithm;
use crate::base::error::{Error, Result};
use crate::base::id::LocalId;
use crate::fault_tolerance::SuperstepTotals;
use crate::field::{Fields, Merge, Share};
use crate::frontier::FrontierSnapshot;
use crate::partition::Part;
use crate::step::{Step, initial_fields};
use std::borrow::Cow;

/// What a rank goes on with.
pub(crate) struct RestoredState {
    /// What was agreed after the superstep before.
    pub(crate) round: Option<SuperstepTotals>,
}

impl RankCheckpoint {
    /// Values by local number, on the same part.
    fn place_same(&self, part: &Part, fields: &Fields) -> Result<()> {
        let mine = (part.owned(), part.ghost_base(), part.locals());
        if mine != (self.owned as usize, self.ghost_base, self.locals as usize) {
            return Err(Error::usage("the checkpoint is of another partition of the graph; report this"));
        }
        for (slot, (_, values)) in self.fields.iter().enumerate() {
            let column = fields.column(slot);
            values.iter().enumerate().for_each(|(v, &bits)| column.set_bits(LocalId::new(v as u32), bits));
        }
        Ok(())
    }
}

impl CheckpointSet {
    /// Puts the state in place; `None` where the run must start over.
    pub(crate) fn place(
        &self,
        step: &mut Step<'_>,
        algorithm: &mut dyn GraphAlgorithm,
    ) -> Result<Option<RestoredState>> {
        let part = step.part;
        let specs = step.fields.specs().to_vec();
        let names_fit = |saved: &RankCheckpoint| {
            saved.fields.len() == specs.len()
                && saved.fields.iter().zip(&specs).all(|((name, _), own)| name == own.name)
        };
        if !self.ranks.iter().all(names_fit) {
            return Err(Error::usage("the checkpoint has other fields than this run; resume it with the same options"));
        }
        // A device gets them whole, once they are in place here.
        let on_device = step.device.is_some();
        let apart = if on_device { Some(initial_fields(specs, part, step.pool)?) } else { None };
        let fields = apart.as_ref().unwrap_or(&step.fields);
        let once = step.monitor.as_ref().and_then(|monitor| monitor.set_once());
        let (frontier, sum) = if self.ranks.len() == part.routes().ranks() {
            let saved = &self.ranks[part.rank().index()];
            saved.place_same(part, fields)?;
            (Cow::Borrowed(&saved.frontier), saved.sum)
        } else if algorithm.is_portable() {
            let frontier = self.place_anew(part, fields)?;
            (Cow::Owned(frontier), once.map_or(0, |once| once.recount(fields, part)))
        } else {
            return Ok(None);
        };
        match &mut step.device {
            Some(device) => device.restore(part, step.pool, fields, &frontier)?,
            None => step.frontier.restore(part, &frontier),
        }
        let any = &self.ranks[0];
        (step.index, step.total) = (any.index, any.total);
        algorithm.restore(&any.memory);
        if let Some(monitor) = &mut step.monitor {
            (monitor.sum, monitor.largest) = (sum, any.largest);
        }
        Ok(Some(RestoredState { round: any.round }))
    }

    /// Values by global vertex; the frontier that goes with them.
    fn place_anew(&self, part: &Part, fields: &Fields) -> Result<FrontierSnapshot> {
        let whole: usize = self.ranks.iter().map(|saved| saved.owned as usize).sum();
        if whole != part.graph_vertices() {
            return Err(Error::usage(format!(
                "the checkpoint has {whole} vertices, the graph {}; resume it with the same graph",
                part.graph_vertices()
            )));
        }
        let specs = fields.specs();
        for (slot, spec) in specs.iter().enumerate() {
            let column = fields.column(slot);
            for v in part.local_vertices() {
                let takes = !part.is_ghost(v) || spec.share.copies() || spec.share == Share::ToOwner(Merge::Min);
                if takes {
                    let (saved, local) = self.owner(part.global(v).0);
                    column.set_bits(v, saved.fields[slot].1[local]);
                }
            }
        }
        Ok(self.frontier(part, specs.iter().any(|spec| matches!(spec.share, Share::Both(_)))))
    }

    /// The part that owned a vertex, and its number there.
    fn owner(&self, global: u32) -> (&RankCheckpoint, usize) {
        let place = self.ranks.partition_point(|saved| saved.owned == 0 || saved.first <= global);
        // Parts without vertices stand anywhere; the one before `place` that has some is it.
        let owner = self.ranks[..place].iter().rev().find(|saved| saved.owned > 0).unwrap_or(&self.ranks[0]);
        (owner, (global - owner.first) as usize)
    }

    fn frontier(&self, part: &Part, renews: bool) -> FrontierSnapshot {
        let bit = |words: &[u64], v: usize| words.get(v / 64).is_some_and(|word| word >> (v % 64) & 1 == 1);
        let is_in = |list: &[bool], v: LocalId| list[part.global(v).0 as usize];
        let mut member = vec![false; part.graph_vertices()];
        let mut activated = member.clone();
        let mut visited = member.clone();
        for saved in &self.ranks {
            let own = saved.first as usize..(saved.first + saved.owned) as usize;
            for v in 0..saved.owned as usize {
                visited[own.start + v] = bit(&saved.frontier.visited, v);
                member[own.start + v] = bit(&saved.frontier.bits, v);
            }
            let is_owned = |v: &&LocalId| v.index() < saved.owned as usize;
            saved.frontier.members.iter().filter(is_owned).for_each(|v| member[own.start + v.index()] = true);
            saved.frontier.activated.iter().filter(is_owned).for_each(|v| activated[own.start + v.index()] = true);
        }
        let members: Vec<LocalId> = part.owned_vertices().filter(|&v| is_in(&member, v)).collect();
        let mut words = vec![0u64; part.locals().div_ceil(64)];
        for v in part.local_vertices().filter(|&v| is_in(&visited, v)) {
            words[v.index() / 64] |= 1 << (v.index() % 64);
        }
        if !part.owned().is_multiple_of(64) {
            words[part.owned() / 64] |= !0 << (part.owned() % 64); // no vertices: they never join
        }
        let is_renewed = |v: &LocalId| renews && part.is_ghost(*v) && (is_in(&member, *v) || is_in(&activated, *v));
        FrontierSnapshot {
            count: members.len() as u64,
            arcs: members.iter().map(|&v| part.outgoing().degree(v)).sum(),
            members,
            bits: Vec::new(),
            visited: words,
            activated: part.owned_vertices().filter(|&v| is_in(&activated, v)).collect(),
            updated_ghosts: part.local_vertices().filter(is_renewed).collect(),
            remaining: self.ranks[0].frontier.remaining,
        }
    }
}
