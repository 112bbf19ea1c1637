//! From one view of a graph to another, without the input.

use super::rows::{ArcSelection, Rows, rows, transposed};
use super::{Graph, Incoming, View};
use crate::base::error::{Error, Result};

impl Graph {
    /// The same graph in another view. Arrays that serve both views are shared, not copied: a symmetric graph as
    /// [`View::Symmetric`] costs nothing.
    ///
    /// # Errors
    /// When this graph lacks what the view needs: a directed graph held in both directions no longer knows the directions,
    /// a simple one no longer knows its self-loops.
    pub fn with_view(&self, view: View) -> Result<Graph> {
        let lost_loops = self.facts.self_loops > 0 && self.has_no_loops();
        if lost_loops && view != View::Simple {
            return Err(Error::usage(format!(
                "{}: this graph was loaded without its {} self-loops; load it again in the view you need",
                self.name, self.facts.self_loops
            )));
        }
        let mut graph = self.clone();
        match view {
            View::AsGiven { incoming } => {
                if self.facts.directed && self.is_symmetric() {
                    return Err(Error::usage(format!(
                        "{}: this graph was loaded with both directions of every arc; load it again to have it directed",
                        self.name
                    )));
                }
                if incoming && matches!(self.incoming, Incoming::Absent) {
                    graph.incoming = Incoming::Rows(transposed(&self.outgoing));
                }
            }
            View::Symmetric | View::Simple => {
                let simple = view == View::Simple && self.facts.self_loops > 0 && !lost_loops;
                if !self.is_symmetric() {
                    graph.outgoing = rows(self.vertices(), Rows::of(&self.outgoing), ArcSelection::Both, simple).0;
                } else if simple {
                    graph.outgoing = rows(self.vertices(), Rows::of(&self.outgoing), ArcSelection::Out, true).0;
                }
                graph.incoming = Incoming::Same;
            }
        }
        Ok(graph)
    }

    /// Whether the rows held are free of self-loops although the input had some.
    fn has_no_loops(&self) -> bool {
        (0..self.vertices() as u32).all(|v| self.outgoing.row(v).binary_search(&v).is_err())
    }
}
