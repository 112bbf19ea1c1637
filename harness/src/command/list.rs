//! `harness list`: what this program knows, as text on stdout.

use crate::command_line::spelled;
use crate::dataset::{EMBEDDED, in_folder};
use crate::device;
use crate::facts;
use crate::stdout::print;
use clap::{Args, Command, ValueHint};
use framework::algorithm::Registry;
use framework::base::error::Result;
use framework::base::id::Rank;
use framework::cuda::devices;
use framework::host::cores;
use std::fmt::Write;
use std::path::PathBuf;

/// Options of `list`.
#[derive(Args, Clone, Debug)]
pub(crate) struct List {
    /// Also list the data sets of this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    dataset_dir: Option<PathBuf>,
}

impl List {
    /// Prints the list.
    ///
    /// # Errors
    /// When the folder cannot be read, or stdout is closed.
    pub(crate) fn run(&self, registry: &Registry) -> Result<()> {
        let found = self.dataset_dir.as_deref().map(in_folder).transpose()?.unwrap_or_default();
        let (cpu, gpus) = (facts::cpu(Rank(0), cores()).name, device::listed(&devices()));
        let mut text = text(registry, &cpu, cores(), &gpus);
        for (name, path) in found {
            let _ = writeln!(text, "  {name}  {}", path.display());
        }
        print(text.as_bytes())
    }
}

fn text(registry: &Registry, cpu: &str, cores: usize, gpus: &str) -> String {
    let mut text = String::from("Algorithms (--algorithm NAME)\n");
    for entry in registry.iter() {
        let _ = writeln!(text, "  {:<10} {}", entry.name, entry.summary);
        for option in (entry.augment)(Command::new("options")).get_arguments() {
            let help = option.get_help().map(ToString::to_string).unwrap_or_default();
            let value = option.get_value_names().filter(|_| option.get_action().takes_values());
            let value = value.and_then(<[_]>::first).map(|name| format!(" <{name}>")).unwrap_or_default();
            let defaults: Vec<_> = option.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
            let default =
                if defaults.is_empty() { String::new() } else { format!(" [default: {}]", defaults.join(" ")) };
            let _ = writeln!(text, "      {:<28} {help}{default}", spelled(option) + &value);
        }
    }
    let _ = writeln!(text, "\nDevices (--device NAME)\n  cpu        {cpu}, {cores} cores\n{}", gpus.trim_end());
    let _ = writeln!(text, "\nTransports (--transport NAME)\n  local      ranks are threads of one process");
    let _ =
        writeln!(text, "\nData sets (--dataset NAME)\n  {EMBEDDED}  34,546 vertices, 421,578 arcs, inside the program");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_shows_every_plugin_with_its_options() {
        let registry = Registry::linked().expect("distinct names");
        insta::assert_snapshot!(text(&registry, "a cpu", 2, "  cuda:0     a gpu\n"));
    }
}
