//! Connected components as a plugin: the program, the rules of Afforest, the certificate with its evidence, and the serial check.

mod fields;
mod verify;
mod evidence;
mod forest;
mod certificate;
mod protection;
mod afforest;
mod program;

pub use fields::LABEL;
pub use program::Cc;

framework::inventory::submit! {
    framework::algorithm::Registration::new::<Cc>("cc", "weakly connected components, labelled by their smallest ID")
        .with_kernels(include_str!("../../../kernels/cc.cu"), include_str!("../../../kernels/ptx/cc.ptx"))
}
