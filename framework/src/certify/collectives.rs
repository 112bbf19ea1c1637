//! What ranks say to each other in an audit. What does not fit is a finding, not an error: it may be the fault that is looked for.

use crate::base::error::Result;
use crate::base::id::LocalId;
use crate::base::sum::Sum;
use crate::base::verdict::{Finding, Verdict};
use crate::field::Value;
use crate::partition::Part;
use crate::transport::Transport;
use std::cell::Cell;

/// One rank's end of the conversation. Calls are collective: every rank makes the same ones in the same order, whatever it found.
pub struct Collectives<'a> {
    part: &'a Part,
    transport: &'a mut dyn Transport,
    misfit: Option<Finding>,
}

impl<'a> Collectives<'a> {
    pub(super) fn new(part: &'a Part, transport: &'a mut dyn Transport) -> Collectives<'a> {
        Collectives { part, transport, misfit: None }
    }

    /// Whether there is anybody to talk to.
    pub fn is_alone(&self) -> bool {
        self.part.routes().ranks() == 1
    }

    /// Corrupt if a message did not fit.
    pub(super) fn verdict(&self) -> Verdict {
        self.misfit.clone().map_or(Verdict::Sound, Verdict::Corrupt)
    }

    fn misfit(&mut self, peer: usize, found: usize, expected: usize) {
        self.misfit.get_or_insert_with(|| Finding {
            rule: "messages of the certificate fit their routes".into(),
            vertex: None,
            evidence: format!("{found} bytes came from rank {peer}, {expected} belong to it"),
        });
    }

    /// Sends values of owned vertices to their ghosts; `put` gets the bits of each.
    pub(super) fn send_to_ghosts(
        &mut self,
        bytes: usize,
        of: impl Fn(LocalId) -> u64,
        mut put: impl FnMut(LocalId, u64),
    ) -> Result<()> {
        let (routes, base) = (self.part.routes(), self.part.ghost_base());
        let values = (0..routes.ranks()).map(|peer| routes.copied_to(peer).iter().map(|&v| of(v)).collect());
        let incoming = self.exchange(values.collect(), bytes)?;
        for (peer, message) in incoming.iter().enumerate() {
            let ghosts = routes.ghosts_of(peer);
            if message.len() != ghosts.len() * bytes {
                self.misfit(peer, message.len(), ghosts.len() * bytes);
                continue;
            }
            for (ghost, value) in ghosts.zip(message.chunks_exact(bytes)) {
                put(LocalId::new(base + ghost), bits(value));
            }
        }
        Ok(())
    }

    /// Copies owned values to the ghosts of peers. `values` has one for each local vertex.
    ///
    /// # Errors
    /// When a peer is lost.
    pub fn copy_to_ghosts<T: Value>(&mut self, values: &mut [T]) -> Result<()> {
        let copies = Cell::from_mut(values).as_slice_of_cells();
        let (of, put) = (
            |v: LocalId| copies[v.index()].get().to_bits(),
            |ghost: LocalId, bits| copies[ghost.index()].set(T::from_bits(bits)),
        );
        self.send_to_ghosts(T::KIND.bytes(), of, put)
    }

    /// Sends a word for every owned vertex that is a ghost elsewhere; `put` gets that of each ghost.
    ///
    /// # Errors
    /// When a peer is lost.
    pub fn words_to_ghosts(&mut self, of: impl Fn(LocalId) -> u64, put: impl FnMut(LocalId, u64)) -> Result<()> {
        self.send_to_ghosts(8, of, put)
    }

    /// Sends a pair of numbers for every ghost to its owner, of which `take` gets each.
    ///
    /// # Errors
    /// When a peer is lost.
    pub fn to_owners(
        &mut self,
        of: impl Fn(LocalId) -> [u64; 2],
        mut take: impl FnMut(LocalId, [u64; 2]),
    ) -> Result<()> {
        let (routes, base) = (self.part.routes(), self.part.ghost_base());
        let values = (0..routes.ranks())
            .map(|peer| routes.ghosts_of(peer).flat_map(|ghost| of(LocalId::new(base + ghost))).collect());
        let incoming = self.exchange(values.collect(), 8)?;
        for (peer, message) in incoming.iter().enumerate() {
            let owned = routes.copied_to(peer);
            if message.len() != owned.len() * 16 {
                self.misfit(peer, message.len(), owned.len() * 16);
                continue;
            }
            for (&v, pair) in owned.iter().zip(message.chunks_exact(16)) {
                take(v, [bits(&pair[..8]), bits(&pair[8..])]);
            }
        }
        Ok(())
    }

    fn exchange(&mut self, values: Vec<Vec<u64>>, bytes: usize) -> Result<Vec<Vec<u8>>> {
        if self.is_alone() {
            return Ok(vec![Vec::new()]);
        }
        let pack =
            |words: &Vec<u64>| words.iter().flat_map(|word| word.to_le_bytes().into_iter().take(bytes)).collect();
        let mut outgoing: Vec<Vec<u8>> = values.iter().map(pack).collect();
        let mut incoming = vec![Vec::new(); outgoing.len()];
        self.transport.exchange(&mut outgoing, &mut incoming)?;
        Ok(incoming)
    }

    /// The words of all ranks, in rank order.
    ///
    /// # Errors
    /// When a peer is lost.
    pub fn gather(&mut self, mine: &[u64]) -> Result<Vec<Vec<u64>>> {
        let bytes: Vec<u8> = mine.iter().flat_map(|word| word.to_le_bytes()).collect();
        let all = self.gather_bytes(&bytes)?;
        Ok(all.iter().map(|theirs| theirs.chunks_exact(8).map(bits).collect()).collect())
    }

    /// Numbers of all ranks, added up (wrapping).
    ///
    /// # Errors
    /// When a peer is lost.
    pub fn total<const N: usize>(&mut self, mine: [u64; N]) -> Result<[u64; N]> {
        let mut total = [0u64; N];
        for (peer, theirs) in self.gather(&mine)?.into_iter().enumerate() {
            if theirs.len() != N {
                self.misfit(peer, theirs.len() * 8, N * 8);
            }
            total.iter_mut().zip(theirs).for_each(|(sum, term)| *sum = sum.wrapping_add(term));
        }
        Ok(total)
    }

    /// A sum of reals over all ranks.
    ///
    /// # Errors
    /// When a peer is lost.
    pub fn sum(&mut self, mine: Sum) -> Result<Sum> {
        let mut total = Sum::default();
        for (peer, theirs) in self.gather(&mine.to_bits())?.into_iter().enumerate() {
            match theirs[..] {
                [high, low] => total.merge(Sum::from_bits([high, low])),
                _ => self.misfit(peer, theirs.len() * 8, 16),
            }
        }
        Ok(total)
    }

    fn gather_bytes(&mut self, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
        if self.is_alone() {
            return Ok(vec![mine.to_vec()]);
        }
        let mut all = vec![Vec::new(); self.part.routes().ranks()];
        self.transport.all_gather(mine, &mut all)?;
        Ok(all)
    }
}

fn bits(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte))
}
