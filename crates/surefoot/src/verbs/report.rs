//! `surefoot report RESULTS`: the answer again, from the ledger alone. Every output that is asked for is written.

use crate::cli::{FORMAT, ReportArgs, STANDARD};
use crate::failure::{Failure, Status};
use crate::knowledge;
use crate::verbs::status::results_file;
use anyhow::anyhow;
use ledger::Reader;
use nix::unistd::{AccessFlags, access, geteuid};
use report::{Asked, FleetReport, Format, Make};
use std::fs::File;
use std::io::{BufWriter, ErrorKind, IsTerminal as _, Read as _, Write};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// Shows or exports a results file.
pub fn run(args: &ReportArgs) -> Result<Status, Failure> {
    let outputs = outputs(args);
    require_apart(&outputs)?;
    if args.full && !outputs.is_empty() {
        return Err(Failure::new(Status::BadStudy, anyhow!("`--full` has no effect on what is exported"))
            .hint("leave it out: every format has all of it"));
    }
    let results = results_file(&args.results);
    let open = || {
        let reader = Reader::open_untouched(&results);
        let of_one = |reader: Reader| match args.member {
            Some(member) => reader.of_member(member),
            None => Ok(reader),
        };
        reader.and_then(of_one).map_err(|error| unreadable(error.into()))
    };
    let of_fleet = match args.member {
        Some(_) => None,
        None => FleetReport::read(&open()?, workloads::is_choice).map_err(of_results)?,
    };
    if let Some(report) = of_fleet {
        return fleet(args, &report, &outputs, &open()?);
    }
    let read = || report::read(&open()?).map(knowledge::told).map_err(of_results);
    if outputs.is_empty() {
        let input = read()?;
        let results = results.to_string_lossy();
        let place = report::Place { results: Some(&results), ..report::Place::default() };
        print!("{}", terminal(&input, &place, args.full));
        return Ok(if report::has_holes(&input) { Status::Holes } else { Status::Answered });
    }
    let is_analysed = |output: &Output| !matches!(output.what, What::Format(Format { make: Make::Ledger(_), .. }));
    let input = if outputs.iter().any(is_analysed) { Some(read()?) } else { None };
    for output in &outputs {
        output.write(&open()?, input.as_ref())?;
    }
    Ok(Status::Answered)
}

/// A fleet's answer; of the formats those that have one over hosts, or only export what was measured.
fn fleet(args: &ReportArgs, report: &FleetReport, outputs: &[Output], reader: &Reader) -> Result<Status, Failure> {
    let of_one = |output: &&Output| {
        let is_of_fleet = |format: &Format| ["html", "json", "csv", "parquet"].contains(&format.name);
        !matches!(output.what, What::Format(format) if is_of_fleet(format))
    };
    let option = outputs.iter().find(of_one).map(Output::option).or_else(|| args.full.then(|| "--full".into()));
    if let Some(option) = option {
        let error = anyhow!("`{option}` is of one machine, and {} holds a fleet's results", args.results.display());
        return Err(Failure::new(Status::BadStudy, error).hint("--member K shows one member of it"));
    }
    for output in outputs {
        match &output.what {
            What::Format(format) if format.name == "html" => {
                write_to(output.target, |out| Ok(out.write_all(report.html().as_bytes())?))?;
            }
            What::Format(format) if format.name == "json" => {
                write_to(output.target, |out| {
                    write!(out, "{{\"analysis\":{},\"ledger\":", report.json())?;
                    ledger::export::json(reader, out)?;
                    Ok(out.write_all(b"}\n")?)
                })?;
            }
            _ => output.write(reader, None)?,
        }
    }
    if !outputs.is_empty() {
        return Ok(Status::Answered);
    }
    print!("{}", terminal_of_fleet(report));
    Ok(if report.has_holes() { Status::Holes } else { Status::Answered })
}

/// What a reader of results meets: a fleet's have an answer of another kind.
pub fn of_results(error: report::Error) -> Failure {
    let is_fleet = matches!(error, report::Error::Fleet(_));
    let hint = "`surefoot report` has a fleet's own answer; its --member K shows one member";
    unreadable(error.into()).hinted(is_fleet.then_some(hint))
}

/// What is written, and where.
struct Output<'a> {
    what: What<'a>,
    target: &'a Path,
}

/// Makes text of one scenario.
type OfScenario = fn(&report::Input, &str) -> Result<String, report::Error>;

enum What<'a> {
    Format(&'static Format),
    /// What is made of one scenario: by which option, how, and its label.
    Scenario(&'static str, OfScenario, &'a str),
}

/// All that are asked for.
fn outputs(args: &ReportArgs) -> Vec<Output<'_>> {
    let formats = args.formats.0.iter().map(|(format, target)| Output { what: What::Format(format), target });
    let commands = args.reproduce.as_deref().map(|label| What::Scenario("--reproduce", report::reproduce, label));
    let applied = args.apply.as_deref().map(|label| What::Scenario("--apply", report::apply, label));
    let of_scenarios = commands.into_iter().chain(applied);
    formats.chain(of_scenarios.map(|what| Output { what, target: Path::new(STANDARD) })).collect()
}

/// Two outputs to one place would be neither.
fn require_apart(outputs: &[Output]) -> Result<(), Failure> {
    for (index, one) in outputs.iter().enumerate() {
        let is_same = |other: &&Output| {
            other.target == one.target || std::path::absolute(other.target).ok() == std::path::absolute(one.target).ok()
        };
        if let Some(other) = outputs[index + 1..].iter().find(is_same) {
            return Err(one_place(&one.option(), &other.option(), one.target));
        }
    }
    Ok(())
}

/// Two outputs that would write over each other.
fn one_place(one: &str, other: &str, target: &Path) -> Failure {
    let place = if target == Path::new(STANDARD) { "standard output".into() } else { target.display().to_string() };
    Failure::new(Status::BadStudy, anyhow!("`{one}` and `{other}` both write to {place}"))
        .hint("name a file of its own for each, or ask for one after the other")
}

/// A page, JSON and text, each made where it is asked for.
type Texts<'a> = [&'a dyn Fn() -> String; 3];

/// A page into a file, JSON or else text on standard output: what is asked for of a comparison.
pub fn write_page_and_text(html: Option<&Path>, is_json: bool, [page, json, text]: Texts) -> Result<Status, Failure> {
    if is_json && html == Some(Path::new(STANDARD)) {
        return Err(one_place("--html", "--json", Path::new(STANDARD)));
    }
    if let Some(target) = html {
        write_to(target, |out| Ok(out.write_all(page().as_bytes())?))?;
    }
    if is_json {
        println!("{}", json());
    } else if html.is_none() {
        print!("{}", text());
    }
    Ok(Status::Answered)
}

impl Output<'_> {
    /// The option that asks for it.
    fn option(&self) -> String {
        match self.what {
            What::Format(Format { asked: Asked::Named, .. }) => format!("--{FORMAT}"),
            What::Format(format) => format!("--{}", format.name),
            What::Scenario(option, ..) => option.into(),
        }
    }

    /// `input` is there for whatever is made from more than the results file.
    fn write(&self, reader: &Reader, input: Option<&report::Input>) -> Result<(), Failure> {
        let input = || input.expect("read for what shows an answer");
        let format = match self.what {
            What::Format(format) => format,
            What::Scenario(_, make, scenario) => {
                let text = make(input(), scenario).map_err(|error| Failure::new(Status::BadStudy, error))?;
                return write_to(self.target, |out| Ok(out.write_all(text.as_bytes())?));
            }
        };
        let make = |out: &mut (dyn Write + Send)| match format.make {
            Make::Ledger(make) => make(reader, out),
            Make::Analysis(make) => make(input(), reader, out),
        };
        // What may fail for want of a run or a program does so before anything is written.
        if format.asked != Asked::Named && format.program.is_none() {
            return write_to(self.target, |out| Ok(make(out)?));
        }
        let mut made = Vec::new();
        make(&mut made).map_err(|error| unreadable(error.into()))?;
        if format.program.is_some() {
            made = crate::paper::pdf(&made)?;
        }
        write_to(self.target, |out| Ok(out.write_all(&made)?))
    }
}

/// A fleet's answer for a terminal.
pub fn terminal_of_fleet(report: &FleetReport) -> String {
    let (width, colour) = screen();
    report.terminal(width, colour)
}

/// How wide the terminal is, and whether it has colours.
fn screen() -> (usize, bool) {
    let stdout = std::io::stdout();
    (crate::screen::size(&stdout).0, stdout.is_terminal() && std::env::var_os("NO_COLOR").is_none())
}

/// The answer for a terminal, as wide and as colourful as it is: in brief, or in full.
pub fn terminal(input: &report::Input, place: &report::Place, is_full: bool) -> String {
    let (width, colour) = screen();
    if is_full { report::terminal(input, width, colour) } else { report::summary(input, place, width, colour) }
}

/// A results file that can't be read is the user's to mend.
pub fn unreadable(error: anyhow::Error) -> Failure {
    Failure::new(Status::BadStudy, error)
}

/// What an output is written to.
type Out<'a> = &'a mut (dyn Write + Send);

/// Writes to a file and says which, or to standard output.
fn write_to(target: &Path, write: impl FnOnce(Out) -> anyhow::Result<()>) -> Result<(), Failure> {
    if target == Path::new(STANDARD) {
        let mut out = BufWriter::new(std::io::stdout());
        write(&mut out).map_err(|error| not_written(target, error))?;
        return out.flush().map_err(|error| cannot_write(target, error));
    }
    require_writable(target)?;
    let mut out = BufWriter::new(File::create(target).map_err(|error| cannot_write(target, error))?);
    write(&mut out).map_err(|error| not_written(target, error))?;
    out.flush().map_err(|error| cannot_write(target, error))?;
    eprintln!("{}", target.display());
    Ok(())
}

/// Where the page of a results file is by default. Names may have points: what follows one is part of the page's name, too.
pub fn page_beside(results: &Path) -> PathBuf {
    if results.extension().is_some_and(|end| end == "surefoot") {
        return results.with_extension("html");
    }
    let mut page = results.as_os_str().to_os_string();
    page.push(".html");
    page.into()
}

/// Refuses to write the page that nobody named over what is none of ours: a file of the user's own may be called so.
pub fn keep_no_page(page: &Path) -> Result<(), Failure> {
    if page.symlink_metadata().is_err() {
        return Ok(());
    }
    require_writable(page)?;
    // A pipe would be waited for.
    if !page.is_file() {
        return Ok(());
    }
    let mut begin = Vec::new();
    let bytes_max = report::PAGE_BEGIN.len() as u64;
    let read = File::open(page).and_then(|file| file.take(bytes_max).read_to_end(&mut begin));
    // Of one that a full disk cut off, less is there.
    if read.is_ok() && report::PAGE_BEGIN.as_bytes().starts_with(&begin) {
        return Ok(());
    }
    let error = anyhow!("{} is there, and is no page that surefoot made", page.display());
    Err(Failure::new(Status::BadStudy, error).hint("move it away, or name another file for the page with --html FILE"))
}

/// Writes a page, never over results.
pub fn write_page(target: &Path, page: &str) -> Result<(), Failure> {
    require_writable(target)?;
    std::fs::write(target, page).map_err(|error| cannot_write(target, error))
}

/// Refuses to write over results, into a folder that is not there, where the answer goes, what this user may not write, and
/// what another user laid there.
pub fn require_writable(target: &Path) -> Result<(), Failure> {
    let absolute = std::path::absolute(target)?;
    let has_folder = absolute.parent().is_some_and(Path::is_dir);
    let error = if target == Path::new(STANDARD) {
        anyhow!("standard output has the answer, and what is asked for beside it goes to a file")
    } else if ledger::has_our_mark(target) {
        anyhow!("{} is a results file, and is not written over", target.display())
    } else if let Some(trap) = trap(target) {
        anyhow!("{} is {trap}, and is not written to", target.display())
    } else if target.is_dir() || !has_folder {
        let what = if target.is_dir() { "it is a folder" } else { "its folder is not there" };
        anyhow!("cannot write {}: {what}", target.display())
    } else {
        // What is there is written over; anything else is made in its folder.
        let folder = absolute.parent().unwrap_or(&absolute);
        let place: &Path = if absolute.exists() { &absolute } else { folder };
        return access(place, AccessFlags::W_OK).map_err(|errno| cannot_write(target, errno.into()));
    };
    Err(Failure::new(Status::BadStudy, error).hint("name another file"))
}

/// What another user laid there: a link leads to any file, and a pipe holds up whoever writes. Root's are `/dev/stdout` and
/// its like.
fn trap(target: &Path) -> Option<String> {
    let found = target.symlink_metadata().ok()?;
    let is_others = ![0, geteuid().as_raw()].contains(&found.uid());
    let what = match found.file_type() {
        kind if kind.is_symlink() => "symbolic link",
        kind if kind.is_fifo() => "pipe",
        _ => return None,
    };
    is_others.then(|| format!("a {what} of user {}", found.uid()))
}

/// What came of writing: a full disk's, or the results'.
fn not_written(target: &Path, error: anyhow::Error) -> Failure {
    match error.downcast::<report::Error>() {
        Ok(report::Error::Ledger(ledger::Error::Export(cause))) if is_full(&cause) => cannot_write(target, cause),
        Ok(error @ report::Error::Ledger(ledger::Error::Export(_))) => Failure::new(Status::Fault, error),
        Ok(error) => unreadable(error.into()),
        Err(error) => match error.downcast::<std::io::Error>() {
            Ok(cause) if is_full(&cause) => cannot_write(target, cause),
            Ok(cause) => Failure::new(Status::Fault, cause),
            Err(error) => Failure::new(Status::Fault, error),
        },
    }
}

fn is_full(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

/// A full disk is the machine's, a place where nobody may write the user's.
fn cannot_write(target: &Path, error: std::io::Error) -> Failure {
    let is_full = is_full(&error);
    let place = if target == Path::new(STANDARD) { "standard output".into() } else { target.to_string_lossy() };
    let failure = anyhow!(error).context(format!("cannot write {place}"));
    match is_full {
        true => Failure::new(Status::Fault, failure).hint("make room on its disk, or name another file"),
        false => Failure::new(Status::BadStudy, failure).hint("name another file"),
    }
}
