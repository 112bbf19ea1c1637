//! The profiling profile: what each rank did in each superstep, kept in memory during the run and shown after it.

use crate::instrument::Instrument;
use crate::people;
use framework::error::Result;
use framework::id::Rank;
use framework::probe::{Activity, Probe, Stage};
use framework::run::RankReport;
use std::time::Duration;

/// In every line that this profile writes, and by which a program that holds it can be told.
pub const MARK: &str = "graphalg-trace";

/// Records every superstep.
#[derive(Clone, Copy, Debug)]
pub struct Profiling;

/// One rank's recording.
#[derive(Default, Debug)]
pub struct Recorder {
    rounds: Vec<Round>,
}

/// What one superstep did.
#[derive(Clone, Copy, Default, Debug)]
struct Round {
    owned: u64,
    active: u64,
    stages: [Duration; 3],
}

impl Recorder {
    fn round(&mut self, iteration: u32) -> &mut Round {
        let place = iteration as usize;
        if self.rounds.len() <= place {
            self.rounds.resize(place + 1, Round::default());
        }
        &mut self.rounds[place]
    }
}

impl Probe for Recorder {
    fn span(&mut self, stage: Stage, iteration: u32, begin: Duration, end: Duration) {
        let place = match stage {
            Stage::GraphUpdate => 0,
            Stage::Exchange => 1,
            Stage::Agree => 2,
            Stage::Setup | Stage::InitialExchange | Stage::FinalResult => return,
        };
        self.round(iteration).stages[place] += end - begin;
    }

    fn activity(&mut self, iteration: u32, activity: Activity) {
        let round = self.round(iteration);
        (round.owned, round.active) = (activity.owned, activity.active);
    }
}

impl Instrument for Profiling {
    type Probe = Recorder;
    const PROFILE: &'static str = "profiling";

    fn probe(&self, _: Rank) -> Recorder {
        Recorder::default()
    }

    fn keep(&self, trial: u32, ranks: &[RankReport<Recorder>]) -> Result<()> {
        people::say(&format!("{MARK}: trial {trial}, by rank and superstep (times in ms; they include the recording)"));
        people::say("rank  superstep  active of owned        update  exchange     agree");
        for (rank, report) in ranks.iter().enumerate() {
            for (superstep, round) in report.probe.rounds.iter().enumerate() {
                let [update, exchange, agree] = round.stages.map(|time| time.as_secs_f64() * 1e3);
                let share = format!("{} of {}", round.active, round.owned);
                people::say(&format!(
                    "{rank:>4}  {superstep:>9}  {share:<19}  {update:>8.4}  {exchange:>8.4}  {agree:>8.4}"
                ));
            }
        }
        Ok(())
    }
}
