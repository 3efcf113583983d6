//! `surefoot init NAME`: a commented study file to edit.

use crate::cli::InitArgs;
use crate::failure::{Failure, Status};
use anyhow::Context as _;
use std::io::Write as _;

/// The file that `init` writes; `NAME` becomes the study's name. A test plans it.
pub const TEMPLATE: &str = include_str!("init.toml");

/// Writes NAME.toml; never over a file that is there.
pub fn run(args: &InitArgs) -> Result<Status, Failure> {
    let name = args.name.trim_end_matches(".toml");
    let path = format!("{name}.toml");
    let mut file = std::fs::File::options()
        .write(true)
        .create_new(true)
        .open(&path)
        .with_context(|| format!("cannot create `{path}`"))
        .map_err(|error| Failure::new(Status::BadStudy, error).hint("choose another name, or remove the file first"))?;
    let stem = std::path::Path::new(name).file_name().unwrap_or_default().to_string_lossy();
    file.write_all(TEMPLATE.replace("NAME", &stem).as_bytes()).with_context(|| format!("cannot write `{path}`"))?;
    println!("wrote {path}; edit it, then `surefoot plan {path}` and `surefoot run {path}`");
    Ok(Status::Answered)
}
