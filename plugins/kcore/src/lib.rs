//! k-core as a plugin: the program, its options, the certificate, and the serial check.

mod fields;
mod verify;
mod certificate;
mod protection;
mod program;

pub use fields::{DEGREE, STEP};
pub use program::KCore;

framework::inventory::submit! {
    framework::algorithm::Registration::new::<KCore>("kcore", "the k-core, or the core number of every vertex")
        .with_kernels(include_str!("../../../kernels/kcore.cu"), include_str!("../../../kernels/ptx/kcore.ptx"))
}
