//! A rank's part in device memory: what it and everything beside it needs, compared with what is free before anything is allocated,
//! and the upload of the rows.

use super::driver::{Context, Memory, Stream};
use super::layout::{HUB, PIECE_BYTES, PartView, Rows};
use super::upload::Uploader;
use crate::device::host::Pool;
use crate::error::{Error, Result};
use crate::field::FieldSpec;
use crate::partition::Part;
use crate::words::bytes;
use std::sync::Arc;

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
    pub(super) woken: usize,
    pub(super) listed: usize,
    pub(super) bits: usize,
    pub(super) pieces: usize,
    pub(super) boundary: usize,
    /// Bytes of the buffers that exchange fills.
    pub(super) staging: usize,
    pub(super) directions: usize,
    pub(super) arcs: usize,
    pub(super) field_bytes: usize,
}

impl Plan {
    pub(super) fn of(part: &Part, specs: &[FieldSpec]) -> Plan {
        let (owned, ghosts, locals) = (part.owned(), part.ghosts(), part.locals());
        let has_hubs = part.owned_vertices().any(|v| part.outgoing().degree(v) >= HUB);
        let incoming = part.incoming_apart();
        Plan {
            owned,
            ghosts,
            locals,
            woken: if ghosts > 0 || !part.routes().boundary().is_empty() { owned } else { 0 },
            listed: ghosts.max(part.routes().boundary().len()),
            bits: locals.div_ceil(64) * 8,
            pieces: if has_hubs { part.outgoing().arcs() as usize / (HUB as usize / 2) } else { 0 },
            boundary: part.routes().boundary().len(),
            staging: super::exchange::staging_bytes(part, specs),
            directions: 1 + usize::from(incoming.is_some()),
            arcs: part.outgoing().arcs() as usize + incoming.map_or(0, |rows| rows.arcs() as usize),
            field_bytes: specs.iter().map(|spec| spec.kind.bytes() * locals).sum(),
        }
    }

    /// Bytes of everything that a run needs; what a first selection or gather adds is asked for then.
    fn bytes(&self) -> u64 {
        let words = 2 * self.owned + 3 * self.ghosts + self.woken + self.listed + self.boundary + self.arcs;
        let rows = (self.locals + 1) * 8 * self.directions;
        (words * 4 + rows + 4 * self.bits + self.pieces * PIECE_BYTES + self.field_bytes + self.staging) as u64
    }

    pub(super) fn check(&self, context: &Context) -> Result<()> {
        let (need, free) = (self.bytes(), context.free_bytes()?);
        if need <= free {
            return Ok(());
        }
        Err(Error::Device {
            device: context.info.label(),
            problem: format!(
                "this rank's part needs {}, and {} of {} are free",
                bytes(need),
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
        let mut rows = |rows: &crate::partition::Rows| -> Result<Rows> {
            let offsets = Memory::new(context, (plan.locals + 1) * 8)?;
            let targets = Memory::new(context, rows.targets().len() * 4)?;
            uploader.put(stream, &offsets, &rows.offsets()[..=plan.locals])?;
            uploader.put(stream, &targets, rows.targets())?;
            let view = Rows { offsets: offsets.address(), targets: targets.address() };
            kept.extend([offsets, targets]);
            Ok(view)
        };
        let outgoing = rows(part.outgoing())?;
        let incoming = match part.incoming_apart() {
            Some(apart) => rows(apart)?,
            None if part.has_incoming() => outgoing,
            None => Rows::default(),
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
