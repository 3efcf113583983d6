//! `surefoot report RESULTS`: the answer again, from the ledger alone. Every output that is asked for is written.

use crate::cli::{Format, ReportArgs};
use crate::failure::{Failure, Status};
use anyhow::{Context as _, anyhow};
use std::fs::File;
use std::io::{BufWriter, IsTerminal as _, Write};
use std::path::Path;

/// Shows or exports a results file.
pub fn run(args: &ReportArgs) -> Result<Status, Failure> {
    let outputs = outputs(args);
    require_apart(&outputs)?;
    let read = || -> Result<_, Failure> {
        let reader = ledger::Reader::open(&args.results).map_err(|error| unreadable(error.into()))?;
        let input = report::read(&reader).map_err(|error| unreadable(error.into()))?;
        Ok((reader, input))
    };
    if outputs.is_empty() {
        let (_, input) = read()?;
        print!("{}", terminal(&input));
        return Ok(if report::has_holes(&input) { Status::Holes } else { Status::Answered });
    }
    // Raw exports and other tools' forms need no analysis, which of a large file takes most of the time.
    let needs_input = |output: &Output| !matches!(output.what, What::Csv | What::Parquet | What::Format(_));
    let input = if outputs.iter().any(needs_input) { Some(read()?.1) } else { None };
    for output in &outputs {
        let reader = ledger::Reader::open(&args.results).map_err(|error| unreadable(error.into()))?;
        output.write(args, &reader, input.as_ref())?;
    }
    Ok(Status::Answered)
}

/// What is written, and where.
struct Output<'a> {
    what: What<'a>,
    /// The option that asks for it.
    option: &'static str,
    target: &'a Path,
}

#[derive(Clone, Copy)]
enum What<'a> {
    Csv,
    Parquet,
    Format(Format),
    Commands(&'a str),
    Json,
    Markdown,
    Pdf,
    Html,
}

/// Standard output.
const STANDARD: &str = "-";

/// All that are asked for.
fn outputs(args: &ReportArgs) -> Vec<Output<'_>> {
    let standard = Path::new(STANDARD);
    let files = [
        (What::Csv, "--csv", &args.csv),
        (What::Parquet, "--parquet", &args.parquet),
        (What::Pdf, "--pdf", &args.pdf),
        (What::Html, "--html", &args.html),
    ];
    let files = files
        .into_iter()
        .filter_map(|(what, option, target)| Some(Output { what, option, target: target.as_deref()? }));
    let printed = [
        args.format.map(|format| (What::Format(format), "--format")),
        args.reproduce.as_deref().map(|scenario| (What::Commands(scenario), "--reproduce")),
        args.json.then_some((What::Json, "--json")),
        args.markdown.then_some((What::Markdown, "--markdown")),
    ];
    let printed = printed.into_iter().flatten().map(|(what, option)| Output { what, option, target: standard });
    files.chain(printed).collect()
}

/// Two outputs to one place would be neither.
fn require_apart(outputs: &[Output]) -> Result<(), Failure> {
    for (index, one) in outputs.iter().enumerate() {
        if let Some(other) = outputs[index + 1..].iter().find(|other| other.target == one.target) {
            let (a, b) = (one.option, other.option);
            let error = match one.target == Path::new(STANDARD) {
                true => anyhow!("`{a}` and `{b}` both write to standard output"),
                false => anyhow!("`{a}` and `{b}` both write to {}", one.target.display()),
            };
            return Err(Failure::new(Status::BadStudy, error)
                .hint("name a file of its own for each, or ask for one after the other"));
        }
    }
    Ok(())
}

impl Output<'_> {
    /// `input` is there for whatever shows an answer.
    fn write(
        &self,
        args: &ReportArgs,
        reader: &ledger::Reader,
        input: Option<&report::Input>,
    ) -> Result<Status, Failure> {
        let input = || input.expect("read for what shows an answer");
        let text = match self.what {
            What::Csv => return write_to(self.target, |out| Ok(ledger::export::csv(reader, out)?)),
            What::Parquet => return write_to(self.target, |out| Ok(ledger::parquet::write(reader, out)?)),
            What::Json => {
                return write_to(self.target, |out| {
                    write!(out, "{{\"analysis\":{},\"ledger\":", report::answer_json(input()))?;
                    ledger::export::json(reader, out)?;
                    Ok(writeln!(out, "}}")?)
                });
            }
            What::Pdf => {
                let mut runs = Vec::new();
                ledger::export::csv(reader, &mut runs).map_err(|error| unreadable(error.into()))?;
                let report::Print { description, files } = report::print(input(), runs);
                let pdf = typeset::pdf(&description, files)?;
                return write_to(self.target, |out| Ok(out.write_all(&pdf)?));
            }
            What::Format(format) => in_shape_of(format, args)?,
            What::Commands(scenario) => {
                report::reproduce(input(), scenario).map_err(|error| Failure::new(Status::BadStudy, error))?
            }
            What::Markdown => report::markdown(input()),
            What::Html => report::html(input()),
        };
        write_to(self.target, |out| Ok(out.write_all(text.as_bytes())?))
    }
}

/// What another tool reads, or prints.
fn in_shape_of(format: Format, args: &ReportArgs) -> Result<String, Failure> {
    let of_answer = |shape: fn(&report::Input) -> String| report::load(&args.results).map(|input| shape(&input));
    let sysbench = |form| report::sysbench(&report::load(&args.results)?, form);
    let http = |form| {
        let reader = ledger::Reader::open(&args.results)?;
        report::http(&reader.contents()?, |run| reader.detail(run), form)
    };
    let sql_bench = || report::sql_bench(&ledger::Reader::open(&args.results)?.contents()?);
    let text = match format {
        Format::Bencher => of_answer(report::bencher),
        Format::OpenMetrics => of_answer(report::openmetrics),
        Format::Sysbench => sysbench(report::Form::One),
        Format::SysbenchZeroFour => sysbench(report::Form::ZeroFour),
        Format::SqlBench => sql_bench(),
        Format::Httperf => http(report::HttpForm::Httperf),
        Format::HttpLoad => http(report::HttpForm::HttpLoad),
    };
    text.map_err(|error| unreadable(error.into()))
}

/// The answer for a terminal, as wide and as colourful as it is.
pub fn terminal(input: &report::Input) -> String {
    let colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let width = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).unwrap_or(100);
    report::terminal(input, width, colour)
}

/// A results file that can't be read is the user's to mend.
pub fn unreadable(error: anyhow::Error) -> Failure {
    Failure::new(Status::BadStudy, error)
}

/// Writes to a file and says which, or to standard output.
pub fn write_to(
    target: &Path,
    write: impl FnOnce(&mut (dyn Write + Send)) -> anyhow::Result<()>,
) -> Result<Status, Failure> {
    let of_ledger = |error: anyhow::Error| match error.downcast_ref::<ledger::Error>() {
        None | Some(ledger::Error::Export(_)) => Failure::new(Status::Fault, error),
        Some(_) => unreadable(error),
    };
    if target == Path::new(STANDARD) {
        let mut out = BufWriter::new(std::io::stdout());
        write(&mut out).map_err(of_ledger)?;
        out.flush()?;
        return Ok(Status::Answered);
    }
    let cannot = || format!("cannot write {}", target.display());
    let mut out = BufWriter::new(File::create(target).with_context(cannot)?);
    write(&mut out).map_err(of_ledger)?;
    out.flush().with_context(cannot)?;
    println!("{}", target.display());
    Ok(Status::Answered)
}
