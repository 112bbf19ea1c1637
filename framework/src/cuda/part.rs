//! A rank's part in device memory: what it and everything beside it needs, compared with what is free before anything is allocated,
//! and the upload of the rows.

use super::driver::{Context, Memory, Stream};
use super::guard_state;
use super::layout::{HUB, PIECE_BYTES, PartView, REPORT_BYTES, RowsView};
use super::long_rows::LongRowsOfPart;
use super::messages::{PeerAccess, Sizes};
use super::staging::staging_allocations;
use super::upload::Uploader;
use crate::base::error::{Error, Result};
use crate::base::format::{bytes, grouped};
use crate::device::Kernels;
use crate::field::FieldSpec;
use crate::host::Pool;
use crate::partition::Part;
use std::sync::Arc;

/// The driver hands out memory in multiples of so many bytes.
const GRAIN: usize = 512;

/// The rows in device memory.
pub(super) struct GraphOnDevice {
    pub(super) view: PartView,
    /// Offsets and targets of arcs out, then of arcs in where they lie apart, then the global numbers of ghosts.
    pub(super) rows: Vec<Memory>,
    pub(super) has_hubs: bool,
    pub(super) boundary: Memory,
    pub(super) boundary_len: u32,
}

/// Elements of each allocation.
pub(super) struct Plan {
    pub(super) owned: usize,
    pub(super) ghosts: usize,
    pub(super) locals: usize,
    pub(super) activated: usize,
    pub(super) listed: usize,
    pub(super) bits: usize,
    pub(super) pieces: usize,
    pub(super) boundary: usize,
    /// Entries of each list of candidates, if rules select.
    pub(super) candidates: Option<usize>,
    pub(super) gathers: bool,
    /// Bytes of what else is allocated, one by one.
    others: Vec<usize>,
    columns: Vec<usize>,
    /// Offsets and targets, of one direction or both.
    rows: Vec<usize>,
}

impl Plan {
    /// `reaches` says how messages get to each peer, if devices exchange ghosts; `guarded`, whether updates are done again, if the run
    /// is protected.
    pub(super) fn of(
        part: &Part,
        specs: &[FieldSpec],
        kernels: &Kernels,
        reaches: Option<&[PeerAccess]>,
        guarded: Option<bool>,
    ) -> Plan {
        let (owned, ghosts, locals) = (part.owned(), part.ghosts(), part.locals());
        let has_hubs = part.owned_vertices().any(|v| part.outgoing().degree(v) >= HUB);
        let incoming = part.incoming_apart();
        let mut others = staging_allocations(part, specs, reaches.is_some()).to_vec();
        others.extend(reaches.map(|reaches| Sizes::of(part, specs).allocations(reaches)).iter().flatten());
        let gathers = kernels.have("GK_GATHER");
        let guarding = guarded.map(|is_redundant| guard_state::allocations(part, is_redundant, gathers));
        others.extend(guarding.iter().flatten());
        if gathers {
            others.extend(LongRowsOfPart::of(part).allocations());
        }
        Plan {
            owned,
            ghosts,
            locals,
            activated: if ghosts > 0 || !part.routes().boundary().is_empty() { owned } else { 0 },
            listed: ghosts.max(part.routes().boundary().len()),
            bits: locals.div_ceil(64) * 8,
            pieces: if has_hubs { part.outgoing().arcs() as usize / (HUB as usize / 2) } else { 0 },
            boundary: part.routes().boundary().len(),
            candidates: kernels.have("GK_SELECT").then_some(owned),
            gathers,
            others,
            columns: specs.iter().map(|spec| spec.kind.bytes() * locals).collect(),
            rows: [Some(part.outgoing()), incoming]
                .iter()
                .flatten()
                .flat_map(|rows| [(locals + 1) * 8, rows.targets().len() * 4])
                .collect(),
        }
    }

    /// Bytes of everything that a run allocates, as the driver hands them out.
    fn bytes(&self) -> u64 {
        let lists =
            [self.owned, self.owned, self.ghosts, self.activated, self.ghosts, self.listed, self.ghosts, self.boundary];
        let mut bytes: Vec<usize> = lists.iter().map(|entries| entries * 4).collect();
        bytes.extend(self.candidates.iter().flat_map(|entries| [entries * 4; 2]));
        bytes.extend([self.bits; 4]);
        bytes.extend(&self.columns);
        bytes.extend(&self.rows);
        bytes.extend([self.pieces * PIECE_BYTES, REPORT_BYTES]);
        bytes.extend(&self.others);
        bytes.iter().map(|&bytes| bytes.max(1).next_multiple_of(GRAIN) as u64).sum()
    }

    pub(super) fn check(&self, context: &Context) -> Result<()> {
        let (need, free) = (self.bytes(), context.free_bytes()?);
        if need <= free {
            return Ok(());
        }
        Err(Error::Device {
            device: context.info.label(),
            problem: format!(
                "this rank's part needs {} ({} bytes), and {} of {} are free",
                bytes(need),
                grouped(need),
                bytes(free),
                bytes(context.info.memory)
            ),
            mend: "use more devices (--device cuda:0,1 --ranks 2), or --device cpu".into(),
        })
    }
}

impl GraphOnDevice {
    pub(super) fn upload(
        context: &Arc<Context>,
        stream: &Stream,
        part: &Part,
        pool: &Pool,
        plan: &Plan,
    ) -> Result<GraphOnDevice> {
        let mut uploader = Uploader::new(context, pool)?;
        let mut kept = Vec::new();
        let mut rows = |rows: &crate::partition::LocalRows| -> Result<RowsView> {
            let offsets = Memory::new(context, (plan.locals + 1) * 8)?;
            let targets = Memory::new(context, rows.targets().len() * 4)?;
            uploader.put(stream, &offsets, &rows.offsets()[..=plan.locals])?;
            uploader.put(stream, &targets, rows.targets())?;
            let view = RowsView { offsets: offsets.address(), targets: targets.address() };
            kept.extend([offsets, targets]);
            Ok(view)
        };
        let outgoing = rows(part.outgoing())?;
        let incoming = match part.incoming_apart() {
            Some(apart) => rows(apart)?,
            None if part.has_incoming() => outgoing,
            None => RowsView::default(),
        };
        let ghosts = Memory::new(context, plan.ghosts * 4)?;
        let globals: Vec<u32> = part.ghost_globals().iter().map(|ghost| ghost.0).collect();
        uploader.put(stream, &ghosts, &globals)?;
        let boundary = Memory::new(context, plan.boundary * 4)?;
        uploader.put(stream, &boundary, part.routes().boundary())?;
        stream.synchronize()?; // the pinned buffers go
        let view = PartView {
            outgoing,
            incoming,
            ghost_globals: ghosts.address(),
            graph_vertices: part.graph_vertices() as u64,
            first: part.global_base(),
            owned: plan.owned as u32,
            ghost_base: part.ghost_base(),
            locals: plan.locals as u32,
        };
        kept.push(ghosts);
        Ok(GraphOnDevice { view, rows: kept, has_hubs: plan.pieces > 0, boundary, boundary_len: plan.boundary as u32 })
    }

    /// Puts the arcs, ghosts and boundary onto the device once more: what lies there may have been damaged.
    pub(super) fn renew(&self, context: &Arc<Context>, stream: &Stream, part: &Part, pool: &Pool) -> Result<()> {
        let mut uploader = Uploader::new(context, pool)?;
        let directions = [Some(part.outgoing()), part.incoming_apart()];
        for (pair, rows) in self.rows.chunks_exact(2).zip(directions.into_iter().flatten()) {
            uploader.put(stream, &pair[0], &rows.offsets()[..=part.locals()])?;
            uploader.put(stream, &pair[1], rows.targets())?;
        }
        let globals: Vec<u32> = part.ghost_globals().iter().map(|ghost| ghost.0).collect();
        if let Some(ghosts) = self.rows.last() {
            uploader.put(stream, ghosts, &globals)?;
        }
        uploader.put(stream, &self.boundary, part.routes().boundary())?;
        stream.synchronize() // the pinned buffers go
    }
}
