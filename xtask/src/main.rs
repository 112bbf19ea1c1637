//! The project's own commands: `cargo xtask check | floors | test | bench | campaign | device-check`.
//!
//! `check` is what one runs before a push, `test` is everything this machine can run with a list of what it could not,
//! `bench` measures our kernels, `bench --compare` our engine against others on the same graphs, `campaign` is for long measurements.
//! Nothing of the product depends on this crate.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool speaks through them")]

mod workspace;
mod requirement;
mod runner;
mod gate;
mod floors;
mod check;
mod bench;
mod campaign;
mod test;
mod device_check;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The project's own commands", max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Formatting, lints, fast tests, documentation, licences
    Check,
    /// Only the gate of `check` that keeps imports going down
    Floors,
    /// `check`, and everything else that this machine can run
    Test(test::Options),
    /// On a machine with a GPU: laws, answers and figures of the cuda device
    DeviceCheck(device_check::Options),
    /// Measure our kernels (criterion), or our engine against others (--compare)
    Bench(Box<bench::Options>),
    /// Long measurements with a seed, a bar and a summary
    Campaign(campaign::Options),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Check => check::run(),
        Command::Floors => workspace::Workspace::find().and_then(|workspace| floors::check(&workspace)).map(|()| true),
        Command::Test(options) => test::run(&options),
        Command::DeviceCheck(options) => device_check::run(&options),
        Command::Bench(options) => bench::run(&options),
        Command::Campaign(options) => campaign::run(&options),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        super::Cli::command().debug_assert();
    }
}
