//! After the loop: all ranks put their evidence together in one batch, then the plugin's certificate judges the answer.
//!
//! A run of which something was found and not undone passes only if the certificate holds; one whose certificate fails never passes.
//! A run that is not done where every sound one is ([`FaultTolerance::converges`]) is refuted like one whose certificate fails.

use super::Recovery;
use super::evidence::{Certified, Detection, Detector, Evidence, NONE};
use super::guard::ProtectedGuard;
use super::restore_points::Target;
use crate::algorithm::GraphAlgorithm;
use crate::base::error::{Error, Result};
use crate::base::id::Rank;
use crate::base::probe::{Probe, Stage};
use crate::base::verdict::{Finding, Verdict};
use crate::driver::clock::Clock;
use crate::driver::guard::{Guard, Next};
use crate::exchange::Exchange;
use crate::fault_tolerance::{CertificateInput, FaultTolerance};
use crate::field::State;
use crate::graph::Ids;
use crate::step::Step;
use crate::transport::Transport;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A transport whose calls are timed.
struct Timed<'a> {
    inner: &'a mut dyn Transport,
    spent: Duration,
}

impl Timed<'_> {
    fn timed<R>(&mut self, call: impl FnOnce(&mut dyn Transport) -> R) -> R {
        let begin = Instant::now();
        let result = call(self.inner);
        self.spent += begin.elapsed();
        result
    }
}

impl Transport for Timed<'_> {
    fn rank(&self) -> Rank {
        self.inner.rank()
    }
    fn ranks(&self) -> usize {
        self.inner.ranks()
    }
    fn exchange(&mut self, outgoing: &mut [Vec<u8>], incoming: &mut [Vec<u8>]) -> Result<()> {
        self.timed(|inner| inner.exchange(outgoing, incoming))
    }
    fn all_gather(&mut self, mine: &[u8], all: &mut [Vec<u8>]) -> Result<()> {
        self.timed(|inner| inner.all_gather(mine, all))
    }
    fn abandon(&mut self, reason: &str) {
        self.inner.abandon(reason);
    }
}

/// What the certificates of all ranks say together.
struct Judgement {
    certificate: Certified,
    finding: Option<Finding>,
    answer_sum: Option<u64>,
    bound: Option<f64>,
}

/// Asks the plugin's certificate on every rank.
fn certify(
    rules: &dyn FaultTolerance,
    ids: &Ids,
    step: &mut Step<'_>,
    transport: &mut dyn Transport,
) -> Result<Judgement> {
    let (part, pool, supersteps, mut copy) = (step.part, step.pool, step.index, None);
    let state = State::of(step.on_host(&mut copy)?);
    let mut input = CertificateInput { part, ids, state, transport, pool, supersteps };
    let mine = rules.postcheck(&mut input)?;
    let mut words = Vec::new();
    let bound = mine.as_ref().and_then(|mine| mine.bound);
    if let Some(mine) = &mine {
        words.extend_from_slice(&mine.answer_sum.to_le_bytes());
        if let Verdict::Corrupt(finding) = &mine.verdict {
            let parts = (&finding.rule, finding.vertex, &finding.evidence);
            words.extend(serde_json::to_vec(&parts).unwrap_or_else(|_| b"[]".to_vec()));
        }
    }
    let mut all = vec![Vec::new(); transport.ranks()];
    transport.all_gather(&words, &mut all)?;
    let mut judgement = Judgement { certificate: Certified::NotRun, finding: None, answer_sum: None, bound };
    for theirs in all.iter().filter(|theirs| !theirs.is_empty()) {
        let (sum, text) = theirs.split_first_chunk::<8>().ok_or_else(|| garbled("certificate"))?;
        let total = judgement.answer_sum.get_or_insert(0);
        *total = total.wrapping_add(u64::from_le_bytes(*sum));
        if text.is_empty() {
            if judgement.certificate == Certified::NotRun {
                judgement.certificate = Certified::Held;
            }
            continue;
        }
        judgement.certificate = Certified::Failed;
        let parts: Option<(String, Option<i64>, String)> = serde_json::from_slice(text).ok();
        let unread = || ("the certificate holds".into(), None, "its finding could not be read".into());
        let (rule, vertex, evidence) = parts.unwrap_or_else(unread);
        judgement.finding.get_or_insert(Finding { rule, vertex, evidence });
    }
    Ok(judgement)
}

impl ProtectedGuard<'_> {
    /// The batch, then the certificate; timed as field 14, communication inside it as 15.
    pub(super) fn postcheck<P: Probe>(
        &mut self,
        converged: bool,
        step: &mut Step<'_>,
        exchange: &mut Exchange<'_>,
        clock: &mut Clock<P>,
    ) -> Result<Next> {
        clock.begin(Stage::PostCheck);
        let begin = clock.started().elapsed();
        let mut timed = Timed { inner: exchange.transport(), spent: Duration::ZERO };
        let next = self.judge_run(converged, step, &mut timed)?;
        let spent = timed.spent;
        let end = clock.started().elapsed();
        clock.ended(Stage::PostCheck, step.index.saturating_sub(1), begin, end);
        clock.postcheck_communication(spent);
        Ok(next)
    }

    fn judge_run(&mut self, converged: bool, step: &mut Step<'_>, transport: &mut dyn Transport) -> Result<Next> {
        let suspect = self.batch(transport)?;
        if self.has_given_up {
            return Ok(Next::GiveUp);
        }
        if suspect != NONE {
            if self.protection.recovery == Recovery::Rollback {
                return Ok(self.recover(Target::Before(suspect)));
            }
            self.is_alarmed = true;
        }
        if converged && self.protection.certify {
            let judgement = certify(&*self.context.rules, self.context.ids, step, transport)?;
            (self.detection.certificate, self.detection.bound) = (judgement.certificate, judgement.bound);
            self.answer_sum = judgement.answer_sum;
            if let Some(finding) = judgement.finding {
                return Ok(self.refuse(finding));
            }
        }
        if let Some(last) = self.round.filter(|last| !converged && self.context.rules.converges(last)) {
            return Ok(self.refuse(Finding {
                rule: "a sound run is done before its limit".into(),
                vertex: None,
                evidence: format!("it is not after {} supersteps", last.index + 1),
            }));
        }
        let is_proved = self.detection.certificate == Certified::Held;
        Ok(if self.is_alarmed && !is_proved { Next::GiveUp } else { Next::GoOn })
    }

    /// What is there at the end cannot be right, and nothing says since when: the older slot comes first, then the start.
    fn refuse(&mut self, finding: Finding) -> Next {
        self.detection.refuted.get_or_insert(finding);
        self.refusals += 1;
        match self.protection.recovery {
            Recovery::Rollback => self.recover(if self.refusals == 1 { Target::OlderSlot } else { Target::Start }),
            Recovery::Off => Next::GiveUp,
        }
    }

    /// Reduces the evidence of all supersteps since the last batch; the earliest superstep that any rank suspects.
    pub(super) fn batch(&mut self, transport: &mut dyn Transport) -> Result<u32> {
        let evidence = self.checker.evidence().to_bytes();
        let mut mine = Vec::with_capacity(16 + evidence.len() + 16 * self.messages.len());
        mine.extend_from_slice(&u64::from(self.checker.suspect()).to_le_bytes());
        mine.extend_from_slice(&(evidence.len() as u64).to_le_bytes());
        mine.extend_from_slice(&evidence);
        for (_, sent, received) in &self.messages {
            mine.extend_from_slice(&sent.to_le_bytes());
            mine.extend_from_slice(&received.to_le_bytes());
        }
        self.checker.forget_suspect();
        let mut all = vec![Vec::new(); transport.ranks()];
        transport.all_gather(&mine, &mut all)?;
        let mut suspect = NONE;
        let mut sums = vec![0u64; self.messages.len()];
        let mut together = Evidence::default();
        for theirs in &all {
            let read = || {
                let (head, rest) = theirs.split_first_chunk::<8>()?;
                let (len, rest) = rest.split_first_chunk::<8>()?;
                let (evidence, sums) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*len)).ok()?)?;
                let suspect = u32::try_from(u64::from_le_bytes(*head)).ok()?;
                Some((suspect, Evidence::from_bytes(evidence)?, sums))
            };
            let (theirs, evidence, words) = read().ok_or_else(|| garbled("evidence"))?;
            suspect = suspect.min(theirs);
            together.merge(evidence);
            for (sum, pair) in sums.iter_mut().zip(words.chunks_exact(16)) {
                let word = |at: usize| u64::from_le_bytes(pair[at..at + 8].try_into().expect("eight bytes"));
                *sum = sum.wrapping_add(word(0)).wrapping_sub(word(8));
            }
        }
        let lost = self.messages.iter().zip(&sums).filter(|(_, sum)| **sum != 0).map(|((index, ..), _)| *index);
        for index in lost {
            // Where the checksum told already, the sums tell the same again.
            if together.trend.first.is_none_or(|first| index < first) {
                let (rule, evidence) = ("what was sent is what was received".into(), "the sums differ".into());
                together.add(Detector::Trend, 1, index, Finding { rule, vertex: None, evidence });
                suspect = suspect.min(index);
            }
        }
        self.messages.clear();
        self.detection.evidence.merge(together);
        Ok(suspect)
    }
}

/// The guard of an unprotected run whose answer is certified.
pub struct CertifyOnlyGuard<'r> {
    rules: Arc<dyn FaultTolerance>,
    ids: &'r Ids,
    detection: Detection,
    answer_sum: Option<u64>,
}

impl<'r> CertifyOnlyGuard<'r> {
    /// By these rules.
    pub fn new(rules: Arc<dyn FaultTolerance>, ids: &'r Ids) -> CertifyOnlyGuard<'r> {
        CertifyOnlyGuard { rules, ids, detection: Detection::default(), answer_sum: None }
    }

    /// What all ranks know of the run, and the sum that the gathered answer must have.
    pub fn into_detection(self) -> (Detection, Option<u64>) {
        (self.detection, self.answer_sum)
    }
}

impl Guard for CertifyOnlyGuard<'_> {
    type Vote = ();
    const UPDATE: Stage = Stage::GraphUpdate;

    fn certify_answer<P: Probe>(
        &mut self,
        converged: bool,
        _: &mut dyn GraphAlgorithm,
        step: &mut Step<'_>,
        exchange: &mut Exchange<'_>,
        clock: &mut Clock<P>,
    ) -> Result<Next> {
        if !converged {
            return Ok(Next::GoOn);
        }
        clock.begin(Stage::PostCheck);
        let begin = clock.started().elapsed();
        let mut timed = Timed { inner: exchange.transport(), spent: Duration::ZERO };
        let judgement = certify(&*self.rules, self.ids, step, &mut timed)?;
        let spent = timed.spent;
        let end = clock.started().elapsed();
        clock.ended(Stage::PostCheck, step.index.saturating_sub(1), begin, end);
        clock.postcheck_communication(spent);
        (self.detection.certificate, self.detection.bound) = (judgement.certificate, judgement.bound);
        self.detection.refuted = judgement.finding;
        self.answer_sum = judgement.answer_sum;
        Ok(if judgement.certificate == Certified::Failed { Next::GiveUp } else { Next::GoOn })
    }
}

fn garbled(what: &str) -> Error {
    Error::Environment(format!("a peer sent no {what} where it belongs; run again, and report it if it repeats"))
}
