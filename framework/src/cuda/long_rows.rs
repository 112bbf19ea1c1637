//! Rows of incoming arcs that are too long for one block: they are cut into pieces, whose sums are added up in order.

use super::driver::{Context, Memory, Pinned, Stream};
use super::layout::{LongRows, ROW_PIECE};
use crate::base::error::Result;
use crate::partition::Part;

/// Vertices with long rows of incoming arcs, and where their pieces go.
pub(super) struct LongRowsOnDevice {
    pub(super) view: LongRows,
    _memory: [Memory; 3],
}

/// The same, as the host finds them.
pub(super) struct LongRowsOfPart {
    vertices: Vec<u32>,
    /// One more than vertices.
    first_piece: Vec<u32>,
}

impl LongRowsOfPart {
    pub(super) fn of(part: &Part) -> LongRowsOfPart {
        let (mut vertices, mut first_piece, mut pieces) = (Vec::new(), Vec::new(), 0u32);
        for v in part.owned_vertices() {
            let degree = part.incoming().degree(v);
            if degree >= ROW_PIECE {
                vertices.push(v.number());
                first_piece.push(pieces);
                pieces += degree.div_ceil(ROW_PIECE) as u32;
            }
        }
        first_piece.push(pieces);
        LongRowsOfPart { vertices, first_piece }
    }

    fn pieces(&self) -> u32 {
        self.first_piece.last().copied().unwrap_or(0)
    }

    /// Each allocation that they take.
    pub(super) fn allocations(&self) -> [usize; 3] {
        [self.vertices.len() * 4, self.first_piece.len() * 4, self.pieces() as usize * 8]
    }
}

impl LongRowsOnDevice {
    /// Puts them into device memory, with room for the sums of their pieces.
    pub(super) fn upload(context: &Context, compute: &Stream, rows: &LongRowsOfPart) -> Result<LongRowsOnDevice> {
        let put = |numbers: &[u32]| -> Result<Memory> {
            let memory = Memory::new(context, numbers.len() * 4)?;
            let mut pinned = Pinned::<u32>::new(context, numbers.len())?;
            pinned.values_mut()[..numbers.len()].copy_from_slice(numbers);
            compute.upload(&memory, 0, &pinned, numbers.len())?;
            compute.synchronize()?;
            Ok(memory)
        };
        let pieces = rows.pieces();
        let partial = Memory::new(context, pieces as usize * 8)?;
        let memory = [put(&rows.vertices)?, put(&rows.first_piece)?, partial];
        let [v, f, p] = memory.each_ref().map(Memory::address);
        let rows = rows.vertices.len() as u32;
        Ok(LongRowsOnDevice {
            view: LongRows { vertices: v, first_piece: f, partial: p, rows, pieces },
            _memory: memory,
        })
    }
}
