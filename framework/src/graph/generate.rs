//! Synthetic undirected graphs: Kronecker (R-MAT), uniform random, and a road-like grid.
//!
//! The same recipe gives the same graph on every machine and for any number of threads: pairs come in blocks of 2^18, each
//! with a generator of its own whose state is a hash of seed and block, and only integers are compared. All 2^scale vertices
//! are kept, isolated ones too, with IDs 0 to 2^scale - 1. Repeated edges and self-loops stay in the list and are counted
//! in the graph's facts, as for a file.
//!
//! Cost: `scale` random halves a Kronecker edge, one word a uniform edge or a grid direction; then the building of rows.
//! Sources: Chakrabarti, Zhan, Faloutsos, "R-MAT: A Recursive Model for Graph Mining", SDM 2004, with the parameters and
//! the label scrambling of the Graph500 benchmark; Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators",
//! OOPSLA 2014 (splitmix64).

use super::{Arcs, Graph, Ids, View};
use crate::base::error::{Error, Result};
use clap::ValueEnum;
use rayon::prelude::*;

/// Pairs made from one generator state. Part of the definition: another block size gives other graphs.
const BLOCK: u64 = 1 << 18;
/// Graph500: A = 0.57, B = C = 0.19, as bounds on 32 random bits.
const BELOW_A: u32 = (0.57 * 4_294_967_296.0) as u32;
const BELOW_AB: u32 = (0.76 * 4_294_967_296.0) as u32;
const BELOW_ABC: u32 = (0.95 * 4_294_967_296.0) as u32;
/// Vertex numbers have 32 bits, and two of them are kept for other uses.
const SCALE_MAX: u32 = 31;
/// For each edge factor of a grid, of 64 places how many have the edge: to the right, down, down-right, down-left.
/// Factor 1 has 1.2 edges a vertex as road networks do, and 2 to 4 close to the factor (chosen).
const GRID: [[u64; 4]; 4] = [[58, 20, 1, 0], [60, 60, 2, 0], [60, 60, 60, 2], [60, 60, 60, 60]];

/// A family of graphs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Generator {
    /// Few hubs, many small vertices: Kronecker (R-MAT) with the Graph500 parameters and scrambled labels
    Kron,
    /// Every pair of vertices equally likely
    Uniform,
    /// Road-like: a 2-D grid with a few streets missing and a few diagonals
    Grid,
}

impl Generator {
    /// The edge factor when the user names none.
    pub fn default_edge_factor(self) -> u32 {
        match self {
            Generator::Kron | Generator::Uniform => 16,
            Generator::Grid => 1,
        }
    }

    fn label(self) -> &'static str {
        match self {
            Generator::Kron => "kron",
            Generator::Uniform => "uniform",
            Generator::Grid => "grid",
        }
    }
}

/// All that determines one synthetic graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Recipe {
    /// The family.
    pub generator: Generator,
    /// Binary logarithm of the number of vertices, at most 31.
    pub scale: u32,
    /// Pairs drawn a vertex; for a grid 1 to 4: about so many edges a vertex.
    pub edge_factor: u32,
    /// Another seed, another graph.
    pub seed: u64,
}

impl Recipe {
    /// The graph, undirected, in the view asked for; its name is the family and the scale, as in `kron-18`.
    ///
    /// # Errors
    /// When the scale or the edge factor is out of range.
    pub fn graph(&self, view: View) -> Result<Graph> {
        Graph::from_arcs(format!("{}-{}", self.generator.label(), self.scale), self.arcs()?, false, view)
    }

    /// The pairs as drawn, unsorted and with repetitions; each is an undirected edge.
    ///
    /// # Errors
    /// When the scale or the edge factor is out of range.
    pub fn arcs(&self) -> Result<Arcs> {
        if self.scale > SCALE_MAX {
            return Err(Error::usage(format!(
                "scale {} asks for 2^{} vertices; a scale is at most {SCALE_MAX}",
                self.scale, self.scale
            )));
        }
        if self.edge_factor == 0 || (self.generator == Generator::Grid && self.edge_factor > 4) {
            let range = if self.generator == Generator::Grid { "1 to 4 for a grid" } else { "at least 1" };
            return Err(Error::usage(format!("edge factor {}; it must be {range}", self.edge_factor)));
        }
        let vertices = 1u64 << self.scale;
        let draws = match self.generator {
            Generator::Kron | Generator::Uniform => vertices * u64::from(self.edge_factor),
            Generator::Grid => vertices,
        };
        let pieces: Vec<Vec<(u32, u32)>> = (0..draws.div_ceil(BLOCK))
            .into_par_iter()
            .map(|block| {
                let places = block * BLOCK..draws.min((block + 1) * BLOCK);
                let mut random = Random::for_block(self.seed, block);
                match self.generator {
                    Generator::Kron => {
                        let scramble = LabelPermutation::new(self.scale, self.seed);
                        places.map(|_| kron(self.scale, &mut random, &scramble)).collect()
                    }
                    Generator::Uniform => places
                        .map(|_| {
                            let word = random.next();
                            let label = |half: u64| (half & (vertices - 1)) as u32;
                            (label(word >> 32), label(word & 0xffff_ffff))
                        })
                        .collect(),
                    Generator::Grid => places
                        .flat_map(|place| {
                            streets(self.scale, place, GRID[self.edge_factor as usize - 1], random.next())
                        })
                        .collect(),
                }
            })
            .collect();
        Arcs::dense(Ids::Range { first: 0, len: vertices as usize }, pieces)
    }
}

/// splitmix64.
struct Random {
    state: u64,
}

impl Random {
    fn for_block(seed: u64, block: u64) -> Random {
        let mut outer = Random { state: seed };
        let mut inner = Random { state: outer.next() ^ block.wrapping_mul(0xd134_2543_de82_ef95) };
        Random { state: inner.next() }
    }

    #[inline(always)]
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.state;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }
}

/// Chooses one quadrant of the adjacency matrix per level.
#[inline(always)]
fn kron(scale: u32, random: &mut Random, scramble: &LabelPermutation) -> (u32, u32) {
    let (mut u, mut v, mut word) = (0u32, 0u32, 0u64);
    for level in 0..scale {
        word = if level % 2 == 0 { random.next() } else { word >> 32 };
        let draw = word as u32;
        let down = draw >= BELOW_AB;
        let right = (draw >= BELOW_A) ^ down ^ (draw >= BELOW_ABC);
        u = u << 1 | u32::from(down);
        v = v << 1 | u32::from(right);
    }
    (scramble.label(u), scramble.label(v))
}

/// A permutation of the labels 0 to 2^scale - 1 that needs no table: odd multiplications and xor-shifts, which are all
/// invertible. Without it small labels would be hubs and their neighbours would lie side by side.
struct LabelPermutation {
    mask: u32,
    shift: u32,
    factors: [u32; 2],
    offset: u32,
}

impl LabelPermutation {
    fn new(scale: u32, seed: u64) -> LabelPermutation {
        let mut random = Random { state: !seed };
        let (one, two) = (random.next(), random.next());
        LabelPermutation {
            mask: ((1u64 << scale) - 1) as u32,
            shift: scale.div_ceil(2).max(1),
            factors: [one as u32 | 1, (one >> 32) as u32 | 1],
            offset: two as u32,
        }
    }

    #[inline(always)]
    fn label(&self, v: u32) -> u32 {
        let mut v = v.wrapping_add(self.offset) & self.mask;
        for factor in self.factors {
            v = v.wrapping_mul(factor) & self.mask;
            v ^= v >> self.shift;
        }
        v.wrapping_mul(self.factors[0]) & self.mask
    }
}

/// The streets that begin at one crossing: 16 of the random bits decide each direction.
fn streets(scale: u32, place: u64, shares: [u64; 4], word: u64) -> impl Iterator<Item = (u32, u32)> {
    let (width, height) = (1u64 << scale.div_ceil(2), 1u64 << (scale / 2));
    let (x, y) = (place % width, place / width);
    let ends = [
        (x + 1 < width).then(|| place + 1),
        (y + 1 < height).then(|| place + width),
        (x + 1 < width && y + 1 < height).then(|| place + width + 1),
        (x > 0 && y + 1 < height).then(|| place + width - 1),
    ];
    ends.into_iter().zip(shares).enumerate().filter_map(move |(direction, (end, share))| {
        let draw = word >> (16 * direction) & 63;
        end.filter(|_| draw < share).map(|end| (place as u32, end as u32))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest, Sha256};

    fn check(generator: Generator, scale: u32, edge_factor: u32, digest: &str) -> Graph {
        let recipe = Recipe { generator, scale, edge_factor, seed: 1 };
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            pool.install(|| recipe.graph(View::Symmetric)).expect("a graph")
        };
        let (graph, again) = (on(1), on(2));
        assert_eq!(graph.outgoing().targets()[..], again.outgoing().targets()[..]);
        assert_eq!(graph.vertices(), 1 << scale);
        let mut hash = Sha256::new();
        graph.outgoing().offsets().iter().for_each(|offset| hash.update(offset.to_le_bytes()));
        graph.outgoing().targets().iter().for_each(|target| hash.update(target.to_le_bytes()));
        let found: String = hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(found, digest, "{recipe:?} gives another graph than on other machines");
        graph
    }

    #[test]
    fn a_recipe_gives_the_same_graph_on_every_machine_and_for_any_threads() {
        let kron = check(Generator::Kron, 15, 16, "3c1c65e5ef92dd37");
        let uniform = check(Generator::Uniform, 15, 16, "36e9c68b8af1b06a");
        let grid = check(Generator::Grid, 15, 1, "e65103969fed1fb3");
        let largest = |graph: &Graph| (0..graph.vertices() as u32).map(|v| graph.outgoing().degree(v)).max();
        assert!(largest(&kron) > Some(1_000), "{:?}", largest(&kron));
        assert!(largest(&uniform) < Some(80), "{:?}", largest(&uniform));
        assert!(largest(&grid) <= Some(8), "{:?}", largest(&grid));
        let edges = grid.facts().arcs as f64 / 2.0 / grid.vertices() as f64;
        assert!((1.1..1.3).contains(&edges), "{edges} edges a vertex");
    }

    #[test]
    fn the_smallest_scales_work_and_others_out_of_range_are_refused() {
        for generator in [Generator::Kron, Generator::Uniform, Generator::Grid] {
            for scale in 0..4 {
                let graph = Recipe { generator, scale, edge_factor: 1, seed: 7 }.graph(View::Simple).expect("a graph");
                assert_eq!(graph.vertices(), 1 << scale);
            }
            assert!(Recipe { generator, scale: 32, edge_factor: 1, seed: 7 }.arcs().is_err());
            assert!(Recipe { generator, scale: 3, edge_factor: 0, seed: 7 }.arcs().is_err());
        }
        assert!(Recipe { generator: Generator::Grid, scale: 3, edge_factor: 5, seed: 7 }.arcs().is_err());
    }

    #[test]
    fn scrambling_is_a_permutation() {
        for scale in 0..12 {
            let scramble = LabelPermutation::new(scale, 42);
            let mut labels: Vec<u32> = (0..1u32 << scale).map(|v| scramble.label(v)).collect();
            labels.sort_unstable();
            assert!(labels.iter().copied().eq(0..1 << scale), "scale {scale}");
        }
    }
}
