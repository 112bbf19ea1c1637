//! Runs of a campaign: clean ones, then one for each strike, under a watchdog.

use super::record::{Broke, Outcome, Row};
use framework::algorithm::GraphAlgorithm;
use framework::answer::{Answer, Values};
use framework::base::checksum::split_mix;
use framework::base::error::{Error, Result};
use framework::base::probe::Off;
use framework::fault_injection::{InjectionRecord, Strike, struck_trial};
use framework::graph::Graph;
use framework::protect::{Certified, Protection};
use framework::trial::reload::{Loader, Reload};
use framework::trial::{Placement, Trial, TrialConfig, protected_trial};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Makes the algorithm.
pub(crate) type Make = dyn Fn() -> Result<Box<dyn GraphAlgorithm>> + Send + Sync;

/// What all runs of a campaign share.
pub(crate) struct Campaign {
    pub(crate) algorithm: &'static str,
    pub(crate) graph: Arc<Graph>,
    place: Placement<'static>,
    protection: Arc<Protection>,
    make: Arc<Make>,
    /// Where a struck graph comes from again.
    loader: Arc<Loader<'static>>,
    timeout: Duration,
    /// Two answers of reals are equal within this, in L1.
    bound: Option<f64>,
}

/// What clean runs gave.
pub(crate) struct Clean {
    pub(crate) answer: Answer,
    hash: String,
    pub(crate) iterations: u32,
    pub(crate) runs: u32,
    /// Runs in which something was found.
    pub(crate) false_alarms: u32,
}

/// The seed of a strike.
pub(crate) fn seed_of(campaign: u64, number: u32) -> u64 {
    split_mix(split_mix(campaign) ^ u64::from(number)) >> 11 // fits a JSON number
}

impl Campaign {
    /// Prepares one.
    ///
    /// # Errors
    /// When the options do not fit the graph.
    pub(crate) fn new(
        algorithm: &'static str,
        graph: Arc<Graph>,
        place: Placement<'static>,
        protection: Protection,
        make: Arc<Make>,
        loader: Arc<Loader<'static>>,
        timeout: u64,
    ) -> Result<Campaign> {
        let mut one = make()?;
        one.prepare(&graph)?;
        let parameters = one.parameters();
        let number = |key: &str| parameters.get(key).and_then(serde_json::Value::as_f64);
        // timing schema v9: two ranks are equal within 2 t d / (1 - d).
        let bound = number("tolerance").zip(number("damping")).map(|(t, d)| 2.0 * t * d / (1.0 - d));
        let timeout = Duration::from_secs(timeout);
        Ok(Campaign { algorithm, graph, place, protection: Arc::new(protection), make, loader, timeout, bound })
    }

    /// Runs without a strike.
    ///
    /// # Errors
    /// When one fails: then there is nothing to compare with.
    pub(crate) fn clean(&self, runs: u32) -> Result<Clean> {
        let mut clean: Option<Clean> = None;
        for _ in 0..runs {
            let plan = TrialConfig { place: self.place, protection: &self.protection, resumable: None, reload: None };
            let trial = protected_trial(&self.graph, &plan, &*self.make, &|_| Off)?;
            if !trial.end.converged {
                return Err(Error::usage("a run without a strike does not converge, so strikes have no right answer"));
            }
            let clean = clean.get_or_insert_with(|| Clean {
                hash: trial.answer.hash(),
                answer: trial.answer.clone(),
                iterations: trial.end.iterations,
                runs: 0,
                false_alarms: 0,
            });
            clean.runs += 1;
            clean.false_alarms += u32::from(found(&trial).is_some() || !trial.end.is_sound);
            if !self.is_equal(&trial.answer, clean) {
                return Err(Error::Answer("two runs without a strike give different answers".into()));
            }
        }
        clean.ok_or_else(|| Error::usage("there is no clean run; give --clean-runs of at least 1"))
    }

    fn is_equal(&self, answer: &Answer, clean: &Clean) -> bool {
        match (&answer.values, &clean.answer.values, self.bound) {
            (Values::Real(found), Values::Real(right), Some(bound)) => {
                let distance: f64 = found.iter().zip(right).map(|(a, b)| (a - b).abs()).sum();
                // False for NaN, which is not equal.
                found.len() == right.len() && distance <= bound
            }
            _ => answer.hash() == clean.hash,
        }
    }

    /// One strike and what became of it; whether it hit anything.
    ///
    /// # Errors
    /// When no thread can be started.
    pub(crate) fn strike(&self, number: u32, strike: Strike, clean: &Clean) -> Result<(Row, bool)> {
        let (sender, receiver) = channel();
        let (graph, protection, make, place) =
            (Arc::clone(&self.graph), Arc::clone(&self.protection), Arc::clone(&self.make), self.place);
        let loader = Arc::clone(&self.loader);
        let run = move || {
            let reload = Reload::from(&*loader);
            let plan = TrialConfig { place, protection: &protection, resumable: None, reload: Some(&reload) };
            // Nobody listens any more if the watchdog gave up.
            let _ = sender.send(struck_trial(&graph, &plan, &*make, strike));
        };
        std::thread::Builder::new()
            .spawn(run)
            .map_err(|error| Error::Environment(format!("no thread for a run: {error}; raise the limit of threads")))?;
        // A second wait: a process that was stopped and continued finds its first one over.
        let ended = match receiver.recv_timeout(self.timeout) {
            Err(RecvTimeoutError::Timeout) => receiver.recv_timeout(self.timeout),
            ended => ended,
        };
        Ok(self.row(number, strike, ended, clean))
    }

    fn row(
        &self,
        number: u32,
        strike: Strike,
        ended: Result<(Result<Trial<Off>>, Option<InjectionRecord>), RecvTimeoutError>,
        clean: &Clean,
    ) -> (Row, bool) {
        let (trial, hit, broke) = match ended {
            Err(RecvTimeoutError::Timeout) => (None, None, Some(Broke::Hung)),
            Err(RecvTimeoutError::Disconnected) => (None, None, Some(Broke::Panicked)),
            Ok((Err(Error::Panicked { .. }), hit)) => (None, hit, Some(Broke::Panicked)),
            Ok((Err(_), hit)) => (None, hit, None),
            Ok((Ok(trial), hit)) => (Some(trial), hit, None),
        };
        // Of a run that is lost nobody knows what it hit.
        let is_put_in = hit.is_some() || broke.is_some();
        let hit = hit.unwrap_or(InjectionRecord { iteration: strike.iteration, ..InjectionRecord::default() });
        let verdict = trial.as_ref().and_then(found);
        let is_accepted = trial.as_ref().is_some_and(|trial| trial.end.converged && trial.end.is_sound);
        let is_right = trial.as_ref().is_some_and(|trial| self.is_equal(&trial.answer, clean));
        let outcome = match (is_accepted, is_right, verdict) {
            (true, true, None) => Outcome::Masked,
            (true, true, Some(_)) => Outcome::DetectedRecovered,
            (true, false, _) => Outcome::Silent,
            (false, ..) => Outcome::DetectedUnrecovered,
        };
        // An error without a trial was found by the run itself.
        let (tier, at) = verdict.unwrap_or((u8::from(!is_accepted), None));
        let row = Row {
            strike: number,
            seed: strike.seed,
            algorithm: self.algorithm.into(),
            graph: self.graph.name().into(),
            ranks: self.place.ranks,
            model: strike.model.name().into(),
            target: strike.target.name().into(),
            rank: strike.rank.0,
            vertex: hit.vertex,
            field: hit.field,
            iteration: hit.iteration,
            bit: hit.bit,
            outcome,
            tier,
            verdict_iteration: at,
            delay_rounds: at.map(|at| at.saturating_sub(hit.iteration)),
            iterations_redone: trial.and_then(|trial| trial.detection).map_or(0, |found| found.iterations_redone),
            exit_code: u8::from(!is_accepted),
            broke,
        };
        (row, is_put_in)
    }
}

/// The tier that found something first, and the superstep of the finding.
fn found(trial: &Trial<Off>) -> Option<(u8, Option<u32>)> {
    let detection = trial.detection.as_ref()?;
    let evidence = &detection.evidence;
    let first = [evidence.dmr.first, evidence.monotonicity.first, evidence.trend.first].into_iter().flatten().min();
    if !evidence.is_clean() {
        return Some((1, first));
    }
    if detection.refuted.is_some() || detection.certificate == Certified::Failed {
        return Some((2, Some(trial.end.iterations.saturating_sub(1))));
    }
    // Restored on suspicion alone.
    (detection.recoveries > 0).then_some((1, None))
}
