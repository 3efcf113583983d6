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
            let Some(place) = study::place_of_name(&text) else {
                let error = anyhow!("`{from}` is no study: it has no `name = \"…\"`");
                let hint = "`surefoot list studies` names those that are built in";
                return Err(Failure::new(Status::BadStudy, error).hint(hint));
            };
            format!("{}\"{stem}\"{}", &text[..place.start], &text[place.end..])
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
