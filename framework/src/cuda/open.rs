//! Opening a rank's device: the way in from the traits of [`crate::device`].

use super::engine::Engine;
use super::gpus::Gpus;
use crate::base::error::Result;
use crate::device::{Demands, Device, Devices, Opened};
use crate::field::FieldSpec;
use crate::host::Pool;
use crate::partition::Part;

impl Device for Engine {}

impl Devices for Gpus {
    fn open(&self, part: &Part, pool: &Pool, fields: &[FieldSpec], demands: Demands) -> Result<Opened> {
        let ghosts = self.ghosts(demands.is_one_process, demands.has_checksums);
        Ok(Opened(Box::new(Engine::new(self, part, pool, fields, ghosts, demands.repeats_updates)?)))
    }
}
