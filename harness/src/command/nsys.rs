//! One run under Nsight Systems: a timeline of overlap and order, never evidence of speed.

use crate::command_line::{Stop, parse_run};
use crate::dataset::EMBEDDED;
use crate::durable;
use crate::facts::gpus;
use crate::measured::{Profile, find_binary, shell_word};
use crate::people::say;
use crate::stdout::print;
use crate::trace_files::FOLDER_VARIABLE;
use clap::{Args, ValueEnum, ValueHint};
use framework::algorithm::Registry;
use framework::base::error::{Error, Result};
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

const AFTER_HELP: &str = "One local nsys session covers processes of this node only: ranks that a cluster launcher starts on other \
nodes, or outside this process tree, are not in the report. Nsight Systems disturbs what it watches: no time in the report is \
evidence of speed.

One command for each algorithm, two ranks, protected (on host threads: multi_cpu_fault_tolerant):
  harness nsys --algorithm bfs --method multi_gpu_fault_tolerant --dataset cit-HepPh --ranks 2 --output bfs -- --source index:0
  harness nsys --algorithm cc --method multi_gpu_fault_tolerant --dataset cit-HepPh --ranks 2 --output cc
  harness nsys --algorithm kcore --method multi_gpu_fault_tolerant --dataset cit-HepPh --ranks 2 --output kcore -- -k 5
  harness nsys --algorithm pagerank --method multi_gpu_fault_tolerant --dataset cit-HepPh --ranks 2 --output pagerank

In the timeline of each: ranges `iteration N` of the NVTX domain graphalg on each rank's thread, with the stages inside; the summary's \
copy on a stream of its own; the checker's thread at work (cpu_validation) beside the next iteration, not between two. bfs: iterations \
grow and shrink with the frontier. cc: few, even iterations. kcore: one long first iteration, then short ones. pagerank: iterations of \
one length, and postcheck_total about as long as one of them.

Products: BASE.nsys-rep, BASE.log, BASE.command.txt (nsys version, GPU map, command to repeat) and BASE.trace/ (the program's own \
records). --force replaces the report, the log and the command file; a BASE.trace/ that is there is always refused. BASE.command.txt is a shell script that works from any folder; empty BASE.trace/ before it is repeated.";

/// Options of `nsys`.
#[derive(Args, Clone, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Nsys {
    /// The algorithm to run; `harness list` shows all of them
    #[arg(long, value_name = "A")]
    algorithm: String,
    /// The method to run; single methods need --ranks 1 and use the first visible GPU
    #[arg(long, value_name = "M")]
    method: String,
    /// The data set inside the program, or a graph file
    #[arg(long, value_name = "D")]
    dataset: String,
    /// Number of ranks
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    ranks: u32,
    /// GPUs that the run may see, at least one for each rank [default: the visible devices]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    gpus: Option<Vec<String>>,
    /// Where the products go: their common path, to which endings are added
    #[arg(long, value_name = "BASE", value_hint = ValueHint::FilePath)]
    output: PathBuf,
    /// Also trace the calls of MPI and NCCL
    #[arg(long)]
    trace_communication: bool,
    /// The MPI whose calls nsys traces; libraries derived from MPICH count as mpich
    #[arg(long, value_enum, default_value_t, requires = "trace_communication")]
    mpi_impl: MpiImpl,
    /// Which parts of NCCL nsys traces, for example api,group,gpu
    #[arg(long, value_name = "LIST", requires = "trace_communication")]
    nccl_trace: Option<String>,
    /// Replace a report, a log and a command file that are there already
    #[arg(long)]
    force: bool,
    /// Check the options and print the command, without using a GPU
    #[arg(long)]
    dry_run: bool,
    /// The folder of harness_profiling [default: the folder of this program]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    bin_dir: Option<PathBuf>,
    /// Options of the algorithm and of the run
    #[arg(last = true, value_name = "ALGORITHM ARGS")]
    args: Vec<String>,
}

/// Which MPI.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
enum MpiImpl {
    /// The one that nsys finds
    #[default]
    Auto,
    /// Open MPI
    Openmpi,
    /// MPICH and libraries derived from it
    Mpich,
}

/// The products.
struct Products {
    report: PathBuf,
    log: PathBuf,
    command: PathBuf,
    trace: PathBuf,
}

impl Nsys {
    /// Runs it.
    ///
    /// # Errors
    /// When an option, a file or the machine is not fit. A run that fails under nsys is exit code 1.
    pub(crate) fn run(&self, registry: &Registry) -> Result<ExitCode> {
        let here = std::env::current_dir()
            .map_err(|error| Error::Environment(format!("the folder of this command is unknown: {error}")))?;
        let output = here.join(&self.output);
        let program = self.program(registry, &here)?;
        let products = self.products(&output)?;
        let binary = find_binary(Profile::Profiling, self.bin_dir.as_deref())?;
        let devices = self.devices()?;
        let (version, help) = ask_nsys()?;
        let mut argv = self.nsys_argv(&help, &output)?;
        argv.push(binary.to_string_lossy().into_owned());
        argv.extend(program);
        let mut variables = vec![
            ("CUDA_MODULE_LOADING".to_owned(), std::env::var("CUDA_MODULE_LOADING").unwrap_or_else(|_| "EAGER".into())),
            (FOLDER_VARIABLE.to_owned(), products.trace.to_string_lossy().into_owned()),
        ];
        if !devices.is_empty() {
            variables.insert(0, ("CUDA_VISIBLE_DEVICES".to_owned(), devices.join(",")));
        }
        let assigned = variables.iter().map(|(name, value)| format!("{name}={}", shell_word(value)));
        let line: Vec<String> = assigned.chain(argv.iter().map(|word| shell_word(word))).collect();
        let line = line.join(" ");
        if self.dry_run {
            print(format!("{line}\n").as_bytes())?;
            return Ok(ExitCode::SUCCESS);
        }
        let map: String = devices
            .iter()
            .take(self.ranks as usize)
            .enumerate()
            .map(|(rank, gpu)| format!("# rank {rank}: GPU {gpu}\n"))
            .collect();
        let map = if map.is_empty() { "# no GPU: a cpu method\n".to_owned() } else { map };
        if let Some(folder) = products.trace.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            durable::folder(folder)?;
        }
        durable::folder(&products.trace)?;
        // Options after `--` may hold relative paths; all others are whole.
        let folder = here.to_str().ok_or_else(|| {
            Error::usage(format!(
                "{}: this folder's path is no UTF-8 text, so the command could not be repeated",
                here.display()
            ))
        })?;
        let text = format!("# {version}\n{map}cd {} &&\n{line}\n", shell_word(folder));
        durable::replace(&products.command, text.as_bytes())?;
        self.watch(&argv, variables, &products)
    }

    fn watch(&self, argv: &[String], variables: Vec<(String, String)>, products: &Products) -> Result<ExitCode> {
        let write = |source| Error::Write { path: products.log.clone(), source };
        let log = File::create(&products.log).map_err(write)?;
        let status = Command::new(&argv[0])
            .args(&argv[1..])
            .envs(variables)
            .stdin(Stdio::null())
            .stdout(log.try_clone().map_err(write)?)
            .stderr(log)
            .status()
            .map_err(|error| Error::Environment(format!("nsys does not start: {error}")))?;
        let is_traced = fs::read_dir(&products.trace).is_ok_and(|mut files| files.next().is_some());
        let problem = if !status.success() {
            Some(format!("nsys or the program under it failed ({status})"))
        } else if !products.report.is_file() {
            Some(format!("nsys wrote no {}", products.report.display()))
        } else if !is_traced {
            Some(format!("the program wrote nothing to {}", products.trace.display()))
        } else {
            None
        };
        if let Some(problem) = problem {
            say(&format!("FAILED   {problem}; see {}", products.log.display()));
            return Ok(ExitCode::from(1));
        }
        say(&format!("report   {} (never evidence of speed)", products.report.display()));
        Ok(ExitCode::SUCCESS)
    }

    /// What follows the binary, read by the run parser first.
    fn program(&self, registry: &Registry, here: &Path) -> Result<Vec<String>> {
        registry.find(&self.algorithm)?;
        let is_single = self.method.starts_with("single_");
        if is_single != (self.ranks == 1) {
            return Err(Error::usage(format!(
                "--method {} and --ranks {} contradict each other: single methods need --ranks 1, multi methods two or more",
                self.method, self.ranks
            )));
        }
        let mut argv =
            vec!["--algorithm".to_owned(), self.algorithm.clone(), "--method".to_owned(), self.method.clone()];
        argv.extend(["--ranks".to_owned(), self.ranks.to_string()]);
        if self.dataset == EMBEDDED && !Path::new(&self.dataset).exists() {
            argv.extend(["--dataset".to_owned(), self.dataset.clone()]);
        } else if Path::new(&self.dataset).is_file() {
            let path = here.join(&self.dataset);
            let text = path
                .to_str()
                .ok_or_else(|| Error::usage(format!("--dataset {}: the path is no UTF-8 text", path.display())))?;
            argv.extend(["--graph".to_owned(), text.to_owned()]);
        } else {
            return Err(Error::usage(format!(
                "--dataset {}: no such file, and the data set inside the program is {EMBEDDED}",
                self.dataset
            )));
        }
        argv.extend(["--progress".to_owned(), "off".to_owned()]);
        argv.extend(self.args.iter().cloned());
        let line: Vec<OsString> =
            ["run"].into_iter().chain(argv.iter().map(String::as_str)).map(OsString::from).collect();
        parse_run(registry, &line).map_err(Stop::into_error)?;
        Ok(argv)
    }

    fn products(&self, output: &Path) -> Result<Products> {
        let with = |ending: &str| {
            let mut path = output.as_os_str().to_owned();
            path.push(ending);
            PathBuf::from(path)
        };
        let products = Products {
            report: with(".nsys-rep"),
            log: with(".log"),
            command: with(".command.txt"),
            trace: with(".trace"),
        };
        if products.trace.exists() {
            return Err(Error::usage(format!(
                "{} is there; a trace folder is never reused (files of an older run could stay in it), so take another --output",
                products.trace.display()
            )));
        }
        for path in [&products.report, &products.log, &products.command] {
            if path.exists() && !self.force {
                return Err(Error::usage(format!(
                    "{} is there; give --force to replace it, or another --output",
                    path.display()
                )));
            }
        }
        Ok(products)
    }

    fn devices(&self) -> Result<Vec<String>> {
        if !self.method.contains("_gpu_") {
            return match &self.gpus {
                Some(_) => Err(Error::usage(format!("--gpus has no effect on {}; leave it out", self.method))),
                None => Ok(Vec::new()),
            };
        }
        choose_gpus(
            self.gpus.as_deref(),
            std::env::var("CUDA_VISIBLE_DEVICES").ok().as_deref(),
            gpus().len(),
            self.ranks,
        )
    }

    /// The words before the program, with every domain that was asked for or an error that names the missing one.
    fn nsys_argv(&self, help: &str, output: &Path) -> Result<Vec<String>> {
        let mut domains = vec!["cuda", "nvtx", "osrt"];
        if self.trace_communication {
            domains.push("mpi");
            if self.nccl_trace.is_some() || self.method.contains("_gpu_") {
                domains.push("nccl");
            }
        }
        let has_word = |word: &str| {
            help.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '-')).any(|w| w == word)
        };
        if let Some(missing) = domains.iter().find(|domain| !has_word(domain)) {
            return Err(Error::Environment(format!(
                "the installed nsys cannot trace `{missing}` (its help does not name it); install a newer Nsight Systems"
            )));
        }
        let mut argv = ["nsys", "profile"].map(str::to_owned).to_vec();
        argv.push(format!("--trace={}", domains.join(",")));
        argv.extend(["--sample=none", "--cpuctxsw=process-tree"].map(str::to_owned));
        let mut option = |name: &str, value: &str| {
            if !has_word(name) {
                return Err(Error::Environment(format!(
                    "the installed nsys has no {name} (its help does not name it); install a newer Nsight Systems"
                )));
            }
            argv.push(format!("{name}={value}"));
            Ok(())
        };
        match self.mpi_impl {
            MpiImpl::Auto => {}
            MpiImpl::Openmpi => option("--mpi-impl", "openmpi")?,
            MpiImpl::Mpich => option("--mpi-impl", "mpich")?,
        }
        if let Some(list) = &self.nccl_trace {
            option("--nccl-trace", list)?;
        }
        argv.push(format!("--force-overwrite={}", self.force));
        argv.push(format!("--output={}", output.display()));
        Ok(argv)
    }
}

/// The GPUs to show the program: those asked for, else the visible ones, else all; at least one a rank, and one for a single.
fn choose_gpus(asked: Option<&[String]>, visible: Option<&str>, present: usize, ranks: u32) -> Result<Vec<String>> {
    let list: Vec<String> = match (asked, visible) {
        (Some(asked), _) => asked.to_vec(),
        (None, Some(visible)) => visible.split(',').filter(|gpu| !gpu.is_empty()).map(str::to_owned).collect(),
        (None, None) => (0..present).map(|gpu| gpu.to_string()).collect(),
    };
    let mut distinct = list.clone();
    distinct.sort();
    distinct.dedup();
    if distinct.len() != list.len() {
        return Err(Error::usage(format!("a GPU stands twice in {}", list.join(","))));
    }
    let ranks = ranks as usize;
    if list.len() < ranks || present < ranks {
        return Err(Error::Environment(format!(
            "{ranks} ranks need {ranks} GPUs, but {} are named and {present} are in this machine; give fewer --ranks or other --gpus",
            list.len()
        )));
    }
    Ok(if ranks == 1 { list.into_iter().take(1).collect() } else { list })
}

/// Version and help of the installed nsys.
fn ask_nsys() -> Result<(String, String)> {
    let ask = |arguments: &[&str]| {
        let output = Command::new("nsys").args(arguments).output().map_err(|error| {
            Error::Environment(format!("nsys does not start ({error}); install Nsight Systems and put nsys on PATH"))
        })?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr))
    };
    let version = ask(&["--version"])?;
    Ok((version.lines().next().unwrap_or_default().trim().to_owned(), ask(&["profile", "--help"])?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use framework::base::error::Class;

    #[test]
    fn gpus_are_those_asked_for_or_visible_and_enough() {
        let asked = ["6".to_owned(), "7".to_owned()];
        assert_eq!(choose_gpus(Some(&asked), Some("1"), 8, 2).expect("two"), ["6", "7"]);
        assert_eq!(choose_gpus(Some(&asked), None, 8, 1).expect("one"), ["6"]);
        assert_eq!(choose_gpus(None, Some("3,1"), 8, 2).expect("two"), ["3", "1"]);
        assert_eq!(choose_gpus(None, None, 2, 2).expect("two"), ["0", "1"]);
        let class = |asked: Option<&[String]>, visible, present, ranks| {
            choose_gpus(asked, visible, present, ranks).expect_err("refused").class()
        };
        assert_eq!(class(None, None, 0, 1), Class::Environment);
        assert_eq!(class(Some(&asked), None, 8, 3), Class::Environment);
        assert_eq!(class(None, Some(""), 8, 1), Class::Environment);
        assert_eq!(class(None, Some("1,1"), 8, 2), Class::Usage);
    }
}
