//! Everything out again: CSV (a line a run and metric) and JSON, row by row, so that memory stays small.

use crate::model::{RunRow, Trial};
use crate::{Error, Reader};
use serde_json::json;
use std::collections::HashMap;
use std::io::Write;

/// Version of the export's shape, in the JSON.
const EXPORT_VERSION: u32 = 1;

/// One line a run and metric, warm-ups included.
///
/// # Errors
/// When the ledger can't be read or the export not written.
pub fn csv(reader: &Reader, out: &mut dyn Write) -> Result<(), Error> {
    let contents = reader.contents()?;
    writeln!(
        out,
        "scenario,workload,round,position,trial,state,run,warm_up,started,seconds,metric,unit,direction,value,phase,group,member"
    )?;
    let workloads: HashMap<&str, &str> = contents.scenarios.iter().map(|s| (&*s.label, &*s.workload)).collect();
    let trials: HashMap<i64, _> = contents.trials.iter().map(|trial| (trial.id, trial)).collect();
    for run in &contents.runs {
        let Some(trial) = trials.get(&run.trial) else { continue };
        let (phase, group, member) = (plain(&trial.phase), number(trial.group), number(trial.member));
        let Trial { round, position, id, .. } = trial;
        let RunRow { run: number, warm_up, started, seconds, .. } = run;
        let head = format!(
            "{},{},{round},{position},{id},{},{number},{warm_up},{started:.3},{seconds}",
            field(&trial.scenario),
            field(workloads.get(&*trial.scenario).unwrap_or(&"")),
            plain(&trial.state)
        );
        for (name, value) in &run.metrics {
            let metric = &contents.metrics[&**name];
            let (name, unit, direction) = (field(name), field(&metric.unit), plain(&metric.direction));
            writeln!(out, "{head},{name},{unit},{direction},{value},{phase},{group},{member}")?;
        }
    }
    Ok(())
}

/// One JSON object with everything: study, sessions, scenarios, trials, and runs with latency quantiles and series.
///
/// # Errors
/// When the ledger can't be read or the export not written.
pub fn json(reader: &Reader, out: &mut dyn Write) -> Result<(), Error> {
    let contents = reader.contents()?;
    let head = json!({
        "export_version": EXPORT_VERSION,
        "schema_version": reader.version(),
        "study": contents.study,
        "members": contents.members,
        "sessions": contents.sessions,
        "probes": contents.probes,
        "scenarios": contents.scenarios,
        "safety": contents.safety,
        "faults": contents.faults,
        "decisions": contents.decisions,
        "trials": contents.trials,
        "metrics": contents.metrics,
    });
    let head = head.to_string();
    write!(out, "{},\"runs\":[", head.strip_suffix('}').expect("an object ends with a brace"))?;
    for (index, run) in contents.runs.iter().enumerate() {
        let detail = reader.detail(run.id)?;
        let mut value = serde_json::to_value(run).expect("a run is plain data");
        let latencies: serde_json::Map<_, _> =
            detail.latencies.iter().map(|(name, latency)| (name.clone(), quantiles(latency))).collect();
        value["latencies"] = latencies.into();
        value["series"] = json!(detail.series);
        write!(out, "{}{value}", if index == 0 { "" } else { "," })?;
    }
    writeln!(out, "]}}")?;
    Ok(())
}

fn quantiles(latency: &observe::latency::Latency) -> serde_json::Value {
    json!({
        "count": latency.count(),
        "mean_microseconds": latency.microseconds_mean(),
        "p50_microseconds": latency.microseconds_at(0.5),
        "p90_microseconds": latency.microseconds_at(0.9),
        "p99_microseconds": latency.microseconds_at(0.99),
        "p99_9_microseconds": latency.microseconds_at(0.999),
        "max_microseconds": latency.microseconds_at(1.0),
    })
}

/// A group's or a member's number; empty where there is none.
pub(crate) fn number(of: Option<u32>) -> String {
    of.map_or_else(String::new, |number| number.to_string())
}

pub(crate) fn plain(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).expect("an enum of words is plain data");
    value.as_str().unwrap_or_default().to_string()
}

/// A field as RFC 4180 wants it.
fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_string() }
}
