//! k-core as a plugin: the program, its options, the certificate, and the serial check.

mod certificate;
mod program;
mod protection;
mod verify;

pub use program::{DEGREE, KCore, STEP};

framework::inventory::submit! {
    framework::algorithm::Registration::new::<KCore>("kcore", "the k-core, or the core number of every vertex")
        .with_kernels(include_str!("../../../kernels/kcore.cu"), include_str!("../../../kernels/ptx/kcore.ptx"))
}
