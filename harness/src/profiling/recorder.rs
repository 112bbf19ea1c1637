//! What a rank remembers of its run: every span and what each superstep worked on, in memory, without a look at the clock of its own.

use super::{nvtx, stage};
use framework::base::probe::{Activity, Probe, RangeHooks, Stage};
use std::ops::Range;
use std::time::Duration;

/// Spans kept of a rank: 640 MB. What comes after is counted only, and the trace is no longer whole.
const SPANS_MAX: usize = 1 << 24;

/// One rank's recording.
#[derive(Debug)]
pub struct Recorder {
    spans_max: usize,
    spans: Vec<Span>,
    supersteps: Vec<Superstep>,
    /// Spans of the checker, with the place of their superstep.
    checked: Vec<(u64, Span)>,
    completed: u64,
    dropped_supersteps: u64,
    dropped_spans: u64,
    ranges: nvtx::Ranges,
}

/// A stage that ran, from the start of the trial.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Span {
    pub(super) stage: Stage,
    pub(super) iteration: u32,
    pub(super) begin: Duration,
    pub(super) end: Duration,
}

/// A superstep that ran; a redone one is there each time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Superstep {
    pub(super) iteration: u32,
    pub(super) activity: Activity,
    /// The number of spans before it.
    first_span: usize,
}

impl Default for Recorder {
    fn default() -> Recorder {
        Recorder {
            spans_max: SPANS_MAX,
            spans: Vec::new(),
            supersteps: Vec::new(),
            checked: Vec::new(),
            completed: 0,
            dropped_supersteps: 0,
            dropped_spans: 0,
            ranges: nvtx::Ranges::default(),
        }
    }
}

impl Probe for Recorder {
    fn begin(&mut self, stage: Stage, is_multi: bool) {
        self.ranges.open(stage::name(stage, is_multi));
    }

    fn end(&mut self) {
        self.ranges.close();
    }

    fn superstep_ends(&mut self) {
        self.ranges.close();
    }

    fn span(&mut self, stage: Stage, iteration: u32, begin: Duration, end: Duration) {
        if self.spans.len() < self.spans_max {
            self.spans.push(Span { stage, iteration, begin, end });
        } else {
            self.dropped_spans += 1;
        }
    }

    const WANTS_CHECKER: bool = true;
    const RANGES: Option<&'static RangeHooks> = Some(&nvtx::HOOKS);

    fn checked(&mut self, row: u64, stage: Stage, iteration: u32, begin: Duration, end: Duration) {
        if self.checked.len() < self.spans_max {
            self.checked.push((row, Span { stage, iteration, begin, end }));
        } else {
            self.dropped_spans += 1;
        }
    }

    fn superstep(&mut self, iteration: u32) {
        self.ranges.open_iteration(iteration);
        if self.spans.len() < self.spans_max {
            let (activity, first_span) = (Activity::default(), self.spans.len());
            self.supersteps.push(Superstep { iteration, activity, first_span });
        } else {
            self.dropped_supersteps += 1;
        }
    }

    fn activity(&mut self, _: u32, activity: Activity) {
        self.completed += 1;
        if self.dropped_supersteps == 0
            && let Some(superstep) = self.supersteps.last_mut()
        {
            superstep.activity = activity;
        }
    }
}

impl Recorder {
    /// All spans in the order of time.
    pub(super) fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Spans of the checker, in the order of verdicts.
    pub(super) fn checked(&self) -> impl Iterator<Item = &Span> {
        self.checked.iter().map(|(_, span)| span)
    }

    /// Each superstep with the time in each of the stages. What comes before the first (agreement on `init`) counts to it, and
    /// what comes after the last (`finish`) to that one, so the sums are those of the run.
    pub(super) fn supersteps(
        &self,
        stages: &'static [Stage],
    ) -> impl Iterator<Item = (Superstep, Vec<(Stage, Duration)>)> {
        let mut checked: Vec<Vec<&Span>> = vec![Vec::new(); self.supersteps.len()];
        for (row, span) in &self.checked {
            if let Some(own) = checked.get_mut(*row as usize) {
                own.push(span);
            }
        }
        self.supersteps.iter().enumerate().map(move |(place, &superstep)| {
            let spans = self.spans[self.spans_of(place)].iter().chain(checked[place].iter().copied());
            let took = |stage| (stage, spans.clone().filter(|s| s.stage == stage).map(|s| s.end - s.begin).sum());
            (superstep, stages.iter().copied().map(took).collect())
        })
    }

    fn spans_of(&self, place: usize) -> Range<usize> {
        let begin = if place == 0 { 0 } else { self.supersteps[place].first_span };
        begin..self.supersteps.get(place + 1).map_or(self.spans.len(), |next| next.first_span)
    }

    /// Supersteps that ran to the end, kept or not.
    pub(super) fn completed(&self) -> u64 {
        self.completed
    }

    /// Supersteps and spans not kept.
    pub(super) fn dropped(&self) -> (u64, u64) {
        (self.dropped_supersteps, self.dropped_spans)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(spans_max: usize, iterations: &[u32]) -> Recorder {
        let mut recorder = Recorder { spans_max, ..Recorder::default() };
        let mut now = 0;
        let mut span = |recorder: &mut Recorder, stage, iteration, took| {
            now += took;
            recorder.span(stage, iteration, Duration::from_nanos(now - took), Duration::from_nanos(now));
        };
        span(&mut recorder, Stage::Setup, 0, 1000);
        span(&mut recorder, Stage::Agree, 0, 100);
        for &iteration in iterations {
            recorder.superstep(iteration);
            span(&mut recorder, Stage::GraphUpdate, iteration, 10);
            recorder.activity(iteration, Activity { owned: 9, active: iteration.into(), ..Activity::default() });
            span(&mut recorder, Stage::Exchange, iteration, 3);
            span(&mut recorder, Stage::Agree, iteration, 1);
        }
        span(&mut recorder, Stage::GraphUpdate, 1, 7);
        recorder
    }

    fn nanos(recorder: &Recorder) -> Vec<(u32, u64, [u128; 3])> {
        let row = |(superstep, stages): (Superstep, Vec<(Stage, Duration)>)| {
            let took = stages.iter().map(|(_, took)| took.as_nanos()).collect::<Vec<_>>();
            (superstep.iteration, superstep.activity.active, took.try_into().expect("three stages"))
        };
        recorder.supersteps(&[Stage::GraphUpdate, Stage::Exchange, Stage::Agree]).map(row).collect()
    }

    #[test]
    fn every_span_of_the_loop_counts_to_one_superstep() {
        assert_eq!(nanos(&recorded(99, &[0, 1])), [(0, 0, [10, 3, 101]), (1, 1, [17, 3, 1])]);
    }

    #[test]
    fn a_redone_superstep_has_a_row_each_time() {
        let recorder = recorded(99, &[0, 1, 0, 1]);
        assert_eq!(nanos(&recorder)[2..], [(0, 0, [10, 3, 1]), (1, 1, [17, 3, 1])]);
        assert_eq!((recorder.completed(), recorder.dropped()), (4, (0, 0)));
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let recorder = recorded(5, &[0, 1, 2]);
        assert_eq!(nanos(&recorder).len(), 1);
        assert_eq!((recorder.completed(), recorder.dropped()), (3, (2, 7)));
    }
}
