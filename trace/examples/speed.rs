//! dev
#![allow(clippy::print_stdout)]
fn main() {
    let path = std::env::args().nth(1).expect("path");
    let recording = trace::read(path.as_ref(), &trace::Options { recovers: true, ..Default::default() }).expect("read");
    for device in &recording.devices {
        println!("{:?}", trace::analysis::Figures::of(&device.works).breakdown);
    }
}
