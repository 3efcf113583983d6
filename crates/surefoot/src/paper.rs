//! PDF, by the program `surefoot-pdf`: a document as JSON goes in, the PDF comes out.

use crate::failure::{Failure, Status};
use anyhow::{Context as _, anyhow};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

const PROGRAM: &str = "surefoot-pdf";

/// Sets a document that `report::print` described.
///
/// # Errors
/// When the program is missing, or refuses the document.
pub fn pdf(document: &[u8]) -> Result<Vec<u8>, Failure> {
    let program = find().ok_or_else(|| {
        Failure::new(Status::Missing, anyhow!("the program {PROGRAM}, which writes PDFs, is neither beside surefoot nor on the PATH"))
            .hint("install the package surefoot-pdf, which `make package` makes beside surefoot's; in surefoot's sources `cargo build --release -p surefoot-pdf` makes it in target/release; or write --html and print that from a browser")
    })?;
    let cannot = || format!("cannot run {}", program.display());
    let mut command = Command::new(&program);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().with_context(cannot)?;
    // It reads all before it writes. One that ended before says why itself.
    let written = child.stdin.take().expect("it was asked for").write_all(document);
    let output = child.wait_with_output().with_context(cannot)?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        return Err(anyhow!("{} ended with {}: {}", program.display(), output.status, words.trim_end()).into());
    }
    written.with_context(cannot)?;
    Ok(output.stdout)
}

/// The one beside this program, which is of its version, before one of the PATH.
fn find() -> Option<PathBuf> {
    let own = std::env::current_exe().ok();
    let beside = own.as_deref().and_then(std::path::Path::parent).map(|folder| folder.join(PROGRAM));
    let on_path = storage::search_path().into_iter().map(|folder| folder.join(PROGRAM));
    beside.into_iter().chain(on_path).find(|file| file.is_file())
}
