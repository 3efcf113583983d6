//! `surefoot completions` and `surefoot man`: made by clap from `cli.rs`.

use crate::cli::Surefoot;
use crate::failure::{Failure, Status};
use anyhow::Context as _;
use clap::CommandFactory as _;
use clap_complete::Shell;
use std::path::Path;

/// Prints a shell's completions.
pub fn completions(shell: Shell) -> Result<Status, Failure> {
    clap_complete::generate(shell, &mut Surefoot::command(), "surefoot", &mut std::io::stdout());
    Ok(Status::Answered)
}

/// Writes a man page for each verb.
pub fn man(folder: &Path) -> Result<Status, Failure> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    clap_mangen::generate_to(Surefoot::command(), folder)
        .with_context(|| format!("cannot write man pages into {}", folder.display()))?;
    println!("man pages are in {}", folder.display());
    Ok(Status::Answered)
}
