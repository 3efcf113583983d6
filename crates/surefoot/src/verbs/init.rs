//! `surefoot init NAME`: a commented study file to edit.

use crate::cli::InitArgs;
use crate::failure::{Failure, Status};
use anyhow::anyhow;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

/// The file that `init` writes; `NAME` becomes the study's name. A test plans it.
pub const TEMPLATE: &str = include_str!("init.toml");

/// Writes NAME.toml; never over a file that is there.
pub fn run(args: &InitArgs) -> Result<Status, Failure> {
    let name = args.name.trim_end_matches(".toml");
    let path = format!("{name}.toml");
    let stem = Path::new(name).file_name().unwrap_or_default().to_string_lossy();
    if !study::is_name(&stem) {
        let error = anyhow!("`{stem}` can't be a study's name");
        return Err(Failure::new(Status::BadStudy, error).hint(format!("a name has {}", study::NAME)));
    }
    let text = match &args.from {
        None => TEMPLATE.replace("NAME", &stem),
        Some(from) => {
            let (_, text) = crate::source::text(from)?;
            if study::name(&text).is_none() {
                let error = anyhow!("`{from}` is no study: it has no `name = \"…\"`");
                let hint = "`surefoot list studies` names those that are built in";
                return Err(Failure::new(Status::BadStudy, error).hint(hint));
            }
            renamed(&text, &stem)
        }
    };
    let mut file = std::fs::File::options().write(true).create_new(true).open(&path).map_err(|error| {
        let hint = match error.kind() {
            ErrorKind::AlreadyExists => "choose another name, or remove the file first",
            _ => "choose a folder that is there and that you may write to",
        };
        Failure::new(Status::BadStudy, anyhow!(error).context(format!("cannot create `{path}`"))).hint(hint)
    })?;
    if let Err(error) = file.write_all(text.as_bytes()) {
        // What is there would be in the way of the next try.
        let _ = std::fs::remove_file(&path);
        let failure = anyhow!(error).context(format!("cannot write `{path}`"));
        return Err(Failure::new(Status::Fault, failure).hint("make room on its disk, or choose another folder"));
    }
    println!("wrote {path}; edit it, then `surefoot plan {path}` and `surefoot run {path}`");
    Ok(Status::Answered)
}

/// A study's text under another name; the line that names it stands before all tables.
fn renamed(text: &str, name: &str) -> String {
    let is_name = |line: &str| line.split_once('=').is_some_and(|(key, _)| key.trim() == "name");
    let mut done = false;
    let line = |line: &str| {
        if done || !is_name(line) {
            return format!("{line}\n");
        }
        done = true;
        format!("name = \"{name}\"\n")
    };
    text.lines().map(line).collect()
}
