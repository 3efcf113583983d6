//! What a row of the acceptance table must come to.

use serde_json::Value;

/// What must be found.
pub enum Expected {
    /// Nothing lost, nothing damaged.
    Nothing,
    /// At most so many commits a connection, and nothing damaged.
    LastCommit,
    /// Something is lost, nothing acknowledged longer ago than this, nothing damaged.
    Recent(f64),
    /// Something is lost, nothing is damaged.
    Loses,
    /// Nothing damaged, whatever is lost.
    NoDamage,
    /// Damage of any kind.
    Damage,
    /// Tables and the log for replicas disagree, nothing is damaged.
    Divergence,
    /// Damage of files, all of it of these kinds.
    DamageOf(&'static [&'static str]),
    /// As before, if any: a race that is not lost every time.
    NoDamageBut(&'static [&'static str]),
}

impl Expected {
    pub fn words(&self) -> String {
        match self {
            Expected::Nothing => "nothing lost".into(),
            Expected::LastCommit => "at most the last commit".into(),
            Expected::Recent(seconds) => format!("some, at most {seconds} s"),
            Expected::Loses => "loss, no damage".into(),
            Expected::NoDamage => "no damage".into(),
            Expected::Damage => "damage".into(),
            Expected::Divergence => "replicas that lack commits".into(),
            Expected::DamageOf(kinds) => format!("damage: {}", kinds.join(" or ")),
            Expected::NoDamageBut(kinds) => format!("no damage but {}", kinds.join(" or ")),
        }
    }

    /// Whether a measurement, as a report in JSON has it, came to that.
    pub fn holds(&self, safety: &Value) -> bool {
        let number = |name: &str| safety[name].as_f64().unwrap_or(f64::NAN);
        let damaged = number("unmountable") + number("damaged") + number("silent") > 0.0;
        let (lost, seconds) = (number("worst_lost_commits"), number("worst_lost_seconds"));
        let diverged = safety["findings"].as_array().is_some_and(|all| {
            all.iter().any(|one| one["what"].as_str().is_some_and(|what| what.starts_with("a replica would lack")))
        });
        let looked = number("images") > 0.0 && number("acknowledged") > 0.0;
        looked
            && match self {
                Expected::Nothing => safety["grade"] == "A",
                Expected::LastCommit => !damaged && ["A", "B"].contains(&safety["grade"].as_str().unwrap_or_default()),
                Expected::Recent(limit) => !damaged && lost > 0.0 && seconds <= *limit,
                Expected::Loses => !damaged && lost > 0.0,
                Expected::NoDamage => !damaged,
                Expected::Damage => damaged,
                Expected::Divergence => !damaged && diverged,
                Expected::DamageOf(kinds) => damaged && are_of(kinds, safety),
                Expected::NoDamageBut(kinds) => are_of(kinds, safety),
            }
    }
}

/// Whether all damage that was found is of these kinds.
fn are_of(kinds: &[&str], safety: &Value) -> bool {
    let is_one = |what: &str| what.starts_with("acknowledged commits") || kinds.iter().any(|kind| what.contains(kind));
    let findings = safety["findings"].as_array().map_or(&[][..], Vec::as_slice);
    findings.iter().all(|finding| finding["what"].as_str().is_some_and(is_one))
}
