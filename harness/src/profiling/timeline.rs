//! The spans of a rank as a Chrome trace: a process for the rank, a lane for each thing that runs beside the others.

use super::recorder::{Recorder, Span};
use super::stage::name;
use crate::records::Metadata;
use framework::base::probe::Stage;
use serde_json::{Map, Value, json};
use std::io::{self, Write};
use std::time::Duration;
use trace::chrome::Writer;
use trace::{Activity, Index, Kind, Names};

/// In every timeline that this profile writes, and by which a program that holds it can be told.
pub const MARK: &str = "graphalg profiling recorder";

/// Threads of the timeline, in the order in which they are shown. Only a protected run has work for the last two.
const LANES: [(u32, &str); 4] =
    [(COMPUTE, "compute"), (EXCHANGE, "exchange"), (3, "check stream"), (CHECKER, "checker worker")];
const COMPUTE: u32 = 1;
const EXCHANGE: u32 = 2;
const CHECKER: u32 = 4;

/// Writes the timeline of a rank.
pub(super) fn write(out: impl Write, run: &Metadata, rank: u32, is_multi: bool, recorder: &Recorder) -> io::Result<()> {
    let mut writer = Writer::new(out, &head(run, rank))?;
    writer.process(rank, &format!("rank {rank}"))?;
    for (tid, lane) in LANES {
        writer.lane(rank, tid, lane)?;
    }
    let mut names = Names::default();
    // Times from the end of a superstep to its verdict overlap, so they are in the tables only: in a lane nothing overlaps.
    let spans = recorder.spans().iter().chain(recorder.checked().filter(|span| span.stage == Stage::Validation));
    for span in spans {
        if let Some(name) = name(span.stage, is_multi) {
            let activity = activity(span, name, rank, is_multi, &mut names);
            writer.activity(&activity, &names)?;
        }
    }
    writer.finish().map(drop)
}

fn head(run: &Metadata, rank: u32) -> Map<String, Value> {
    let head = json!({
        "displayTimeUnit": "ms",
        "distributedInfo": {"rank": rank, "world_size": run.ranks},
        "otherData": {
            "producer": format!("{MARK} {}", run.product_version),
            "dataset": run.dataset,
            "algorithm": run.algorithm,
            "method": run.method,
            "instrumentation_profile": run.instrumentation_profile,
        },
    });
    head.as_object().cloned().unwrap_or_default()
}

fn activity(span: &Span, name: &str, rank: u32, is_multi: bool, names: &mut Names) -> Activity {
    let (kind, tid) = match span.stage {
        Stage::GraphUpdate | Stage::ScoreAndMark | Stage::ToleranceUpdate | Stage::Bookkeeping => {
            (Kind::Kernel, COMPUTE)
        }
        Stage::Setup | Stage::Drain | Stage::PostCheck => (Kind::Marker, COMPUTE),
        Stage::Validation | Stage::Verdict => (Kind::Marker, CHECKER),
        Stage::SummaryCopy => (Kind::MemCpy, CHECKER),
        Stage::FinalResult if !is_multi => (Kind::MemCpy, COMPUTE),
        Stage::InitialExchange | Stage::Exchange | Stage::Agree | Stage::FinalResult => (Kind::Communication, EXCHANGE),
    };
    let on_device = |number| if kind == Kind::Marker { None } else { Index::new(number) };
    let iteration = names.name("iteration");
    Activity {
        kind,
        name: names.name(name),
        start_ns: nanoseconds(span.begin),
        end_ns: nanoseconds(span.end),
        rank: Index::new(rank),
        device: on_device(rank),
        stream: on_device(tid),
        correlation: None,
        pid: rank,
        tid,
        detail: (span.stage.is_in_loop() || span.stage.is_of_checker())
            .then(|| names.detail(&[(iteration, span.iteration.into())])),
    }
}

/// A run lasts less than the 292 years that fit.
fn nanoseconds(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}
