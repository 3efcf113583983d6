//! `surefoot-pdf`: a document as JSON on standard input, the PDF on standard output.

use std::io::{IsTerminal as _, Read as _, Write as _};
use std::process::ExitCode;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args_os().len() > 1 || std::io::stdin().is_terminal() {
        return Err("surefoot-pdf sets what `surefoot report RESULTS --pdf FILE` sends it: use that".into());
    }
    let mut json = Vec::new();
    std::io::stdin().read_to_end(&mut json)?;
    std::io::stdout().write_all(&pdf::pdf(&json)?)?;
    Ok(())
}
