//! A run and its certificate with a hand in between: what a wrong answer, or wrong evidence, is told.

use crate::algorithm::GraphAlgorithm;
use crate::base::error::{Error, Result};
use crate::base::probe::Off;
use crate::driver::clock::Clock;
use crate::driver::drive;
use crate::driver::guard::Unguarded;
use crate::exchange::Exchange;
use crate::fault_tolerance::{Certificate, CertificateInput};
use crate::field::State;
use crate::graph::Graph;
use crate::host::Pool;
use crate::partition::Part;
use crate::step::Step;
use crate::transport::{LocalTransport, Transport, local};
use crate::trial::Placement;
use std::time::{Duration, Instant};

/// What one rank says of its part, and how long its certificate took.
#[derive(Debug)]
pub struct CertificateResult {
    /// The certificate; `None` if the plugin has none.
    pub certificate: Option<Certificate>,
    /// The time of the certificate alone.
    pub took: Duration,
}

/// Runs the algorithm without protection; then, as many times as there are attempts, lets `tamper` change each rank's state and
/// judges it. Attempts follow each other in one state: the first finds that of the run. By attempt, then rank.
///
/// # Errors
/// Whatever the run reports.
pub fn judge(
    graph: &Graph,
    place: Placement,
    make: &(dyn Fn() -> Result<Box<dyn GraphAlgorithm>> + Sync),
    attempts: usize,
    tamper: &(dyn Fn(&mut Step<'_>, usize) + Sync),
) -> Result<Vec<Vec<CertificateResult>>> {
    let ends = local(place.ranks, place.waiting());
    let on_rank = |end: LocalTransport| one_rank(graph, place, make, attempts, tamper, end);
    std::thread::scope(|scope| {
        let ranks: Vec<_> = ends.into_iter().map(|end| scope.spawn(|| on_rank(end))).collect();
        let gone = |_| Err(Error::Environment("a rank panicked; its message is above".into()));
        let mut by_attempt: Vec<Vec<CertificateResult>> = (0..attempts).map(|_| Vec::new()).collect();
        for rank in ranks {
            let judged = rank.join().unwrap_or_else(gone)?;
            by_attempt.iter_mut().zip(judged).for_each(|(attempt, judged)| attempt.push(judged));
        }
        Ok(by_attempt)
    })
}

fn one_rank(
    graph: &Graph,
    place: Placement,
    make: &(dyn Fn() -> Result<Box<dyn GraphAlgorithm>> + Sync),
    attempts: usize,
    tamper: &(dyn Fn(&mut Step<'_>, usize) + Sync),
    mut transport: LocalTransport,
) -> Result<Vec<CertificateResult>> {
    let panicking = AbortOnPanic(&mut transport);
    let transport: &mut dyn Transport = panicking.0;
    let pool = Pool::new(place.threads, place.waiting());
    let mut algorithm = make()?;
    algorithm.prepare(graph)?;
    algorithm.enable_certificate_fields();
    let mut part = Part::cut(graph, transport, &pool)?;
    part.record_arc_sums(&pool);
    let mut step = Step::new(&part, &pool, algorithm.fields(), algorithm.layout())?;
    let start = algorithm.init(&mut step)?;
    let mut exchange = Exchange::new(transport);
    exchange.run_initial(&mut step)?;
    let mut clock = Clock::new(Instant::now(), place.ranks > 1, Off);
    let end = drive(algorithm.as_mut(), &mut step, &mut exchange, &mut Unguarded, &mut clock, Some(&start))?;
    let protection = algorithm.protection();
    let mut judged = Vec::with_capacity(attempts);
    for attempt in 0..attempts {
        tamper(&mut step, attempt);
        let mut input = CertificateInput {
            part: &part,
            ids: graph.ids(),
            state: State::of(&step.fields),
            transport: exchange.transport(),
            pool: &pool,
            supersteps: end.iterations,
        };
        let began = Instant::now();
        let certificate = protection.as_ref().map(|protection| protection.postcheck(&mut input)).transpose()?;
        judged.push(CertificateResult { certificate: certificate.flatten(), took: began.elapsed() });
    }
    Ok(judged)
}

/// Tells the peers when this rank stops early.
struct AbortOnPanic<'a>(&'a mut LocalTransport);

impl Drop for AbortOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.abandon("it panicked");
        }
    }
}
