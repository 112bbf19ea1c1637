//! The answer of all ranks on rank 0, and whether it is the one that was certified.

use crate::answer::AnswerSpec;
use crate::base::checksum::answer_sum;
use crate::base::error::{Error, Result};
use crate::base::id::Rank;
use crate::base::probe::{Probe, Stage};
use crate::driver::clock::Clock;
use crate::exchange::Exchange;
use crate::field::Kind;
use crate::step::Step;
use crate::transport::Transport;

/// The answer on rank 0, as a stage of the clock.
pub(super) fn gathered<P: Probe>(
    spec: &AnswerSpec,
    step: &mut Step<'_>,
    exchange: &mut Exchange<'_>,
    clock: &mut Clock<P>,
) -> Result<Option<Vec<u8>>> {
    clock.stage(Stage::FinalResult, 0, || gather(step, spec, exchange.transport()))
}

/// What a gathered answer sums to, as certificates sum it.
fn sum_of(spec: &AnswerSpec, raw: &[u8]) -> u64 {
    fn sum<const N: usize>(raw: &[u8], bits: impl Fn([u8; N]) -> u64) -> u64 {
        let values = raw.as_chunks::<N>().0.iter().enumerate();
        values.fold(0, |sum, (global, &value)| answer_sum(sum, global as u32, bits(value)))
    }
    match spec.field.kind {
        Kind::U32 => sum(raw, |value: [u8; 4]| u32::from_le_bytes(value).into()),
        Kind::F64 => sum(raw, u64::from_le_bytes),
    }
}

/// Whether the gathered answer is the one that was certified, as rank 0 tells all. True where there is no certificate.
pub(super) fn is_certified(
    spec: &AnswerSpec,
    raw: &Option<Vec<u8>>,
    sum: Option<u64>,
    transport: &mut dyn Transport,
) -> Result<bool> {
    let Some(sum) = sum else { return Ok(true) };
    let is_same = raw.as_ref().is_none_or(|raw| sum_of(spec, raw) == sum);
    let mut all = vec![Vec::new(); transport.ranks()];
    transport.all_gather(&[u8::from(is_same)], &mut all)?;
    Ok(all.iter().all(|theirs| *theirs == [1]))
}

/// Refuses a gathered answer that is not the one that was certified.
pub(super) fn check_sum(spec: &AnswerSpec, raw: &[u8], sum: u64) -> Result<()> {
    let found = sum_of(spec, raw);
    if found == sum {
        return Ok(());
    }
    Err(Error::Answer(format!(
        "the answer changed after it was certified (its sum is {found:016x}, certified was {sum:016x}); run again"
    )))
}

/// The owned values of the answer field from all ranks, in global order, on rank 0.
fn gather(step: &mut Step<'_>, spec: &AnswerSpec, transport: &mut dyn Transport) -> Result<Option<Vec<u8>>> {
    let mine = step.raw_owned(spec.field)?;
    if transport.ranks() == 1 {
        return Ok(Some(mine));
    }
    let mut outgoing = vec![Vec::new(); transport.ranks()];
    let mut incoming = outgoing.clone();
    outgoing[0] = mine;
    transport.exchange(&mut outgoing, &mut incoming)?;
    if transport.rank() != Rank(0) {
        return Ok(None);
    }
    let bytes = match spec.field.kind {
        Kind::U32 => 4,
        Kind::F64 => 8,
    };
    let whole = incoming.concat();
    if whole.len() != step.part.graph_vertices() * bytes {
        return Err(Error::Environment(format!(
            "the ranks gathered {} bytes of the answer, {} belong to it; run again, and report it if it repeats",
            whole.len(),
            step.part.graph_vertices() * bytes
        )));
    }
    Ok(Some(whole))
}
