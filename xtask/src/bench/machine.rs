//! The machine under the figures: what it is, whether its cores are all ours, and who else used them meanwhile.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// Share of the machine that others may use during a sample before it is called disturbed.
pub(crate) const FOREIGN_MAX: f64 = 0.05;

/// Model, cores and memory in one line.
pub(crate) fn describe() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let value = |text: &str, key: &str| {
        let line = text.lines().find(|line| line.starts_with(key)).and_then(|line| line.split_once(':'));
        line.map_or_else(|| "unknown".to_owned(), |(_, value)| value.trim().to_owned())
    };
    let model = value(&read("/proc/cpuinfo"), "model name");
    let memory = value(&read("/proc/meminfo"), "MemTotal");
    let gib = memory.split_whitespace().next().and_then(|kib| kib.parse::<f64>().ok()).map(|kib| kib / 1048576.0);
    format!("{model}, {} cores, {:.0} GiB", cores(), gib.unwrap_or(0.0))
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Time of one barrier of that many threads: the sign of where the host puts the cores, and of a mask that squeezes
/// threads on one core (children inherit it, and every figure would be wrong).
///
/// # Errors
/// When this process may use fewer cores than threads are asked for.
pub(crate) fn barrier_ns(threads: usize) -> Result<f64> {
    const ROUNDS: usize = 2000;
    if cores() < threads {
        bail!(
            "this process may run on {} cores, fewer than {threads} threads; see taskset, or lower --threads",
            cores()
        );
    }
    let arrived = AtomicUsize::new(0);
    let wait = |round: usize| {
        // Relaxed would do for the count alone; acquire and release make it the barrier that engines use.
        arrived.fetch_add(1, Ordering::AcqRel);
        while arrived.load(Ordering::Acquire) < (round + 1) * threads {
            std::hint::spin_loop();
        }
    };
    let elapsed = std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|| (0..ROUNDS).for_each(wait));
        }
        wait(0); // all are here
        let start = Instant::now();
        (1..ROUNDS).for_each(wait);
        start.elapsed()
    });
    Ok(elapsed.as_nanos() as f64 / (ROUNDS - 1) as f64)
}

/// Watches how much of the machine others use. Linux; elsewhere it sees nothing.
pub(crate) struct Watch {
    start: Instant,
    busy: f64,
    ours: f64,
}

/// The kernel counts cpu time in hundredths of a second (USER_HZ, fixed in its interface).
const TICKS_PER_S: f64 = 100.0;

impl Watch {
    pub(crate) fn start(peer: Option<u32>) -> Self {
        Self { start: Instant::now(), busy: busy_ticks(), ours: own_ticks(peer) }
    }

    /// The share of all cores, 0 to 1, that went to processes other than ours, our ended children and `peer`.
    pub(crate) fn foreign(&self, peer: Option<u32>) -> f64 {
        let wall = self.start.elapsed().max(Duration::from_millis(1)).as_secs_f64();
        let foreign = (busy_ticks() - self.busy) - (own_ticks(peer) - self.ours);
        (foreign / TICKS_PER_S / (wall * cores() as f64)).clamp(0.0, 1.0)
    }
}

/// All cores' time that was not idle or waiting for disks.
fn busy_ticks() -> f64 {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let fields: Vec<f64> =
        stat.lines().next().unwrap_or_default().split_whitespace().skip(1).map(|w| w.parse().unwrap_or(0.0)).collect();
    // user nice system idle iowait irq softirq steal; guest is in user already
    [0, 1, 2, 5, 6, 7].iter().filter_map(|&i| fields.get(i)).sum()
}

fn own_ticks(peer: Option<u32>) -> f64 {
    let of = |who: &str, from: usize, to: usize| -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{who}/stat")).unwrap_or_default();
        // The command's name, in brackets, may hold blanks; user time is the 12th field after it.
        let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
        fields.skip(from).take(to - from).map(|w| w.parse().unwrap_or(0.0)).sum()
    };
    of("self", 11, 15) + peer.map_or(0.0, |pid| of(&pid.to_string(), 11, 13))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_work_is_not_foreign() {
        let watch = Watch::start(None);
        let start = Instant::now();
        while own_ticks(None) < watch.ours + 2.0 && start.elapsed() < Duration::from_secs(20) {
            std::hint::spin_loop();
        }
        assert!(own_ticks(None) >= watch.ours + 2.0, "spinning must show as our own time");
        assert!((0.0..=1.0).contains(&watch.foreign(None)));
    }

    #[test]
    fn more_threads_than_cores_are_refused() {
        assert!(barrier_ns(cores() + 1).is_err());
    }
}
