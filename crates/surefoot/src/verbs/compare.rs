//! `surefoot compare A B`: two results files side by side, or several sessions a side.

use crate::cli::CompareArgs;
use crate::failure::{Failure, Status};
use crate::knowledge;
use crate::verbs::report::{of_results, write_page_and_text};
use anyhow::anyhow;
use report::{Comparison, Gate, Input};

/// Prints the comparison; with `--fail-on`, says by its status whether that was shown, or could not be.
pub fn run(args: &CompareArgs) -> Result<Status, Failure> {
    let limit = args.fail_on.as_deref().map(limit).transpose()?;
    let count = args.results.len();
    if count != 2 && !args.sessions || !count.is_multiple_of(2) {
        let error = anyhow!("{count} results files are not two sides");
        return Err(Failure::new(Status::BadStudy, error)
            .hint("name two; or with --sessions an even number, the sessions of either side in turns: A1 B1 A2 B2"));
    }
    let load = |path| report::load(path).map(knowledge::told).map_err(of_results);
    let mut inputs = args.results.iter().map(|path| load(path)).collect::<Result<Vec<Input>, Failure>>()?.into_iter();
    let mut pairs = Vec::new();
    while let (Some(a), Some(b)) = (inputs.next(), inputs.next()) {
        pairs.push([a, b]);
    }
    let compared = match &pairs[..] {
        [[a, b]] if !args.sessions => Comparison::of(a, b),
        pairs => Comparison::of_sessions(pairs),
    };
    let comparison = compared.map_err(|error| {
        let hint = match error {
            report::Error::SessionTwice(_) => "name each results file once",
            _ => {
                "run both on the same bench, with the same guest kernel and memory; or make what differs, such as `bench` or \
                 `guest.memory`, a factor of one study"
            }
        };
        Failure::new(Status::BadStudy, error).hint(hint)
    })?;
    let gate = limit.map(|limit| comparison.gate(limit));
    let json = || {
        let mut all = comparison.json();
        gate.iter().for_each(|gate| all["gate"] = gate.json());
        format!("{all:#}")
    };
    let html = args.html.as_deref();
    let status = write_page_and_text(html, args.json, [&|| comparison.html(), &json, &|| comparison.text()])?;
    gate.as_ref().map_or(Ok(status), ended)
}

/// Whether anything is worse, or was not measured.
fn ended(gate: &Gate) -> Result<Status, Failure> {
    // Of sides with both in them a change of any size cancels.
    if let Some(why) = &gate.mixed {
        let error = anyhow!("--fail-on has no two sides to judge by: {}", why.trim_end_matches('.'));
        let hint = "name neighbours in pairs, side A first: A1 B1 A2 B2; each side's sessions are of one study, and all of one \
                    `design.order`: where some machine has no room for turns, `--set design.order=blocks`";
        return Err(Failure::new(Status::BadStudy, error).hint(hint));
    }
    gate.unmeasured.iter().chain(gate.worse.iter().flatten()).for_each(|line| eprintln!("{}", report::printable(line)));
    let Some(worse) = &gate.worse else {
        let error = anyhow!("--fail-on has nothing to judge by: no scenario has a verdict in both");
        return Err(Failure::new(Status::BadStudy, error).hint("a verdict takes 4 rounds a side, or 4 sessions"));
    };
    Ok(match (worse.is_empty(), gate.unmeasured.is_empty()) {
        (false, _) => Status::Worse,
        (true, false) => Status::Holes,
        (true, true) => Status::Answered,
    })
}

/// The fraction of "slower by 5 %".
fn limit(change: &str) -> Result<f64, Failure> {
    let number = change.strip_prefix("slower by ").and_then(|rest| rest.trim_end().strip_suffix('%'));
    let fraction = number.and_then(|number| number.trim().parse::<f64>().ok()).map(|percent| percent / 100.0);
    fraction.filter(|fraction| (0.0..1.0).contains(fraction)).ok_or_else(|| {
        let error = anyhow!("`--fail-on {change}` names no change");
        Failure::new(Status::BadStudy, error).hint("write it as --fail-on \"slower by 5 %\", with less than 100 %")
    })
}

#[cfg(test)]
mod tests {
    use super::{ended, limit};
    use crate::failure::Status;
    use report::Gate;

    #[test]
    fn what_was_not_measured_is_a_hole_and_what_is_worse_weighs_more() {
        let gate = |worse: &[&str], unmeasured: &[&str]| {
            let [worse, unmeasured] = [worse, unmeasured].map(|lines| lines.iter().map(ToString::to_string).collect());
            Gate { slower_by: 0.05, mixed: None, worse: Some(worse), unmeasured }
        };
        let cases: [(&[&str], &[&str], Status); 3] =
            [(&[], &[], Status::Answered), (&[], &["xfs"], Status::Holes), (&["ext4"], &["xfs"], Status::Worse)];
        for (worse, unmeasured, status) in cases {
            let gate = gate(worse, unmeasured);
            assert_eq!((ended(&gate).ok(), gate.is_passed()), (Some(status), status == Status::Answered));
        }
        let without_verdict = Gate { worse: None, ..gate(&[], &["xfs"]) };
        assert_eq!(ended(&without_verdict).map_err(|failure| failure.status()), Err(Status::BadStudy));
        let of_two_measures = Gate { mixed: Some("A figure of A is of all turns.".into()), ..gate(&[], &[]) };
        let said = ended(&of_two_measures).expect_err("no gate stands on it").render(false);
        assert!(said.contains("of all turns") && said.contains("`--set design.order=blocks`"), "{said}");
    }

    #[test]
    fn a_gate_is_a_share_of_speed() {
        for (change, fraction) in [("slower by 5 %", 0.05), ("slower by 12.5%", 0.125), ("slower by 0 %", 0.0)] {
            assert_eq!(limit(change).ok(), Some(fraction), "{change}");
        }
        for bad in
            ["", "slower", "slower by 5", "faster by 5 %", "slower by -1 %", "slower by NaN %", "slower by 100 %"]
        {
            let said = limit(bad).expect_err(bad).render(false);
            assert!(said.contains("--fail-on \"slower by 5 %\", with less than 100 %"), "{said}");
        }
    }
}
