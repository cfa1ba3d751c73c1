//! Compiles the contracts in `proto/` without protoc; the same descriptor feeds gRPC reflection.

use prost::Message as _;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let contracts = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?).join("../../proto");
    println!("cargo:rerun-if-changed={}", contracts.display());
    let files = ["plugin.proto", "version.proto", "askpass.proto"].map(|name| contracts.join(name));
    let descriptors = protox::compile(files, [&contracts])?;
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    std::fs::write(out.join("descriptors.bin"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure()
        .bytes(".plugin.File")
        .btree_map(".repository.ParameterAnnouncement")
        .compile_fds(descriptors)?;
    Ok(())
}
