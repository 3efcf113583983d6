//! `surefoot doctor --noise`: how much this machine strays by itself, from second to second.

use crate::cli::DoctorArgs;
use crate::failure::{Failure, Status};
use crate::interrupt::INTERRUPTED;
use crate::verbs::run::unusable;
use anyhow::{Context as _, anyhow};
use lab::noise::{self, Measured};
use sandbox::work::{Holder, Work};
use serde_json::{Value, json};
use settings::quantity::{format_seconds, parse_seconds};
use stats::{Fit, Series, Spread};
use std::path::Path;

/// Where it is kept when nobody says a folder: `plan` and `run` look there, too.
const WORK: &str = "surefoot-work/noise";
/// In less there are too few slices; more than an hour is a mistake.
const SECONDS: [f64; 2] = [2.0, 3600.0];

/// Measures, keeps it and says it.
pub fn run(args: &DoctorArgs) -> Result<Status, Failure> {
    let is_allowed = |seconds: &f64| (SECONDS[0]..=SECONDS[1]).contains(seconds);
    let seconds = parse_seconds(&args.time).filter(is_allowed).ok_or_else(|| {
        Failure::new(Status::BadStudy, anyhow!("`--time {}` is no time from 2s to 1h", args.time))
            .hint("write it as a number with its unit, like 30s or 5min")
    })?;
    let folder = args.work.as_deref().unwrap_or(Path::new(WORK));
    let work = Work::own(folder, &Holder::this_process(None)).map_err(unusable)?;
    if !args.json {
        eprintln!("measuring for {} in {}", format_seconds(seconds), folder.display());
    }
    let measured = noise::measure(work.folder(), seconds, &INTERRUPTED)
        .with_context(|| format!("cannot write and flush a file in {}", folder.display()))?;
    let kept = measured.keep(work.folder()).with_context(|| format!("cannot keep it in {}", folder.display()))?;
    if args.json {
        let all = json!({
            "seconds": seconds, "slice_seconds": measured.slice_seconds, "folder": folder.to_string_lossy(), "kept": kept.to_string_lossy(),
            "processor": series_json(&measured.processor()), "writes": series_json(&measured.writes()),
        });
        println!("{all:#}");
        return Ok(Status::Answered);
    }
    print!("{}", text(&measured));
    if measured.boot.is_some() {
        println!("kept in {} until the next boot: `surefoot plan` says by it how long a study takes", folder.display());
    }
    Ok(Status::Answered)
}

fn series_json(series: &Series) -> Value {
    let fit = series.fit();
    let limits = fit.as_ref().map(Fit::correlation_seconds);
    json!({
        "rate": series.rates.iter().sum::<f64>() / series.rates.len() as f64,
        "spreads": noise::spreads(series),
        "model": fit.as_ref().map(|fit| fit.best),
        "correlation_seconds_low": limits.and_then(|limits| limits.0),
        "correlation_seconds_high": limits.and_then(|limits| limits.1),
    })
}

/// A line a length, and one on how long the noise lasts.
fn text(measured: &Measured) -> String {
    let (processor, writes) = (measured.processor(), measured.writes());
    let mut out = format!("{:14} {:26} flushed writes of 4 KiB\n", "averages over", "one processor");
    for (processor, writes) in noise::spreads(&processor).iter().zip(noise::spreads(&writes)) {
        let length = format_seconds(processor.seconds);
        let mark = if writes.is_extrapolated { "   extrapolated" } else { "" };
        out += &format!("{length:14} {:26} {}{mark}\n", spread(processor), spread(&writes));
    }
    out += "by how much an average strays from the one before, with 95 % limits\n";
    for (what, series) in [("processor", processor), ("writes", writes)] {
        if let Some(fit) = series.fit() {
            out += &format!("{what:14} {}\n", lasts(&fit, measured.seconds()));
        }
    }
    out
}

/// Beyond this ratio of its limits a spread has but a lower one.
const LIMITS_RATIO_MAX: f64 = 5.0;

fn spread(spread: &Spread) -> String {
    let percent = |value: f64| format!("{:.1}", value * 100.0);
    let limits = if spread.high > spread.low * LIMITS_RATIO_MAX {
        format!("at least {}", percent(spread.low))
    } else {
        format!("{} to {}", percent(spread.low), percent(spread.high))
    };
    if spread.is_extrapolated { format!("{limits} %") } else { format!("{} % ({limits})", percent(spread.spread)) }
}

/// How long what disturbs lasts.
fn lasts(fit: &Fit, seconds: f64) -> String {
    let limits = fit.correlation_seconds();
    match limits {
        _ if !fit.has_lasting_part() => "no noise that lasts was seen".into(),
        (None, None) => format!("what disturbs lasts, but {} can't tell how long", format_seconds(seconds)),
        (None, Some(high)) => format!("what disturbs lasts at most {}", format_seconds(high)),
        (Some(low), None) => format!("what disturbs lasts at least {}", format_seconds(low)),
        (Some(low), Some(high)) => format!("what disturbs lasts {} to {}", format_seconds(low), format_seconds(high)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_measured_has_a_figure_and_what_was_not_has_limits() {
        let measured = Spread { seconds: 1.0, spread: 0.09, low: 0.08, high: 0.1234, is_extrapolated: false };
        assert_eq!(spread(&measured), "9.0 % (8.0 to 12.3)");
        assert_eq!(spread(&Spread { is_extrapolated: true, ..measured }), "8.0 to 12.3 %");
        assert_eq!(spread(&Spread { high: 1.2, ..measured }), "9.0 % (at least 8.0)");
        assert_eq!(spread(&Spread { high: 1.2, is_extrapolated: true, ..measured }), "at least 8.0 %");
    }
}
