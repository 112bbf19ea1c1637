//! Connected components as a plugin: the program, the rules of Afforest, the certificate with its evidence, and the serial check.

mod afforest;
mod certificate;
mod evidence;
mod forest;
mod program;
mod protection;
mod verify;

pub use program::{Cc, LABEL};

framework::inventory::submit! {
    framework::algorithm::Registration::new::<Cc>("cc", "weakly connected components, labelled by their smallest ID")
        .with_kernels(include_str!("../../../kernels/cc.cu"), include_str!("../../../kernels/ptx/cc.ptx"))
}
