//! The certificate: labels are equal across every edge, none is above its vertex, and each comes from its vertex along parents.
//!
//! Rules, for every owned vertex v: label(v) <= v; label(u) = label(v) for every neighbour u; and label(v) = v, or v has a parent: a
//! neighbour that precedes v in one total order of all vertices ([`crate::forest`] makes it from what the run kept).
//!
//! *Complete*, whatever was kept. In a component, take the vertex s that comes first in the order: it can have no parent, so
//! label(s) = s. By the second rule all labels in the component are s, and by the first s is at most each of its vertices: s is
//! the smallest, and the labels are right. The order need only be total, and it is for any keys: by key, then by number.
//! *Sound.* The kept edges are a spanning forest of each component, which the walk orients from the vertex that names it.
//! Cost: one pass over the arcs, one value each; the order takes a pass over the vertices and one over the hooks.

use crate::evidence::NEAR;
use crate::forest::orient;
use crate::program::LABEL;
use framework::certify::{Audit, Row};
use framework::error::Result;
use framework::fault::{Certificate, Scene, Verdict};

/// Judges the labels of this rank's vertices; nothing without the evidence.
pub(crate) fn certify(scene: &mut Scene<'_>) -> Result<Option<Certificate>> {
    let mut audit = Audit::of(scene);
    if !audit.has(NEAR.spec()) {
        return Ok(None);
    }
    let order = orient(&mut audit)?;
    audit.renew(LABEL)?;
    let (part, label) = (audit.part, audit.values(LABEL));
    let differs = |own: u32, row: &Row<'_>| row.fold(0, |differs, u| differs | (label.get(u) ^ own)) != 0;
    let scan = audit.scan(LABEL, |v, own, row, (): &mut ()| {
        let id = part.global(v).0;
        !differs(own, row) && (own == id || own < id && order.vouches(v, row))
    });
    let verdict = scan.broken.map_or(Verdict::Sound, |v| {
        let (own, id) = (label.get(v), part.global(v).0);
        let rule = if own > id {
            "a label is at most its vertex"
        } else if audit.again(v, |row| differs(own, row)) {
            "labels are equal across an edge"
        } else {
            "a label comes from its vertex along neighbours"
        };
        Verdict::require(false, rule, Some(audit.id(v)), || format!("found label {own} at number {id}"))
    });
    Ok(Some(audit.close(verdict)))
}
