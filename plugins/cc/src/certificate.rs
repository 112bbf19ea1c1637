//! The certificate: labels are equal across every edge, none is above its vertex, and every vertex is joined by edges to the vertex
//! that its label names.
//!
//! Rules, for every owned vertex v: label(v) <= v; label(u) = label(v) for every neighbour u; and v is joined to the vertex
//! label(v) ([`crate::forest`] shows it, from edges of the graph that the run kept).
//!
//! *Complete*, whatever was kept. By the second rule all vertices of a component have one label s. By the third the vertex s is in the
//! component, and by the first s is at most each of its vertices: s is the smallest of them, and the labels are right.
//! *Sound.* The kept edges, with the first arcs, span each tree of the run, and trees tell when their label came.
//!
//! Across most edges one byte is read: whether the neighbour has the most frequent label. It is enough where v has that label; where
//! it has not, the labels themselves are compared. That the byte says so is looked at for every owned v in the same pass.
//! Cost: one pass over the arcs; the proof of the third rule takes a walk for every vertex without a smaller first neighbour.

use crate::evidence::NEAR;
use crate::fields::LABEL;
use crate::forest::{Trees, up};
use framework::base::error::Result;
use framework::base::id::LocalId;
use framework::base::verdict::Verdict;
use framework::certify::{Audit, Row};
use framework::fault_tolerance::{Certificate, CertificateInput};
use std::collections::HashMap;

/// Arcs whose ends are asked for the most frequent label; chosen.
const SAMPLES: usize = 64;

/// Judges the labels of this rank's vertices; nothing without the evidence.
pub(crate) fn certify(input: &mut CertificateInput<'_>) -> Result<Option<Certificate>> {
    let mut audit = Audit::of(input);
    if !audit.has(NEAR.spec()) {
        return Ok(None);
    }
    audit.broadcast_to_ghosts(LABEL)?;
    let (part, label) = (audit.part, audit.values(LABEL));
    let frequent = most_frequent(&audit);
    let is_frequent = audit.project(LABEL, |label| u8::from(label == frequent));
    let is_alone = part.owned() == part.graph_vertices();
    let differs = |own: u32, row: Row<'_>| {
        if own == frequent {
            row.fold(1, |all, u| all & is_frequent.get(u)) == 0
        } else {
            row.fold(0, |differs, u| differs | (label.get(u) ^ own)) != 0
        }
    };
    // Beside a smaller first neighbour of the same label a vertex needs no more; the others do, but for the one that is named.
    let scan = audit.scan(LABEL, |v, own, row, firsts: &mut Vec<LocalId>| {
        let id = part.global(v).0;
        if up(row, v) == v && !(is_alone && own == id) {
            firsts.push(v);
        }
        own <= id && !differs(own, row) && (is_frequent.get(v) == 1) == (own == frequent)
    });
    let mut firsts = scan.threads;
    firsts.push(part.ghost_vertices().collect());
    let unjoined = Trees::of(&audit, &firsts).unjoined(&mut audit, &firsts)?;
    let verdict = scan.broken.or(unjoined).map_or(Verdict::Sound, |v| {
        let (own, id) = (label.get(v), part.global(v).0);
        let rule = if own > id {
            "a label is at most its vertex"
        } else if scan.broken.is_some() {
            "labels are equal across an edge"
        } else {
            "edges join a vertex to the one that its label names"
        };
        Verdict::require(false, rule, Some(audit.id(v)), || format!("found label {own} at number {id}"))
    });
    Ok(Some(audit.close(verdict)))
}

/// The label at the ends of most sampled arcs; any label would do.
fn most_frequent(audit: &Audit<'_>) -> u32 {
    let (targets, label) = (audit.rows().targets(), audit.values(LABEL));
    let mut seen: HashMap<u32, usize> = HashMap::new();
    for &u in targets.iter().step_by((targets.len() / SAMPLES).max(1)) {
        *seen.entry(label.get(u)).or_default() += 1;
    }
    seen.into_iter().max_by_key(|&(label, count)| (count, label)).map_or(0, |(label, _)| label)
}
