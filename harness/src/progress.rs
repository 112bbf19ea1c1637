//! The progress bar: what is being read, then the superstep and the share of vertices active in it.
//!
//! It shows only what the run publishes anyway through a few shared numbers, so a run without a bar pays for none of it.

use crate::options::Progress;
use framework::base::probe::{Activity, Probe, RangeHooks, Stage};
use framework::graph::LoadStage;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often the bar looks at the numbers; also how long a run must take for a bar to appear.
const EVERY: Duration = Duration::from_millis(100);

/// Whether a bar is wanted and possible.
pub(crate) fn is_wanted(progress: Progress) -> bool {
    match progress {
        Progress::Auto => std::io::stderr().is_terminal(),
        Progress::On => true,
        Progress::Off => false,
    }
}

/// A bar for loading.
pub(crate) struct LoadBar {
    bar: ProgressBar,
}

impl LoadBar {
    pub(crate) fn new(is_wanted: bool) -> Option<LoadBar> {
        let style = ProgressStyle::with_template("{msg:>7} [{wide_bar}] {bytes} of {total_bytes}").ok()?;
        is_wanted.then(|| LoadBar { bar: ProgressBar::new(0).with_style(style) })
    }

    pub(crate) fn tell(&self, stage: LoadStage, done: u64, total: u64) {
        self.bar.set_message(match stage {
            LoadStage::Unpack => "unpack",
            LoadStage::Read => "read",
            LoadStage::Build => "build",
        });
        self.bar.set_length(total);
        self.bar.set_position(done);
    }
}

impl Drop for LoadBar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// What rank 0 publishes.
#[derive(Default)]
struct Seen {
    superstep: AtomicU32,
    active: AtomicU64,
    owned: AtomicU64,
    is_over: AtomicBool,
}

/// A probe that publishes the superstep and passes everything on.
pub(crate) struct Watched<P> {
    pub(crate) inner: P,
    seen: Option<Arc<Seen>>,
}

impl<P: Probe> Probe for Watched<P> {
    fn begin(&mut self, stage: Stage, is_multi: bool) {
        self.inner.begin(stage, is_multi);
    }

    fn span(&mut self, stage: Stage, iteration: u32, begin: Duration, end: Duration) {
        self.inner.span(stage, iteration, begin, end);
    }

    fn end(&mut self) {
        self.inner.end();
    }

    fn superstep(&mut self, iteration: u32) {
        self.inner.superstep(iteration);
    }

    fn superstep_ends(&mut self) {
        self.inner.superstep_ends();
    }

    const WANTS_CHECKER: bool = P::WANTS_CHECKER;
    const RANGES: Option<&'static RangeHooks> = P::RANGES;

    fn checked(&mut self, row: u64, stage: Stage, iteration: u32, begin: Duration, end: Duration) {
        self.inner.checked(row, stage, iteration, begin, end);
    }

    fn activity(&mut self, iteration: u32, activity: Activity) {
        if let Some(seen) = &self.seen {
            seen.superstep.store(iteration, Relaxed);
            seen.active.store(activity.active, Relaxed);
            seen.owned.store(activity.owned, Relaxed);
        }
        self.inner.activity(iteration, activity);
    }
}

/// A bar for a run, drawn by a thread of its own.
pub(crate) struct RunBar {
    seen: Arc<Seen>,
    painter: Option<JoinHandle<()>>,
}

impl RunBar {
    pub(crate) fn start() -> RunBar {
        let seen = Arc::new(Seen::default());
        let painter = std::thread::spawn({
            let seen = Arc::clone(&seen);
            move || paint(&seen)
        });
        RunBar { seen, painter: Some(painter) }
    }

    /// A probe that the bar follows if `is_first`.
    pub(crate) fn watch<P: Probe>(&self, inner: P, is_first: bool) -> Watched<P> {
        Watched { inner, seen: is_first.then(|| Arc::clone(&self.seen)) }
    }
}

impl Drop for RunBar {
    fn drop(&mut self) {
        self.seen.is_over.store(true, Relaxed);
        if let Some(painter) = self.painter.take() {
            painter.thread().unpark();
            // A painter that panicked has nothing to clean up.
            let _ = painter.join();
        }
    }
}

fn paint(seen: &Seen) {
    let bar = ProgressBar::new_spinner();
    while !seen.is_over.load(Relaxed) {
        std::thread::park_timeout(EVERY);
        let (active, owned) = (seen.active.load(Relaxed), seen.owned.load(Relaxed).max(1));
        if !seen.is_over.load(Relaxed) {
            let share = 100.0 * active as f64 / owned as f64;
            bar.set_message(format!("superstep {}: {share:.1} % active", seen.superstep.load(Relaxed)));
            bar.tick();
        }
    }
    bar.finish_and_clear();
}
