//! Arcs as a reader or a generator hands them over: in pieces, unsorted, with repetitions.

use super::Ids;
use super::numbering::{Numbering, checked_vertices, number_occurring};
use super::piece::Piece;
use crate::base::error::{Error, Result};
use rayon::prelude::*;

/// Arcs in pieces that were read or made independently of each other, and which vertices there are.
///
/// A piece is worked on by one thread at a time; some hundred thousand arcs each is a good size. The graph does not depend on
/// the order of arcs or on how they are cut into pieces.
#[derive(Debug)]
pub struct Arcs {
    pub(super) pieces: Vec<Piece>,
    vertices: Vertices,
}

#[derive(Debug)]
enum Vertices {
    /// These; the pieces hold vertex numbers.
    Known(Ids),
    /// Every ID that occurs; the pieces hold IDs.
    Occurring,
}

impl Arcs {
    /// Arcs between vertices 0 to `ids.len()` - 1, each `(from, to)`; vertices without arcs are kept.
    ///
    /// # Errors
    /// When an end is no vertex.
    pub fn dense(ids: Ids, pieces: Vec<Vec<(u32, u32)>>) -> Result<Arcs> {
        let vertices = checked_vertices(ids.len() as u64)?;
        let largest = pieces.par_iter().flat_map_iter(|piece| piece.iter().map(|&(u, v)| u.max(v)).max()).max();
        if let Some(largest) = largest.filter(|&v| v as usize >= vertices) {
            return Err(Error::usage(format!("an arc ends at vertex {largest}; the graph has {vertices}, from 0")));
        }
        Ok(Arcs {
            pieces: pieces.into_iter().map(|piece| Piece::Narrow(piece, largest.unwrap_or(0))).collect(),
            vertices: Vertices::Known(ids),
        })
    }

    /// Arcs between original IDs; the vertices are those that occur.
    pub fn listed(pieces: Vec<Vec<(i64, i64)>>) -> Arcs {
        Arcs::occurring(pieces.into_iter().map(Piece::Wide).collect())
    }

    /// As [`Arcs::listed`], in either spelling.
    pub(super) fn occurring(pieces: Vec<Piece>) -> Arcs {
        Arcs { pieces, vertices: Vertices::Occurring }
    }

    /// The number of arcs, repetitions included.
    pub fn len(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.len() as u64).sum()
    }

    /// Whether there is no arc.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The vertices, the rule that numbers the IDs in the pieces, and the pieces.
    pub(super) fn numbered(self) -> Result<(Ids, Numbering, Vec<Piece>)> {
        match self.vertices {
            Vertices::Known(ids) => Ok((ids, Numbering::Same, self.pieces)),
            Vertices::Occurring => {
                let (ids, numbering) = number_occurring(&self.pieces)?;
                Ok((ids, numbering, self.pieces))
            }
        }
    }
}
