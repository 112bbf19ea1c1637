//! A transport that loses, repeats or changes one message.

use super::{FaultInjector, Model, Target};
use crate::base::error::Result;
use crate::base::id::Rank;
use crate::transport::Transport;
use std::sync::atomic::Ordering::Relaxed;

/// Passes every call on; one message to a peer is struck.
pub struct InjectingTransport<'r, 'g, T> {
    struck: &'r FaultInjector<'g>,
    inner: T,
    /// What was sent to each peer in the call before.
    before: Vec<Vec<u8>>,
}

impl<'r, 'g, T: Transport> InjectingTransport<'r, 'g, T> {
    pub(super) fn new(struck: &'r FaultInjector<'g>, inner: T) -> InjectingTransport<'r, 'g, T> {
        InjectingTransport { struck, inner, before: Vec::new() }
    }

    fn strike(&mut self, outgoing: &mut [Vec<u8>], now: u32) {
        let mut rng = self.struck.strike.rng();
        let me = self.inner.rank().index();
        let peers: Vec<usize> = (0..outgoing.len()).filter(|&p| p != me && !outgoing[p].is_empty()).collect();
        let Some(&peer) = rng.below(peers.len() as u64).and_then(|place| peers.get(place as usize)) else { return };
        let message = &mut outgoing[peer];
        let mut flipped = None;
        match self.struck.strike.model {
            Model::Drop => message.clear(),
            Model::Duplicate => match self.before.get(peer) {
                Some(before) if before != message && !before.is_empty() => message.clone_from(before),
                _ => return,
            },
            model => {
                let (model, count) = match model {
                    Model::Corrupt => (Model::Random, 1 + rng.word() as usize % 16),
                    model => (model, 1),
                };
                let Some(first) = rng.below(message.len() as u64) else { return };
                for byte in message.iter_mut().skip(first as usize).take(count) {
                    let (new, bit) = super::changed(model, (*byte).into(), 8, &mut rng);
                    (*byte, flipped) = (new as u8, flipped.or(bit));
                }
            }
        }
        self.struck.record("message", None, now, flipped);
    }
}

impl<T: Transport> Transport for InjectingTransport<'_, '_, T> {
    fn rank(&self) -> Rank {
        self.inner.rank()
    }

    fn ranks(&self) -> usize {
        self.inner.ranks()
    }

    fn exchange(&mut self, outgoing: &mut [Vec<u8>], incoming: &mut [Vec<u8>]) -> Result<()> {
        let is_message = matches!(self.struck.strike.model, Model::Drop | Model::Duplicate | Model::Corrupt);
        if is_message && self.struck.strike.target == Target::Ghost && self.struck.strike.rank == self.rank() {
            let sent: Vec<Vec<u8>> = outgoing.to_vec();
            let now = self.struck.now.load(Relaxed);
            if now != u32::MAX && self.struck.is_due(self.rank(), now, Target::Ghost) {
                self.strike(outgoing, now);
            }
            self.before = sent;
        }
        self.inner.exchange(outgoing, incoming)
    }

    fn all_gather(&mut self, mine: &[u8], all: &mut [Vec<u8>]) -> Result<()> {
        self.inner.all_gather(mine, all)
    }

    fn abandon(&mut self, reason: &str) {
        self.inner.abandon(reason);
    }
}
