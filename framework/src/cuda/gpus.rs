//! The GPUs of a run: which rank works on which, their contexts, and the images of the kernels for each architecture.

use super::cache::Cache;
use super::compile::{self, nvrtc_version};
use super::driver::{Context, DeviceInfo};
use super::layout::PEERS;
use super::messages::{PeerAccess, PeerRegistry};
use crate::base::error::Result;
use crate::base::id::Rank;
use crate::device::Kernels;
use crate::partition::Part;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// How ghosts travel between ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ghosts {
    /// Framed on the host, over the transport: for messages that carry checksums or leave the process.
    ByTransport,
    /// From device to device.
    ByDevice,
}

/// Bytes of PTX images and cubins, by name of the kernels and architecture.
type Images = HashMap<(&'static str, (u32, u32)), Arc<Vec<u8>>>;

/// The GPUs of a run, and the kernels that run on them.
#[derive(Debug)]
pub struct Gpus {
    devices: Vec<DeviceInfo>,
    pub(super) kernels: Kernels,
    contexts: Vec<Mutex<Option<Arc<Context>>>>,
    images: Mutex<Images>,
    cache: Cache,
    pub(super) board: Arc<PeerRegistry>,
    /// Set for tests of the other ways.
    ghosts: Ghosts,
    notes: Mutex<Vec<String>>,
}

impl Gpus {
    /// These devices, at least one, and a plugin's kernels. Nothing is opened yet.
    ///
    /// # Panics
    /// Without any device.
    pub fn new(devices: Vec<DeviceInfo>, kernels: Kernels) -> Gpus {
        assert!(!devices.is_empty(), "a run needs a device");
        let contexts = devices.iter().map(|_| Mutex::new(None)).collect();
        Gpus {
            devices,
            kernels,
            contexts,
            images: Mutex::default(),
            cache: Cache::of_user(),
            board: Arc::default(),
            ghosts: Ghosts::ByDevice,
            notes: Mutex::default(),
        }
    }

    /// The same, with ghosts over the transport always.
    pub fn with_ghosts_by_transport(self) -> Gpus {
        Gpus { ghosts: Ghosts::ByTransport, ..self }
    }

    /// How ghosts travel where ranks share this process or not, and where messages carry checksums or not.
    pub(super) fn ghosts(&self, is_one_process: bool, has_checksums: bool) -> Ghosts {
        if is_one_process && !has_checksums { self.ghosts } else { Ghosts::ByTransport }
    }

    /// How messages of a rank get to each of its peers, if devices exchange at all.
    pub(super) fn reaches(&self, context: &Context, part: &Part) -> Result<Option<Vec<PeerAccess>>> {
        let ranks = part.routes().ranks();
        if !(2..=PEERS).contains(&ranks) {
            return Ok(None);
        }
        let reach = |peer: usize| -> Result<PeerAccess> {
            let pair = (part.rank().index() % self.devices.len(), peer % self.devices.len());
            if pair.0 == pair.1 {
                return Ok(PeerAccess::Mapped);
            }
            let there = self.context(Rank(peer as u32))?;
            let mut known = self.board.reaches.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(&reach) = known.get(&pair) {
                return Ok(reach);
            }
            let reach = if context.reaches(&there)? { PeerAccess::Mapped } else { PeerAccess::Copied };
            known.insert(pair, reach);
            Ok(reach)
        };
        (0..ranks).map(reach).collect::<Result<_>>().map(Some)
    }

    /// The device of a rank: they are dealt in order, and again from the first if there are more ranks.
    pub fn device(&self, rank: Rank) -> &DeviceInfo {
        &self.devices[rank.index() % self.devices.len()]
    }

    /// What people should know of the last trials, once each.
    pub fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn context(&self, rank: Rank) -> Result<Arc<Context>> {
        let place = rank.index() % self.devices.len();
        let mut slot = self.contexts[place].lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(context) = slot.as_ref() {
            return Ok(Arc::clone(context));
        }
        let context = Arc::new(Context::new(self.devices[place].clone())?);
        *slot = Some(Arc::clone(&context));
        Ok(context)
    }

    /// The image of some kernels for an architecture. One rank makes it, the others wait and share it.
    pub(super) fn image(&self, kernels: &Kernels, device: &DeviceInfo) -> Result<Arc<Vec<u8>>> {
        let capability = device.capability;
        let mut images = self.images.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(image) = images.get(&(kernels.name, capability)) {
            return Ok(Arc::clone(image));
        }
        let (image, note) = compile::image(kernels, device, nvrtc_version(), &self.cache)?;
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(note) = note.filter(|note| !notes.contains(note)) {
            notes.push(note);
        }
        let image = Arc::new(image);
        images.insert((kernels.name, capability), Arc::clone(&image));
        Ok(image)
    }
}
