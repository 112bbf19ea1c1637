//! The graphs of the comparison, made once under `target/bench/graphs` with dense IDs from 0, so that every engine reads
//! the same vertices by the same numbers.
//!
//! Synthetic ones come from GAPBS's own converter when it is there, else from `harness graph generate`; real ones from
//! the data folder. Each is kept as `.sg` (GAPBS, ours, served peers), the symmetric one also as `.adj` (GBBS) and as
//! `.el` (text loading).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::csr::Csr;

/// Where graphs come from and where they are kept.
pub(crate) struct Store {
    /// `target/bench/graphs`.
    pub(crate) folder: PathBuf,
    /// Folder of the real graphs' compressed text.
    pub(crate) data: PathBuf,
    /// GAPBS's built programs.
    pub(crate) gapbs: Option<PathBuf>,
    /// Our release binary.
    pub(crate) harness: PathBuf,
}

/// One graph in every form that an engine may ask for.
pub(crate) struct Graph {
    pub(crate) name: String,
    pub(crate) vertices: usize,
    pub(crate) arcs: usize,
    /// As it is: directed with in-arcs, or symmetric.
    pub(crate) sg: PathBuf,
    /// Both directions; the same file as `sg` for an undirected graph.
    pub(crate) symmetric: PathBuf,
    /// The symmetric graph for GBBS.
    pub(crate) adjacency: PathBuf,
    /// One edge a line.
    pub(crate) text: PathBuf,
    /// Vertices that reach a tenth of the graph, drawn with a fixed seed: the sources of round 0, 1, ...
    pub(crate) sources: Vec<u32>,
}

/// What a name stands for.
enum Recipe {
    Kron(u32),
    Uniform(u32),
    Text { file: &'static str, is_directed: bool },
}

fn recipe(name: &str) -> Result<Recipe> {
    let text = |file, is_directed| Ok(Recipe::Text { file, is_directed });
    match name {
        "road-FLA" => return text("road-FLA.txt.xz", false),
        "cnr-2000" => return text("cnr-2000.txt.xz", true),
        "cit-HepPh" => return text("cit-HepPh.txt.gz", true),
        _ => {}
    }
    let scale = |digits: &str| digits.parse().ok().filter(|scale| (1..=26).contains(scale));
    match name.split_once('-') {
        Some(("kron", digits)) => scale(digits).map(Recipe::Kron),
        Some(("urand", digits)) => scale(digits).map(Recipe::Uniform),
        _ => None,
    }
    .with_context(|| {
        format!("no graph `{name}`; known: kron-S, urand-S (S from 1 to 26), road-FLA, cnr-2000, cit-HepPh")
    })
}

impl Store {
    /// Makes what is missing of a graph and describes it.
    ///
    /// # Errors
    /// An unknown name, a source that is not on this machine, or a damaged file: says what to do.
    pub(crate) fn graph(&self, name: &str) -> Result<Graph> {
        let recipe = recipe(name)?;
        std::fs::create_dir_all(&self.folder).with_context(|| self.folder.display().to_string())?;
        // The maker is part of the file's name: GAPBS's kron-20 and ours are not the same graph.
        let maker = match (&recipe, &self.gapbs) {
            (Recipe::Text { .. }, _) => "data",
            (_, Some(_)) => "gapbs",
            (_, None) => "own",
        };
        let file = |suffix: &str| self.folder.join(format!("{name}.{maker}{suffix}"));
        let sg = file(".sg");
        if !sg.exists() {
            eprintln!("making {name}");
            self.make(&recipe, &sg, &file(".sym.sg"))?;
        }
        let (csr, is_directed) = Csr::read_sg(&sg)?;
        let symmetric = if is_directed { file(".sym.sg") } else { sg.clone() };
        let (adjacency, text) = (file(".adj"), file(".el"));
        if !adjacency.exists() {
            Csr::read_sg(&symmetric)?.0.write_adjacency(&adjacency)?;
        }
        if !text.exists() {
            csr.write_edge_list(is_directed, &text)?;
        }
        let sources = draw_sources(&csr);
        let (vertices, arcs) = (csr.vertices(), csr.arcs());
        Ok(Graph { name: name.into(), vertices, arcs, sg, symmetric, adjacency, text, sources })
    }

    fn make(&self, recipe: &Recipe, sg: &Path, symmetric: &Path) -> Result<()> {
        match recipe {
            Recipe::Kron(scale) => self.generate("-g", "kron", *scale, sg),
            Recipe::Uniform(scale) => self.generate("-u", "uniform", *scale, sg),
            Recipe::Text { file, is_directed } => {
                let (vertices, arcs) = read_text(&self.data.join(file))?;
                let both = Csr::from_arcs(vertices, &arcs, true);
                if !is_directed {
                    return Csr::write_sg(&both, None, sg);
                }
                Csr::write_sg(&both, None, symmetric)?;
                let reversed: Vec<(u32, u32)> = arcs.iter().map(|&(a, b)| (b, a)).collect();
                let (out, inward) =
                    (Csr::from_arcs(vertices, &arcs, false), Csr::from_arcs(vertices, &reversed, false));
                Csr::write_sg(&out, Some(&inward), sg)
            }
        }
    }

    fn generate(&self, flag: &str, kind: &str, scale: u32, sg: &Path) -> Result<()> {
        let scale = scale.to_string();
        if let Some(gapbs) = &self.gapbs {
            return succeed(Command::new(gapbs.join("converter")).args([flag, &scale, "-k", "16", "-b"]).arg(sg));
        }
        let text = sg.with_extension("tmp.el");
        let generate = ["graph", "generate", kind, "--scale", &scale, "--edge-factor", "16", "--seed", "1", "-o"];
        succeed(Command::new(&self.harness).args(generate).arg(&text))?;
        let (_, arcs) = read_text(&text)?;
        std::fs::remove_file(&text).with_context(|| text.display().to_string())?;
        let vertices = arcs.iter().map(|&(a, b)| a.max(b) as usize + 1).max().unwrap_or(0);
        Csr::write_sg(&Csr::from_arcs(vertices, &arcs, true), None, sg)
    }
}

fn succeed(command: &mut Command) -> Result<()> {
    let out = command.output().with_context(|| format!("{} does not start", command.get_program().display()))?;
    if !out.status.success() {
        bail!("{command:?} failed:\n{}", String::from_utf8_lossy(&out.stderr));
    }
    Ok(())
}

/// Reads `FROM TO` lines, numbers the vertices from 0 in ascending original ID.
fn read_text(path: &Path) -> Result<(usize, Vec<(u32, u32)>)> {
    let shown = path.display();
    let file = File::open(path).with_context(|| {
        format!("{shown}: name the folder of the real graphs with --data, or leave them out of --graphs")
    })?;
    let stream: Box<dyn Read> = match path.extension().and_then(|e| e.to_str()) {
        Some("gz") => Box::new(flate2::read::MultiGzDecoder::new(file)),
        Some("xz") => Box::new(liblzma::read::XzDecoder::new_multi_decoder(file)),
        _ => Box::new(file),
    };
    let mut edges: Vec<(i64, i64)> = Vec::new();
    let mut lines = BufReader::with_capacity(1 << 20, stream);
    let (mut line, mut number) = (String::new(), 0);
    while lines.read_line(&mut line).with_context(|| shown.to_string())? > 0 {
        number += 1;
        if !line.starts_with(['#', '%']) {
            let mut words = line.split_ascii_whitespace().map(str::parse::<i64>);
            let (Some(Ok(a)), Some(Ok(b))) = (words.next(), words.next()) else {
                bail!("{shown}:{number}: expected FROM TO");
            };
            edges.push((a, b));
        }
        line.clear();
    }
    let mut ids: Vec<i64> = edges.iter().flat_map(|&(a, b)| [a, b]).collect();
    ids.sort_unstable();
    ids.dedup();
    let is_dense =
        ids.first().is_none_or(|&low| low == 0) && ids.last().is_none_or(|&high| high as usize == ids.len() - 1);
    let index: BTreeMap<i64, u32> =
        if is_dense { BTreeMap::new() } else { ids.iter().enumerate().map(|(i, &id)| (id, i as u32)).collect() };
    let dense = |id: i64| if is_dense { id as u32 } else { index[&id] };
    Ok((ids.len(), edges.into_iter().map(|(a, b)| (dense(a), dense(b))).collect()))
}

/// Sources by a fixed SplitMix64 sequence, as many as there are rounds in a long run. They reach a tenth of the graph:
/// in directed graphs most vertices reach next to nothing, and such a search measures the clock.
fn draw_sources(csr: &Csr) -> Vec<u32> {
    const WANTED: usize = 32;
    const DRAWS: usize = 4096;
    let (mut state, mut sources) = (27_491_095_u64, Vec::new()); // any constant would do
    for _ in 0..if csr.arcs() > 0 { DRAWS } else { 0 } {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let v = ((z ^ (z >> 31)) % csr.vertices() as u64) as u32;
        if csr.degree(v as usize) > 0 && csr.reaches(v, csr.vertices() / 10) {
            sources.push(v);
        }
        if sources.len() == WANTED {
            break;
        }
    }
    sources
}
