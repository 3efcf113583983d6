//! The one renderer of messages, and the exit statuses.
//!
//! `error:` what and where · `caused by:` the chain · `hint:` what to do. Data goes to standard output, all this to
//! standard error; the same words with and without colour.

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;
use study::Problem;

/// More than a person mends in one go; the rest is counted.
const PROBLEMS_SHOWN_MAX: usize = 30;

/// How surefoot ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The question is answered.
    Answered = 0,
    /// surefoot's own fault, or the machine's.
    Fault = 1,
    /// A bad study file or command line.
    BadStudy = 2,
    /// Answered, but some trials failed.
    Holes = 3,
    /// Refused: a device, or a folder.
    Refused = 4,
    /// A program, filesystem or right is missing.
    Missing = 5,
    /// The change that `--fail-on` names was shown.
    Worse = 6,
    /// Interrupted by the user.
    Interrupted = 130,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> ExitCode {
        ExitCode::from(status as u8)
    }
}

/// Why a verb gave up.
#[derive(Debug)]
pub enum Failure {
    /// All that is wrong with a study file.
    Study {
        /// Where it came from, for messages.
        origin: String,
        /// Its text.
        text: String,
        /// All problems.
        problems: Vec<Problem>,
    },
    /// Anything else.
    Other {
        /// The exit status.
        status: Status,
        /// What, and its causes.
        error: anyhow::Error,
        /// What to do next.
        hint: Option<String>,
    },
}

impl Failure {
    /// A failure with its status and, where its cause knows what to do next, that as a hint.
    pub fn new(status: Status, error: impl Into<anyhow::Error>) -> Failure {
        let error = error.into();
        let hint = error.chain().find_map(of_ledger).and_then(ledger::Error::hint).map(str::to_string);
        Failure::Other { status, error, hint }
    }

    /// Adds what to do next.
    pub fn hint(self, text: impl Into<String>) -> Failure {
        match self {
            Failure::Other { status, error, .. } => Failure::Other { status, error, hint: Some(text.into()) },
            study @ Failure::Study { .. } => study,
        }
    }

    /// The same, where there is something to do.
    pub fn hinted(self, text: Option<impl Into<String>>) -> Failure {
        let Some(text) = text else { return self };
        self.hint(text)
    }

    /// Prints it to standard error and gives the exit status.
    pub fn report(&self) -> ExitCode {
        let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        let _ = std::io::stderr().write_all(self.render(colour).as_bytes());
        self.status().into()
    }

    /// The exit status.
    pub fn status(&self) -> Status {
        match self {
            Failure::Study { .. } => Status::BadStudy,
            Failure::Other { status, .. } => *status,
        }
    }

    /// The message.
    pub fn render(&self, colour: bool) -> String {
        match self {
            Failure::Study { origin, text, problems } => {
                let shown = problems.iter().take(PROBLEMS_SHOWN_MAX);
                let mut out =
                    shown.map(|problem| study_problem(origin, text, problem, colour)).collect::<Vec<_>>().join("\n");
                if problems.len() > PROBLEMS_SHOWN_MAX {
                    let _ = writeln!(out, "\n… and {} more problems", problems.len() - PROBLEMS_SHOWN_MAX);
                }
                out
            }
            Failure::Other { error, hint, .. } => chain(error, hint.as_deref(), colour),
        }
    }
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::new(Status::Fault, error)
    }
}

/// A results file's error, also where it is another's own words and so no cause of it.
fn of_ledger<'a>(cause: &'a (dyn std::error::Error + 'static)) -> Option<&'a ledger::Error> {
    use lab::{conductor, resume};
    match (cause.downcast_ref(), cause.downcast_ref(), cause.downcast_ref()) {
        (Some(conductor::Error::Ledger(error)), ..)
        | (_, Some(resume::Error::Ledger(error)), _)
        | (.., Some(report::Error::Ledger(error))) => Some(error),
        _ => cause.downcast_ref(),
    }
}

fn chain(error: &anyhow::Error, hint: Option<&str>, colour: bool) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{} {}", painted("error:", "1;31", colour), plain(&error.to_string()));
    let mut said = error.to_string();
    for cause in error.chain().skip(1) {
        let text = cause.to_string();
        // A transparent wrapper repeats its inner error's words.
        if text != said {
            let _ = writeln!(out, "  caused by: {}", plain(&text));
        }
        said = text;
    }
    out + &way_on(hint, colour)
}

/// The last line: what to do next.
fn way_on(hint: Option<&str>, colour: bool) -> String {
    hint.map_or_else(String::new, |hint| format!("{} {}\n", painted("hint:", "1;36", colour), plain(hint)))
}

/// Words that may come from somebody else's file, line by line, without what would steer the terminal.
pub fn plain(text: &str) -> String {
    text.lines().map(|line| report::printable(&line.replace('\t', " "))).collect::<Vec<_>>().join("\n")
}

fn study_problem(origin: &str, text: &str, problem: &Problem, colour: bool) -> String {
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let title = Level::ERROR.primary_title(&problem.message);
    let report = match &problem.span {
        Some(span) => {
            let span = span.start.min(text.len())..span.end.min(text.len());
            title.element(
                Snippet::source(text).path(origin).annotation(AnnotationKind::Primary.span(span).label(&problem.label)),
            )
        }
        None => title.element(Level::NOTE.message(format!("{origin}: {}", plain(&problem.label)))),
    };
    let mut out = renderer.decor_style(DecorStyle::Unicode).render(&[report]);
    out.push('\n');
    out + &way_on(problem.hint.as_deref(), colour)
}

fn painted(text: &str, code: &str, colour: bool) -> String {
    if colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_string() }
}
