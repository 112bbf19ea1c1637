//! What ranks say to each other in an audit. What does not fit is a finding, not an error: it may be the fault that is looked for.

use crate::error::Result;
use crate::fault::{Finding, Verdict};
use crate::id::LocalId;
use crate::partition::Part;
use crate::sum::Sum;
use crate::transport::Transport;
use std::time::{Duration, Instant};

/// One rank's end of the conversation. Calls are collective: every rank makes the same ones in the same order, whatever it found.
pub struct Talk<'a> {
    part: &'a Part,
    transport: &'a mut dyn Transport,
    talked: Duration,
    misfit: Option<Finding>,
}

impl<'a> Talk<'a> {
    pub(super) fn new(part: &'a Part, transport: &'a mut dyn Transport) -> Talk<'a> {
        Talk { part, transport, talked: Duration::ZERO, misfit: None }
    }

    /// Whether there is anybody to talk to.
    pub fn is_alone(&self) -> bool {
        self.part.routes().peers() == 1
    }

    pub(super) fn talked(&self) -> Duration {
        self.talked
    }

    /// Corrupt if a message did not fit.
    pub(super) fn verdict(&mut self) -> Verdict {
        self.misfit.take().map_or(Verdict::Sound, Verdict::Corrupt)
    }

    fn misfit(&mut self, peer: usize, found: usize, expected: usize) {
        self.misfit.get_or_insert_with(|| Finding {
            rule: "messages of the certificate fit their routes".into(),
            vertex: None,
            evidence: format!("{found} bytes came from rank {peer}, {expected} belong to it"),
        });
    }

    /// The bits of every owned value that some peer has as a ghost, by peer.
    pub(super) fn sent(&self, of: impl Fn(LocalId) -> u64) -> Vec<Vec<u64>> {
        let routes = self.part.routes();
        (0..routes.peers()).map(|peer| routes.copied_to(peer).iter().map(|&v| of(v)).collect()).collect()
    }

    /// Sends the values of owned vertices to their ghosts, of which `put` gets each.
    pub(super) fn to_ghosts(
        &mut self,
        bytes: usize,
        values: Vec<Vec<u64>>,
        mut put: impl FnMut(LocalId, u64),
    ) -> Result<()> {
        let (routes, base) = (self.part.routes(), self.part.ghost_base());
        let incoming = self.exchange(&values, bytes)?;
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

    /// Copies owned values to the ghosts of peers.
    ///
    /// # Errors
    /// When a peer is lost.
    pub fn copy_to_ghosts(&mut self, values: &mut [u64]) -> Result<()> {
        let seen = self.sent(|v| values.get(v.index()).copied().unwrap_or_default());
        self.to_ghosts(8, seen, |ghost, bits| {
            if let Some(value) = values.get_mut(ghost.index()) {
                *value = bits;
            }
        })
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
        let values: Vec<Vec<u64>> = (0..routes.peers())
            .map(|peer| routes.ghosts_of(peer).flat_map(|ghost| of(LocalId::new(base + ghost))).collect())
            .collect();
        let incoming = self.exchange(&values, 8)?;
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

    fn exchange(&mut self, values: &[Vec<u64>], bytes: usize) -> Result<Vec<Vec<u8>>> {
        if self.is_alone() {
            return Ok(vec![Vec::new()]);
        }
        let began = Instant::now();
        let pack = |words: &Vec<u64>| words.iter().flat_map(|word| word.to_le_bytes().into_iter().take(bytes)).collect();
        let mut outgoing: Vec<Vec<u8>> = values.iter().map(pack).collect();
        let mut incoming = vec![Vec::new(); outgoing.len()];
        self.transport.exchange(&mut outgoing, &mut incoming)?;
        self.talked += began.elapsed();
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
        let began = Instant::now();
        let mut all = vec![Vec::new(); self.part.routes().peers()];
        self.transport.all_gather(mine, &mut all)?;
        self.talked += began.elapsed();
        Ok(all)
    }

    /// The verdict of all ranks, which is that of the first that found something, and the answer's sum over all.
    pub(super) fn settle(&mut self, mine: Verdict, answer: u64) -> Result<(Verdict, u64)> {
        let finding = match mine.and(self.verdict()) {
            Verdict::Sound => None,
            Verdict::Corrupt(finding) => Some(finding),
        };
        let word = serde_json::to_vec(&(answer, finding)).unwrap_or_default();
        let (mut verdict, mut sum) = (Verdict::Sound, 0u64);
        for (peer, theirs) in self.gather_bytes(&word)?.iter().enumerate() {
            match serde_json::from_slice::<(u64, Option<Finding>)>(theirs) {
                Ok((answer, finding)) => {
                    sum = sum.wrapping_add(answer);
                    verdict = verdict.and(finding.map_or(Verdict::Sound, Verdict::Corrupt));
                }
                Err(_) => self.misfit(peer, theirs.len(), word.len()),
            }
        }
        let verdict = verdict.and(self.verdict());
        Ok((verdict, sum))
    }
}

fn bits(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte))
}
