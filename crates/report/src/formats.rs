//! All that a results file can be written as: a format is a file of its own, and a row here.
//!
//! The command line is made from this list: a row says how its format is asked for, what it needs and how it is written.

use crate::brief::markdown;
use crate::input::{Error, Input};
use crate::sysbench::{Form, sysbench};
use crate::{HttpForm, action_benchmark, answer_json, bencher, full, http, openmetrics, sql_bench};
use Asked::{File, Named, Printed};
use ledger::{Reader, export, parquet};
use observe::metric::Direction;
use std::io::Write;

/// A format.
#[derive(Debug)]
pub struct Format {
    /// What it is called on the command line.
    pub name: &'static str,
    /// What it is.
    pub help: &'static str,
    /// How it is asked for.
    pub asked: Asked,
    /// What it is made from, and how.
    pub make: Make,
    /// The program through which it goes before it is written.
    pub program: Option<&'static str>,
}

/// How a format is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// `--NAME FILE`.
    File,
    /// `--NAME`: it is printed.
    Printed,
    /// `--format NAME`: it is printed.
    Named,
}

/// Where a format is written.
pub type Out<'a> = &'a mut (dyn Write + Send);

/// What a format is made from.
#[derive(Debug, Clone, Copy)]
pub enum Make {
    /// The results file alone. What analyses it takes most of the time of a large file.
    Ledger(fn(&Reader, Out) -> Result<(), Error>),
    /// What was made of it, too.
    Analysis(fn(&Input, &Reader, Out) -> Result<(), Error>),
}

const fn raw(name: &'static str, help: &'static str, make: fn(&Reader, Out) -> Result<(), Error>) -> Format {
    Format { name, help, asked: Asked::File, make: Make::Ledger(make), program: None }
}

const fn analysed(
    (name, asked): (&'static str, Asked),
    help: &'static str,
    make: fn(&Input, &Reader, Out) -> Result<(), Error>,
) -> Format {
    Format { name, help, asked, make: Make::Analysis(make), program: None }
}

/// All formats, in the order in which they are written.
pub static FORMATS: [Format; 15] = [
    raw("csv", "Export every raw run as CSV; `-` for standard output", |reader, out| Ok(export::csv(reader, out)?)),
    raw("parquet", "Write the same as a Parquet file, with a column for each factor", |reader, out| {
        Ok(parquet::write(reader, out)?)
    }),
    Format {
        program: Some("surefoot-pdf"),
        ..analysed(
            ("pdf", File),
            "Set the report as a PDF, with every raw value: to hand over, or to do the study again from",
            |input, reader, out| {
                let mut runs = Vec::new();
                export::csv(reader, &mut runs)?;
                let runs = String::from_utf8(runs).expect("CSV of names and numbers is text");
                text(out, &full::print(input, runs))
            },
        )
    },
    analysed(("html", File), "Write the HTML report here; `-` for standard output", |input, _, out| {
        text(out, &full::html(input))
    }),
    analysed(
        ("bencher", Named),
        "Bencher Metric Format: each scenario's geometric means with their intervals, JSON",
        |input, _, out| text(out, &bencher(input)),
    ),
    analysed(
        ("openmetrics", Named),
        "OpenMetrics, as Prometheus reads it: the same, with the levels of factors as labels",
        |input, _, out| text(out, &openmetrics(input)),
    ),
    analysed(
        ("github-action-benchmark", Named),
        "JSON for the action of that name, `customBiggerIsBetter`: metrics of which more is better",
        |input, _, out| text(out, &action_benchmark(input, Direction::More)),
    ),
    analysed(
        ("github-action-benchmark-smaller", Named),
        "The same for `customSmallerIsBetter`: metrics of which less is better",
        |input, _, out| text(out, &action_benchmark(input, Direction::Less)),
    ),
    analysed(("sysbench", Named), "sysbench 1.0", |input, _, out| text(out, &sysbench(input, Form::One)?)),
    analysed(("sysbench-0.4", Named), "sysbench 0.4", |input, _, out| text(out, &sysbench(input, Form::ZeroFour)?)),
    Format {
        asked: Named,
        ..raw("sql-bench", "A RUN file of MySQL's sql-bench", |reader, out| text(out, &sql_bench(&reader.contents()?)?))
    },
    Format { asked: Named, ..raw("httperf", "httperf", |reader, out| of_http(reader, HttpForm::Httperf, out)) },
    Format { asked: Named, ..raw("http_load", "http_load", |reader, out| of_http(reader, HttpForm::HttpLoad, out)) },
    analysed(("json", Printed), "Print everything as JSON: the analysis, and every raw run", |input, reader, out| {
        write!(out, "{{\"analysis\":{},\"ledger\":", answer_json(input)).map_err(ledger::Error::Export)?;
        export::json(reader, out)?;
        text(out, "}\n")
    }),
    analysed(
        ("markdown", Printed),
        "Print the answer, its tables and its warnings as Markdown, for a wiki or a pull request",
        |input, _, out| text(out, &markdown(input)),
    ),
];

fn of_http(reader: &Reader, form: HttpForm, out: Out) -> Result<(), Error> {
    text(out, &http(&reader.contents()?, |run| reader.detail(run), form)?)
}

fn text(out: Out, text: &str) -> Result<(), Error> {
    Ok(out.write_all(text.as_bytes()).map_err(ledger::Error::Export)?)
}
