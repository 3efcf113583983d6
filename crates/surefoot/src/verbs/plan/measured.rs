//! What a plan's results file holds already: how long what is left takes at its pace, or that `run` refuses it.

use crate::failure::plain;
use crate::source::Loaded;
use report::Standing;
use serde_json::{Value, json};
use settings::quantity::format_seconds;

/// A results file that holds rounds of this study.
pub struct Measured {
    file: String,
    rounds: u32,
    /// Of a round of all scenarios; none where no trial has ended.
    round_seconds: Option<f64>,
}

/// What is there of the study. None: nothing yet.
///
/// # Errors
/// A sentence, where the file holds something else.
pub fn find(loaded: &Loaded) -> Result<Option<Measured>, String> {
    let file = loaded.results.display().to_string();
    let contents = match ledger::Reader::open_untouched(&loaded.results).and_then(|reader| reader.contents_with(&[])) {
        Ok(contents) => contents,
        // It was killed before it measured anything.
        Err(ledger::Error::NoStudy { .. }) => return Ok(None),
        Err(_) if !loaded.results.exists() => return Ok(None),
        Err(error) => return Err(format!("{error}: `run` refuses it; --results FILE names another")),
    };
    let study = &contents.study;
    if !loaded.plan.has_hash(&study.hash) {
        let name = &study.name;
        return Err(format!(
            "{file} holds the study `{name}` as it was asked for otherwise: `run` refuses it; --results FILE names another"
        ));
    }
    let Standing { rounds, round_seconds, .. } = Standing::of(&contents, false);
    Ok((rounds > 0).then_some(Measured { file, rounds, round_seconds }))
}

impl Measured {
    /// What is there, and what the rounds that the study still has at least take.
    pub fn words(&self, rounds_min: u32) -> String {
        let rounds = if self.rounds == 1 { "1 round".into() } else { format!("{} rounds", self.rounds) };
        let left = rounds_min.saturating_sub(self.rounds);
        let pace = self.round_seconds.map_or_else(String::new, |seconds| {
            let each = format_seconds(seconds.round());
            let more = format_seconds((seconds * f64::from(left)).round());
            if left == 0 {
                format!("; each took {each}")
            } else {
                format!("; each took {each}, so {left} more take about {more}")
            }
        });
        format!("{rounds} in {}{pace}", plain(&self.file))
    }

    /// The same as values.
    pub fn json(&self) -> Value {
        json!({ "results": self.file, "rounds": self.rounds, "round_seconds": self.round_seconds })
    }
}
