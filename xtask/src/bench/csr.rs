//! The plain compressed sparse rows in which every engine is given its graph, and the two file forms they read.
//!
//! Written without the framework on purpose: what feeds a comparison should not be the code that is compared.
//! Self-loops and repeated arcs are dropped, as GAPBS's own loader drops them. One counting sort by source and a sort of
//! each list: O(n + m log d).

use std::io::{BufWriter, Read, Write};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

/// Offsets (`n + 1`) and targets, each list ascending.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Csr {
    pub(crate) offsets: Vec<u64>,
    pub(crate) targets: Vec<u32>,
}

impl Csr {
    /// Arcs to sorted lists; `both_ways` adds the reverse of each.
    pub(crate) fn from_arcs(vertices: usize, arcs: &[(u32, u32)], both_ways: bool) -> Self {
        let proper = || arcs.iter().copied().filter(|(a, b)| a != b);
        let mut starts = vec![0u64; vertices + 1];
        for (a, b) in proper() {
            starts[a as usize + 1] += 1;
            if both_ways {
                starts[b as usize + 1] += 1;
            }
        }
        for v in 0..vertices {
            starts[v + 1] += starts[v];
        }
        let mut next = starts.clone();
        let mut targets = vec![0u32; starts[vertices] as usize];
        let mut put = |from: u32, to: u32| {
            let at = &mut next[from as usize];
            targets[*at as usize] = to;
            *at += 1;
        };
        for (a, b) in proper() {
            put(a, b);
            if both_ways {
                put(b, a);
            }
        }
        Self::deduplicated(&starts, targets)
    }

    fn deduplicated(starts: &[u64], mut targets: Vec<u32>) -> Self {
        let mut offsets = Vec::with_capacity(starts.len());
        offsets.push(0);
        let mut kept = 0;
        for list in starts.windows(2) {
            let (from, to) = (list[0] as usize, list[1] as usize);
            targets[from..to].sort_unstable();
            let first = kept;
            for at in from..to {
                if kept == first || targets[kept - 1] != targets[at] {
                    targets[kept] = targets[at];
                    kept += 1;
                }
            }
            offsets.push(kept as u64);
        }
        targets.truncate(kept);
        Self { offsets, targets }
    }

    /// Number of vertices.
    pub(crate) fn vertices(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Number of stored arcs.
    pub(crate) fn arcs(&self) -> usize {
        self.targets.len()
    }

    /// Arcs that leave `v`.
    pub(crate) fn degree(&self, v: usize) -> u64 {
        self.offsets[v + 1] - self.offsets[v]
    }

    /// True when at least `wanted` vertices can be reached from `source`, itself included; stops there.
    pub(crate) fn reaches(&self, source: u32, wanted: usize) -> bool {
        let mut is_reached = vec![false; self.vertices()];
        is_reached[source as usize] = true;
        let mut reached = vec![source];
        let mut at = 0;
        while at < reached.len() && reached.len() < wanted {
            let v = reached[at] as usize;
            at += 1;
            for &to in &self.targets[self.offsets[v] as usize..self.offsets[v + 1] as usize] {
                if !is_reached[to as usize] {
                    is_reached[to as usize] = true;
                    reached.push(to);
                }
            }
        }
        reached.len() >= wanted
    }

    /// Every arc, by source.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (u32, u32)> {
        (0..self.vertices()).flat_map(|v| {
            let list = self.offsets[v] as usize..self.offsets[v + 1] as usize;
            self.targets[list].iter().map(move |&to| (v as u32, to))
        })
    }

    /// Writes a GAP serialized graph; a directed one carries its in-arcs, an undirected one is `out` alone.
    pub(crate) fn write_sg(out: &Self, inward: Option<&Self>, path: &Path) -> Result<()> {
        write_file(path, |file| {
            file.write_all(&[u8::from(inward.is_some())])?;
            file.write_all(&(out.arcs() as i64).to_le_bytes())?;
            file.write_all(&(out.vertices() as i64).to_le_bytes())?;
            for half in std::iter::once(out).chain(inward) {
                half.offsets.iter().try_for_each(|o| file.write_all(&o.to_le_bytes()))?;
                half.targets.iter().try_for_each(|t| file.write_all(&t.to_le_bytes()))?;
            }
            Ok(())
        })
    }

    /// Writes Ligra's and GBBS's `AdjacencyGraph` text.
    pub(crate) fn write_adjacency(&self, path: &Path) -> Result<()> {
        write_file(path, |file| {
            writeln!(file, "AdjacencyGraph\n{}\n{}", self.vertices(), self.arcs())?;
            self.offsets[..self.vertices()].iter().try_for_each(|offset| writeln!(file, "{offset}"))?;
            self.targets.iter().try_for_each(|target| writeln!(file, "{target}"))
        })
    }

    /// Writes one `FROM TO` line an edge, an undirected edge once.
    pub(crate) fn write_edge_list(&self, is_directed: bool, path: &Path) -> Result<()> {
        write_file(path, |file| {
            let mut edges = self.pairs().filter(|(a, b)| is_directed || a <= b);
            edges.try_for_each(|(a, b)| writeln!(file, "{a} {b}"))
        })
    }

    /// Reads the out-arcs of a GAP serialized graph, and whether it is directed.
    pub(crate) fn read_sg(path: &Path) -> Result<(Self, bool)> {
        let mut bytes = Vec::new();
        std::fs::File::open(path)
            .and_then(|mut file| file.read_to_end(&mut bytes))
            .with_context(|| path.display().to_string())?;
        let words = |from: usize, count: usize| -> Option<Vec<u64>> {
            let part = bytes.get(from..from.checked_add(count.checked_mul(8)?)?)?;
            Some(part.chunks_exact(8).map(|w| u64::from_le_bytes(w.try_into().unwrap_or_default())).collect())
        };
        let cut = || format!("{}: the file is cut short; delete it, it is made again", path.display());
        let head = words(1, 2).with_context(cut)?;
        let (arcs, vertices) = (head[0] as usize, head[1] as usize);
        let offsets = words(17, vertices + 1).with_context(cut)?;
        let at = 17 + 8 * (vertices + 1);
        let part = bytes.get(at..at + 4 * arcs).with_context(cut)?;
        let targets = part.chunks_exact(4).map(|w| u32::from_le_bytes(w.try_into().unwrap_or_default())).collect();
        ensure!(offsets.last() == Some(&(arcs as u64)), "{}: offsets do not end at {arcs}", path.display());
        Ok((Self { offsets, targets }, bytes[0] != 0))
    }
}

/// Writes to a name of its own and renames, so that a broken run leaves no half file behind.
fn write_file(path: &Path, write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<()> {
    let Some(name) = path.file_name() else { bail!("{} names no file", path.display()) };
    let partial = path.with_file_name(format!("{}.part", name.to_string_lossy()));
    let made = std::fs::File::create(&partial).and_then(|file| {
        let mut file = BufWriter::with_capacity(1 << 20, file);
        write(&mut file)?;
        file.flush()?;
        std::fs::rename(&partial, path)
    });
    made.with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arcs_become_sorted_lists_without_loops_and_repeats() {
        let arcs = [(2, 0), (0, 1), (1, 1), (0, 1), (1, 0)];
        let directed = Csr::from_arcs(3, &arcs, false);
        assert_eq!(directed, Csr { offsets: vec![0, 1, 2, 3], targets: vec![1, 0, 0] });
        let both = Csr::from_arcs(3, &arcs, true);
        assert_eq!(both, Csr { offsets: vec![0, 2, 3, 4], targets: vec![1, 2, 0, 0] });
    }

    #[test]
    fn reach_follows_arcs() {
        let path = Csr::from_arcs(4, &[(0, 1), (1, 2)], false);
        assert!(path.reaches(0, 3));
        assert!(!path.reaches(1, 3));
        assert!(!path.reaches(0, 4));
    }

    #[test]
    fn a_serialized_graph_reads_back() -> Result<()> {
        let path = std::env::temp_dir().join(format!("xtask-csr-{}.sg", std::process::id()));
        let graph = Csr::from_arcs(4, &[(0, 3), (3, 1)], false);
        Csr::write_sg(&graph, Some(&graph), &path)?;
        let back = Csr::read_sg(&path);
        std::fs::remove_file(&path)?;
        assert_eq!(back?, (graph, true));
        Ok(())
    }
}
