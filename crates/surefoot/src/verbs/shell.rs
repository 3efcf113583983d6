//! `surefoot completions` and `surefoot man`: made by clap from `cli.rs`.

use crate::cli::Surefoot;
use crate::failure::{Failure, Status};
use anyhow::Context as _;
use clap::{Command, CommandFactory as _};
use clap_complete::Shell;
use std::path::Path;

/// Prints a shell's completions, of the verbs that help shows: clap would offer the hidden ones, too.
pub fn completions(shell: Shell) -> Result<Status, Failure> {
    let all = Surefoot::command();
    let shown: Vec<Command> = all.get_subcommands().filter(|verb| !verb.is_hide_set()).cloned().collect();
    let command = Command::new("surefoot").version(env!("SUREFOOT_VERSION")).disable_help_subcommand(true);
    let mut command = command.subcommands(shown);
    clap_complete::generate(shell, &mut command, "surefoot", &mut std::io::stdout());
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
