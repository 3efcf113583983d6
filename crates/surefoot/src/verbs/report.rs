//! `surefoot report RESULTS`: the answer again, from the ledger alone.

use crate::cli::{Format, ReportArgs};
use crate::failure::{Failure, Status};
use anyhow::Context as _;
use std::fs::File;
use std::io::{BufWriter, IsTerminal as _, Write};
use std::path::Path;

/// Shows or exports a results file.
pub fn run(args: &ReportArgs) -> Result<Status, Failure> {
    if let Some(target) = &args.csv {
        let reader = ledger::Reader::open(&args.results).map_err(|error| unreadable(error.into()))?;
        return write_to(target, |out| Ok(ledger::export::csv(&reader, out)?));
    }
    if let Some(target) = &args.parquet {
        let reader = ledger::Reader::open(&args.results).map_err(|error| unreadable(error.into()))?;
        return write_to(target, |out| Ok(ledger::parquet::write(&reader, out)?));
    }
    if let Some(format) = args.format {
        print!("{}", in_shape_of(format, args)?);
        return Ok(Status::Answered);
    }
    let input = report::load(&args.results).map_err(|error| unreadable(error.into()))?;
    if let Some(scenario) = &args.reproduce {
        let commands = report::reproduce(&input, scenario).map_err(|error| Failure::new(Status::BadStudy, error))?;
        print!("{commands}");
        return Ok(Status::Answered);
    }
    if args.json {
        let reader = ledger::Reader::open(&args.results)?;
        let mut out = BufWriter::new(std::io::stdout().lock());
        write!(out, "{{\"analysis\":{},\"ledger\":", report::answer_json(&input))?;
        ledger::export::json(&reader, &mut out)?;
        writeln!(out, "}}")?;
        return Ok(Status::Answered);
    }
    if args.markdown {
        print!("{}", report::markdown(&input));
        return Ok(Status::Answered);
    }
    if let Some(target) = &args.pdf {
        let reader = ledger::Reader::open(&args.results)?;
        let mut runs = Vec::new();
        ledger::export::csv(&reader, &mut runs)?;
        let report::Print { description, files } = report::print(&input, runs);
        let pdf = typeset::pdf(&description, files)?;
        return write_to(target, |out| Ok(out.write_all(&pdf)?));
    }
    if let Some(target) = &args.html {
        return write_to(target, |out| Ok(out.write_all(report::html(&input).as_bytes())?));
    }
    print!("{}", terminal(&input));
    Ok(if report::has_holes(&input) { Status::Holes } else { Status::Answered })
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
    let hint = error
        .chain()
        .find_map(|cause| cause.downcast_ref::<ledger::Error>())
        .and_then(ledger::Error::hint)
        .map(str::to_string);
    let failure = Failure::new(Status::BadStudy, error);
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// Writes to a file and says which, or to standard output.
pub fn write_to(
    target: &Path,
    write: impl FnOnce(&mut (dyn Write + Send)) -> anyhow::Result<()>,
) -> Result<Status, Failure> {
    if target == Path::new("-") {
        write(&mut BufWriter::new(std::io::stdout()))?;
        return Ok(Status::Answered);
    }
    let cannot = || format!("cannot write {}", target.display());
    let mut out = BufWriter::new(File::create(target).with_context(cannot)?);
    write(&mut out)?;
    out.flush().with_context(cannot)?;
    println!("{}", target.display());
    Ok(Status::Answered)
}
