//! The certificate: the order in which vertices were removed shows that each had to go, and what it left behind holds together.
//!
//! Kept during the run: `step(v)`, the wave in which v was removed; infinite for a survivor. A neighbour counts as gone only with a
//! strictly smaller step.
//!
//! One k. Rules, for every owned v: its answer is 1 with an infinite step, else 0; a survivor has at least k surviving
//! neighbours; a removed v has fewer than k neighbours with step >= step(v) (survivors among them).
//! *Complete.* Survivors have k neighbours each among themselves, so they are inside the k-core. Suppose the k-core K holds a
//! removed vertex, and w is one of smallest step in K. The k neighbours of w in K survive or have step >= step(w), against
//! the rule for w. So K is exactly the survivors.
//!
//! All cores. Rules: (1) v has at least c(v) neighbours with c >= c(v); (2) v has at most c(v) neighbours with step >= step(v);
//! (3) a vertex of smaller c has a smaller step than one of larger c.
//! *Complete.* By (1) the vertices with c >= k have k neighbours each among themselves, so core(v) >= c(v). Suppose core(v) = k >
//! c(v); let K be the k-core, which holds v, and w one of smallest step in K. The k neighbours of w in K have step >= step(w), so
//! k <= c(w) by (2), and c(v) < c(w); by (3) step(v) < step(w), but w has the smallest in K.
//! By (3) each core number owns a stretch of steps, and c(u) >= c(v) says the same as step(u) >= the first step of c(v)'s
//! stretch: so the step is all that is read of a neighbour. The stretches are agreed over ranks.
//!
//! *Sound.* A wave removes what has fewer than k neighbours (at most the level) left in it or for later, and levels rise.
//! Cost: one pass over the arcs, one value each, of a copy of the steps in one or two bytes where they fit; and for all cores one over
//! the vertices.

use crate::fields::{DEGREE, STEP};
use framework::base::error::Result;
use framework::base::id::LocalId;
use framework::base::verdict::Verdict;
use framework::certify::{Audit, Lookup, Packed, Row};
use framework::fault_tolerance::{Certificate, CertificateInput};
use std::collections::BTreeMap;

/// The first and the last step of a core number.
type Stretch = (u32, u32);

/// Judges this rank's part; nothing without the steps.
pub(crate) fn certify(input: &mut CertificateInput<'_>, k: Option<u32>) -> Result<Option<Certificate>> {
    let mut audit = Audit::of(input);
    if !audit.has(STEP.spec()) {
        return Ok(None);
    }
    audit.broadcast_to_ghosts(STEP)?;
    let verdict = match audit.packed(STEP) {
        Packed::Bytes(steps) => judge(&mut audit, &steps, k),
        Packed::Shorts(steps) => judge(&mut audit, &steps, k),
        Packed::Words(steps) => judge(&mut audit, &steps, k),
    }?;
    Ok(Some(audit.close(verdict)))
}

fn judge<L: Lookup>(audit: &mut Audit<'_>, steps: &L, k: Option<u32>) -> Result<Verdict> {
    match k {
        Some(k) => Ok(one_core(audit, steps, k)),
        None => all_cores(audit, steps),
    }
}

fn one_core<L: Lookup>(audit: &Audit<'_>, steps: &L, k: u32) -> Verdict {
    let left = |v: LocalId, row: Row<'_>| {
        let own = steps.get(v);
        row.count(|u| steps.get(u) >= own)
    };
    let scan = audit.scan(DEGREE, |v, member, row, (): &mut ()| {
        let left = left(v, row);
        match (member, steps.get(v) == L::INFINITE) {
            (1, true) => left >= k.into(),
            (0, false) => left < k.into(),
            _ => false,
        }
    });
    let rule = "members of the core, and no others, keep k neighbours when vertices go in the order kept";
    scan.broken.map_or(Verdict::Sound, |v| {
        Verdict::require(false, rule, Some(audit.id(v)), || {
            let (member, left) = (audit.values(DEGREE).get(v), audit.again(v, |row| left(v, row)));
            format!("found {member}, removed in step {}, with {left} neighbours left", steps.value(v) as i32)
        })
    })
}

fn all_cores<L: Lookup>(audit: &mut Audit<'_>, steps: &L) -> Result<Verdict> {
    let rows = audit.rows();
    // No core number is above a degree, so the lists stay as short as the graph makes them.
    let noted = audit.survey(DEGREE, |v, core, stretches: &mut Vec<Stretch>| {
        if core as usize <= rows.of(v).len() {
            if stretches.len() <= core as usize {
                stretches.resize(core as usize + 1, (u32::MAX, 0));
            }
            let ((first, last), step) = (&mut stretches[core as usize], steps.value(v));
            (*first, *last) = ((*first).min(step), (*last).max(step));
        }
    });
    let mine: Vec<u64> = noted
        .iter()
        .flat_map(|stretches| stretches.iter().enumerate().filter(|(_, (first, last))| first <= last))
        .flat_map(|(core, &(first, last))| [core as u64, first.into(), last.into()])
        .collect();
    let mut stretches: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for triple in audit.collectives.gather(&mine)?.iter().flat_map(|words| words.chunks_exact(3)) {
        let (first, last) = stretches.entry(triple[0]).or_insert((u64::MAX, 0));
        (*first, *last) = ((*first).min(triple[1]), (*last).max(triple[2]));
    }
    let mut in_order = stretches.iter().zip(stretches.iter().skip(1));
    if let Some(((low, (_, last)), (high, (first, _)))) = in_order.find(|((_, low), (_, high))| low.1 >= high.0) {
        let rule = "a vertex of smaller core number goes before one of larger";
        // The pass is made all the same, for its sums.
        audit.scan(DEGREE, |_, _, _, (): &mut ()| true);
        return Ok(Verdict::require(false, rule, None, || {
            format!("core {low} ends with step {last}, core {high} begins with step {first}")
        }));
    }
    let longest = noted.iter().map(Vec::len).max().unwrap_or(0);
    // As the copy has them; what does not fit into it is the first step of no vertex here.
    let mut first_of = vec![L::INFINITE; longest];
    for (&core, &(first, _)) in &stretches {
        if let Some(slot) = first_of.get_mut(core as usize) {
            *slot = first.min(L::INFINITE.into()) as u32;
        }
    }
    // Neighbours of at least the same core number, and those not gone before.
    let counts = |v: LocalId, core: u32, row: Row<'_>| {
        let (first, own) = (first_of.get(core as usize).copied().unwrap_or(0), steps.get(v));
        row.fold((0u64, 0u64), |(peers, left), u| {
            let theirs = steps.get(u);
            (peers + u64::from(theirs >= first), left + u64::from(theirs >= own))
        })
    };
    let scan = audit.scan(DEGREE, |v, core, row, (): &mut ()| {
        let (peers, left) = counts(v, core, row);
        u64::from(core) <= row.len() as u64 && peers >= core.into() && left <= core.into()
    });
    let rule =
        "a core number is backed by as many neighbours of at least that number, and by no more when the vertex goes";
    Ok(scan.broken.map_or(Verdict::Sound, |v| {
        Verdict::require(false, rule, Some(audit.id(v)), || {
            let core = audit.values(DEGREE).get(v);
            let (peers, left) = audit.again(v, |row| counts(v, core, row));
            format!("found {core}, with {peers} such neighbours, and {left} left in step {}", steps.value(v) as i32)
        })
    }))
}
