//! One measured process, watched from outside: its own process group, killed whole when its time is over, gone with the runner.
#![allow(unsafe_code, reason = "a hook between fork and exec asks the kernel to end the child with the runner")]

use framework::base::error::{Error, Result};
use rustix::process::{Pid, Signal, kill_process_group};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// What came of it.
pub(crate) struct Outcome {
    pub(crate) exit_status: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) timed_out: bool,
    pub(crate) wall: Duration,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

/// Runs `argv` to its end or to `timeout`. Output goes to nameless files in `scratch`: a grandchild that keeps a pipe open cannot
/// hold the runner.
///
/// # Errors
/// When it cannot be started, or its output not kept.
pub(crate) fn run(
    argv: &[String],
    environment: &BTreeMap<String, String>,
    timeout: Duration,
    scratch: &Path,
) -> Result<Outcome> {
    let write = |source| Error::Write { path: scratch.into(), source };
    let mut out = tempfile::tempfile_in(scratch).map_err(write)?;
    let mut err = tempfile::tempfile_in(scratch).map_err(write)?;
    let mut command = Command::new(&argv[0]);
    command.args(&argv[1..]).envs(environment).stdin(Stdio::null()).process_group(0);
    command.stdout(out.try_clone().map_err(write)?).stderr(err.try_clone().map_err(write)?);
    dies_with_this_process(&mut command);

    let begin = Instant::now();
    let mut child =
        command.spawn().map_err(|error| Error::Environment(format!("{}: it does not start: {error}", argv[0])))?;
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let (ended, watch) = channel::<()>();
    let watcher = std::thread::spawn(move || {
        let is_late = watch.recv_timeout(timeout) == Err(RecvTimeoutError::Timeout);
        if let (true, Some(group)) = (is_late, group) {
            let _ = kill_process_group(group, Signal::KILL); // already gone is as good
        }
        is_late
    });
    let status = child.wait();
    let wall = begin.elapsed();
    drop(ended);
    let timed_out = watcher.join().unwrap_or(false);
    if let Some(group) = group {
        let _ = kill_process_group(group, Signal::KILL); // what it left running would disturb the next attempt
    }
    let status = status.map_err(|error| Error::Environment(format!("{}: cannot wait for it: {error}", argv[0])))?;
    let (stdout, stderr) = (whole(&mut out).map_err(write)?, whole(&mut err).map_err(write)?);
    Ok(Outcome { exit_status: status.code(), signal: status.signal(), timed_out, wall, stdout, stderr })
}

fn whole(file: &mut File) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut text)?;
    Ok(text)
}

/// Asks the kernel to kill the child when the thread that starts it ends, however that comes (kill -9 and Ctrl-C included).
fn dies_with_this_process(command: &mut Command) {
    #[cfg(target_os = "linux")]
    {
        let runner = std::process::id();
        let hook = move || {
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
            let parent = rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get());
            // The runner was killed between fork and the line above: nobody would end this process.
            if u32::try_from(parent) == Ok(runner) { Ok(()) } else { Err(std::io::ErrorKind::BrokenPipe.into()) }
        };
        // SAFETY: between fork and exec the hook makes two system calls and neither allocates nor takes a lock.
        unsafe {
            command.pre_exec(hook);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, timeout: Duration) -> Outcome {
        let argv = ["/bin/sh", "-c", script].map(str::to_owned);
        run(&argv, &BTreeMap::new(), timeout, &std::env::temp_dir()).expect("started")
    }

    #[test]
    fn exit_status_signal_and_output_are_kept_apart() {
        let outcome = sh("echo out; echo err >&2; exit 3", Duration::from_secs(10));
        assert_eq!((outcome.exit_status, outcome.signal, outcome.timed_out), (Some(3), None, false));
        assert_eq!((outcome.stdout.as_slice(), outcome.stderr.as_slice()), (b"out\n".as_slice(), b"err\n".as_slice()));
        let outcome = sh("kill -11 $$", Duration::from_secs(10));
        assert_eq!((outcome.exit_status, outcome.signal), (None, Some(11)));
    }

    #[test]
    fn a_process_past_its_time_is_killed_with_its_children() {
        let outcome = sh("sleep 60 & sleep 60", Duration::from_millis(50));
        assert!(outcome.timed_out && outcome.wall < Duration::from_secs(20));
        assert_eq!(outcome.signal, Some(9));
    }
}
