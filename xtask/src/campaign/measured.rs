//! A program's time and memory.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// The kernel counts cpu time in hundredths of a second (USER_HZ, fixed in its interface).
const TICKS_PER_S: f64 = 100.0;

/// What a run took.
pub(crate) struct Measured {
    pub(crate) wall_s: f64,
    /// User and system time.
    pub(crate) cpu_s: f64,
    /// The largest resident set, in bytes, mapped files included. The kernel keeps it; it is asked every millisecond, so what was
    /// reached within the last one before the end may be missed.
    pub(crate) peak_bytes: u64,
    pub(crate) stdout: Vec<u8>,
}

/// Runs a program to its end.
///
/// # Errors
/// When it does not start or fails.
pub(crate) fn run(command: &mut Command) -> Result<Measured> {
    let before = children_ticks();
    let start = Instant::now();
    let mut child = command.stdout(Stdio::piped()).spawn().with_context(|| format!("{command:?} does not start"))?;
    let mut out = child.stdout.take().context("stdout was asked for")?;
    let reader = std::thread::spawn(move || {
        let mut text = Vec::new();
        std::io::Read::read_to_end(&mut out, &mut text).map(|_| text)
    });
    let status_file = format!("/proc/{}/status", child.id());
    let mut peak_bytes = 0;
    let status = loop {
        peak_bytes = peak_bytes.max(resident_peak(&status_file));
        if let Some(status) = child.try_wait()? {
            break status;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let wall_s = start.elapsed().as_secs_f64();
    let stdout = reader.join().map_err(|_| anyhow::anyhow!("reading its output panicked"))??;
    if !status.success() {
        bail!("{command:?}: {status}");
    }
    Ok(Measured { wall_s, cpu_s: (children_ticks() - before) / TICKS_PER_S, peak_bytes, stdout })
}

fn resident_peak(status_file: &str) -> u64 {
    let status = fs::read_to_string(status_file).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.split_whitespace().next()).and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// Time of children that have ended.
fn children_ticks() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The command's name, in brackets, may hold blanks; the children's user and system time are the 14th and 15th field after it.
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
    fields.skip(13).take(2).map(|word| word.parse().unwrap_or(0.0)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_programs_memory_is_seen() {
        let measured = run(Command::new("sh").args(["-c", "sleep 0.05; echo done"])).expect("a shell");
        assert_eq!(measured.stdout, b"done\n");
        assert!(measured.peak_bytes > 0 && measured.wall_s >= 0.05, "{} {}", measured.peak_bytes, measured.wall_s);
        assert!(run(Command::new("sh").args(["-c", "exit 3"])).is_err());
    }
}
