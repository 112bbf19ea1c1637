//! From a list of arcs to sorted rows, in parallel.
/// Arcs between densely numbered vertices, in pieces.
#[derive(Debug)]
pub struct Arcs;
