//! The certificate: a level is one more than the smallest level of a vertex that an arc leads from.
//!
//! Rules, for every owned vertex v: level(source) = 0; any other v has level(v) = 1 + min over u -> v of level(u), where no level
//! counts as infinite and so does the minimum over nothing.
//!
//! *Complete.* Let d be the true distances. No level is too high: along a shortest path from the source the rule gives level(v)
//! <= 1 + level(u), so level <= d everywhere d is finite. None is too low: a finite level of v other than the source is
//! one more than that of some in-neighbour, so following such in-neighbours the level falls by 1 a step and stays finite; it
//! cannot fall below 0, and a vertex at level 0 that is not the source would need an in-neighbour at level -1. So the walk ends at
//! the source after level(v) steps and is a path of that length: level >= d. A vertex without a path keeps an infinite level, by
//! the same walk. *Sound.* True distances keep the rule. Arithmetic is in 64 bits, so no level wraps.
//! Cost: one pass over the arcs in, one value each, of a copy in one or two bytes where the levels fit; that it stands for the levels
//! judged is looked at in the same pass. Levels of ghosts are copied afresh from their owners.

use crate::fields::{LEVEL, UNREACHED};
use framework::base::error::Result;
use framework::base::id::{GlobalId, LocalId};
use framework::base::verdict::Verdict;
use framework::certify::{Audit, Lookup, Packed, Row};
use framework::fault_tolerance::{Certificate, CertificateInput};

/// Judges the levels of this rank's vertices.
pub(crate) fn certify(input: &mut CertificateInput<'_>, source: Option<GlobalId>) -> Result<Certificate> {
    let mut audit = Audit::of(input);
    audit.broadcast_to_ghosts(LEVEL)?;
    let source = source.and_then(|source| audit.part.local(source));
    let verdict = match audit.packed(LEVEL) {
        Packed::Bytes(levels) => judge(&audit, &levels, source),
        Packed::Shorts(levels) => judge(&audit, &levels, source),
        Packed::Words(levels) => judge(&audit, &levels, source),
    };
    Ok(audit.close(verdict))
}

/// No level, in 64 bits.
const INFINITE: u64 = u64::MAX;

fn judge<L: Lookup>(audit: &Audit<'_>, levels: &L, source: Option<LocalId>) -> Verdict {
    let right = |v: LocalId, row: Row<'_>| {
        let nearest = row.fold_in_strands(L::INFINITE, |nearest, u| nearest.min(levels.get(u)), u32::min);
        match nearest {
            _ if Some(v) == source => 0,
            nearest if nearest == L::INFINITE => INFINITE,
            nearest => u64::from(nearest) + 1,
        }
    };
    let level = |found: u32| if found == UNREACHED { INFINITE } else { found.into() };
    let scan = audit.scan(LEVEL, |v, found, row, (): &mut ()| level(found) == right(v, row) && levels.is(v, found));
    scan.broken.map_or(Verdict::Sound, |v| {
        let rule = "a level is one more than the smallest level of a vertex that an arc leads from";
        Verdict::require(false, rule, Some(audit.id(v)), || {
            let (found, right) = (audit.values(LEVEL).get(v), audit.again(v, |row| right(v, row)));
            format!("found {}, by its neighbours {}", found as i32, right as i64)
        })
    })
}
