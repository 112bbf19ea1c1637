//! Connected components: every vertex gets the smallest vertex of its (weak) component as label.
//!
//! Each rank first contracts its own part, ghosts included, with Afforest: a forest in which labels are always smaller
//! than their vertex, so it has no cycle whatever the order of threads. On one rank that is the answer. On several, the trees
//! become super-vertices: each learns the smallest label at any of its boundary vertices, offers go to owners, copies come
//! back, and a label that falls is handed to the root, until none falls any more.
//! Cost: about n + 2 arcs a vertex and few arcs outside the giant component for the contraction; then one pass over the boundary
//! a superstep, at most as many as the quotient graph of trees is wide.
//! Sources: Sutton, Ben-Nun, Barak, "Optimizing Parallel Graph Connectivity Computation via Subgraph Sampling", IPDPS 2018;
//! Shiloach, Vishkin, "An O(log n) Parallel Connectivity Algorithm", J. Algorithms 1982.

use crate::afforest::{Compress, HookFirst, HookNth, HookRest, HookRoots, OwnLabel, giant};
use crate::evidence::{Date, ENTRY, Enter, FAR, Hear, NEAR, ROUND, SEEN, Settle};
use crate::fields::{LABEL, ROOT};
use crate::protection::Protection;
use crate::verify::verify;
use framework::algorithm::{GraphAlgorithm, Record};
use framework::answer::{Answer, AnswerSpec, Meaning, Values};
use framework::base::error::Result;
use framework::base::format::{counted, grouped};
use framework::base::id::LocalId;
use framework::base::tally::Tally;
use framework::base::verdict::Verdict;
use framework::fault_tolerance::FaultTolerance;
use framework::field::{Bind, Changing, FieldSpec};
use framework::graph::{Graph, View};
use framework::op::{Access, VertexOp};
use framework::partition::Part;
use framework::step::Step;
use serde_json::json;
use std::collections::HashMap;
use std::sync::Arc;

/// Weakly connected components.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Algorithm cc")]
pub struct Cc {
    /// Whether the evidence for the certificate is kept.
    #[arg(skip)]
    keeps: bool,
}

type Labels<'a> = (Changing<'a, u32>, Changing<'a, u32>);

macro_rules! label_and_root {
    () => {
        type View<'a> = Labels<'a>;
        fn bind<'a>(&self, bind: &Bind<'a>) -> Labels<'a> {
            (bind.changing(LABEL), bind.changing(ROOT))
        }
    };
}

/// The tree's root is kept; from here on labels are global numbers.
struct Name;
/// A vertex hands its label to its root.
struct Tell;
/// A vertex takes its root's label; true if that is smaller than its own.
struct Follow;

impl VertexOp for Name {
    const KERNEL: &'static str = "cc_name";
    label_and_root!();
    fn vertex<A: Access>(&self, (label, root): Labels<'_>, part: &Part, v: LocalId) -> bool {
        root.set(v, label.get(v));
        label.set(v, part.global(v).0);
        true
    }
}

impl VertexOp for Tell {
    const KERNEL: &'static str = "cc_tell";
    label_and_root!();
    fn vertex<A: Access>(&self, (label, root): Labels<'_>, part: &Part, v: LocalId) -> bool {
        part.vertex(root.get(v)).is_some_and(|root| label.lower::<A>(root, label.get(v)))
    }
}

impl VertexOp for Follow {
    const KERNEL: &'static str = "cc_follow";
    label_and_root!();
    fn vertex<A: Access>(&self, (label, root): Labels<'_>, part: &Part, v: LocalId) -> bool {
        part.vertex(root.get(v)).is_some_and(|root| label.lower::<A>(v, label.get(root)))
    }
}

impl GraphAlgorithm for Cc {
    fn view(&self) -> View {
        View::Symmetric
    }

    fn fields(&self) -> Vec<FieldSpec> {
        let mut fields = vec![LABEL.spec(), ROOT.spec()];
        if self.keeps {
            fields.extend([NEAR, FAR, SEEN, ENTRY, ROUND].map(|field| field.spec()));
        }
        fields
    }

    fn enable_certificate_fields(&mut self) {
        self.keeps = true;
    }

    fn answer(&self) -> AnswerSpec {
        AnswerSpec { field: LABEL.spec(), column: "component", meaning: Meaning::Class }
    }

    fn parameters(&self) -> Record {
        Record::new()
    }

    fn init(&mut self, step: &mut Step<'_>) -> Result<Tally> {
        Ok(Tally::active(step.part.owned() as u64))
    }

    fn superstep(&mut self, step: &mut Step<'_>) -> Result<Tally> {
        let (part, keeps) = (step.part, self.keeps);
        match step.index {
            0 => {
                step.for_each_local(&OwnLabel);
                step.for_each(&HookFirst);
            }
            1 if part.outgoing().arcs() > 8 * part.owned() as u64 => step.for_each(&HookRoots { keeps }),
            1 => step.for_each(&HookNth { place: 1, keeps }),
            2 => match giant(step) {
                Some(_) => return Ok(Tally::active(part.owned() as u64)),
                // Without a giant component yet (low degree), one more neighbour is cheaper than all arcs.
                None => step.for_each(&HookNth { place: 2, keeps }),
            },
            3 => {
                // A ghost has no arcs here by which it could find the giant component: with ghosts nobody is skipped.
                let skip = giant(step).filter(|_| part.ghosts() == 0);
                step.for_each(&HookRest { skip, keeps });
            }
            _ => {
                if keeps {
                    step.for_changed(&Hear);
                    step.for_changed(&Date { round: step.index });
                    step.for_changed(&Enter);
                }
                step.for_changed(&Tell);
                return Ok(step.for_boundary(&Follow));
            }
        };
        step.for_each_local(&Compress);
        if step.index < 3 {
            return Ok(Tally::active(part.owned() as u64));
        }
        if part.owned() == part.graph_vertices() {
            return Ok(Tally::default());
        }
        step.for_each_local(&Name);
        step.for_each_local(&Tell);
        if keeps {
            step.for_each_local(&Settle);
        }
        step.for_each_local(&Follow);
        step.mark_all_dirty();
        Ok(Tally::active(1))
    }

    fn finish(&mut self, step: &mut Step<'_>) -> Result<()> {
        if step.part.owned() < step.part.graph_vertices() {
            step.for_each(&Follow);
        }
        Ok(())
    }

    fn result(&self, _graph: &Graph, answer: &Answer, _last: &Tally) -> Record {
        let Values::Vertex(labels) = &answer.values else { return Record::new() };
        let mut sizes: HashMap<i64, u64> = HashMap::new();
        labels.chunk_by(i64::eq).for_each(|same| *sizes.entry(same[0]).or_default() += same.len() as u64);
        Record::from_iter([
            ("components".into(), json!(sizes.len())),
            ("largest_component".into(), json!(sizes.values().max().unwrap_or(&0))),
        ])
    }

    fn sentence(&self, graph: &Graph, result: &Record) -> String {
        let number = |key: &str| result[key].as_u64().unwrap_or_default();
        let (largest, n) = (grouped(number("largest_component")), grouped(graph.vertices() as u64));
        format!("{}; the largest has {largest} of {n} vertices", counted(number("components"), "component"))
    }

    fn verify(&self, graph: &Graph, answer: &Answer) -> Verdict {
        verify(graph, answer)
    }

    /// Labels and roots are local numbers while parts are contracted, and roots stay so.
    fn is_portable(&self) -> bool {
        false
    }

    fn protection(&self) -> Option<Arc<dyn FaultTolerance>> {
        Some(Arc::new(Protection))
    }
}
