//! How a graph file is read: the same options wherever one is named.

use clap::Args;
use framework::graph::{Checksums, Direction, Format, LoadOptions, View};

/// The options, as typed.
#[derive(Args, Clone, Debug)]
pub(crate) struct Reading {
    /// Format of the graph
    #[arg(
        long,
        value_enum,
        default_value_t,
        hide_possible_values = true,
        help_heading = "Graph",
        help = "Format: auto, edgelist, mtx, metis, gr, el, wel, sg, wsg, adjacency, gbbs, galois, graph500, graph500-packed or gcsr"
    )]
    pub(crate) format: Format,
    /// Read each listed pair as an undirected edge: as one arc in each direction
    #[arg(long, conflicts_with = "directed", help_heading = "Graph")]
    pub(crate) undirected: bool,
    /// Read each listed pair as one arc, from the first vertex to the second
    #[arg(long, help_heading = "Graph")]
    pub(crate) directed: bool,
    /// Lines of a text to leave out at its head
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, help_heading = "Graph")]
    pub(crate) skip_lines: u64,
    /// Open a .gcsr file without comparing its checksums
    #[arg(long, help_heading = "Graph")]
    pub(crate) trust_file: bool,
}

impl Reading {
    /// What was meant, in this view.
    pub(crate) fn options(&self, view: View) -> LoadOptions {
        let direction = match (self.directed, self.undirected) {
            (true, _) => Direction::Directed,
            (_, true) => Direction::Undirected,
            _ => Direction::Auto,
        };
        let checksums = if self.trust_file { Checksums::Trust } else { Checksums::Compare };
        LoadOptions { format: self.format, direction, view, checksums, skip_lines: self.skip_lines }
    }
}
