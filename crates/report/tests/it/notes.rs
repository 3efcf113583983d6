//! What workloads say of their runs reaches whoever reads a report, wherever that is read.

use crate::export;
use crate::fixture::{self, Row, Table};
use report::Input;

fn made() -> Input {
    let rows = vec![Row::new("ext4", &[100.0; 6]), Row::new("xfs", &[90.0, 91.0, 92.0, 93.0, 94.0, 95.0])];
    let table = Table { rows, ..fixture::filesystems_and_buffers() };
    let mut contents = fixture::contents(&table);
    for trial in contents.trials.iter_mut().filter(|trial| trial.scenario == "xfs") {
        let count = 3 + trial.round * 2;
        let note = format!("{count} requests failed: the answer is a 503 (first: GET /a{count} <b>)");
        trial.notes = vec![note.clone(), note];
        if trial.round == 2 {
            trial.notes.extend((0..20).map(|number| format!("kind {}: odd", char::from(b'a' + number))));
        }
        trial.transcripts = vec!["what an older tool prints".into()];
    }
    fixture::input_of(contents, &table)
}

#[test]
fn they_stand_in_every_report_once_with_the_worst_first() {
    let input = made();
    let worst = "13 requests failed: the answer is a 503 (first: GET /a13";
    let terminal = report::terminal(&input, 400, false);
    let lines: Vec<&str> = terminal.lines().filter(|line| line.starts_with("note: ")).collect();
    assert!(
        lines[0].starts_with(&format!("note: xfs: {worst} <b>) (the largest figure; 6 of 6 trials said so)")),
        "{lines:#?}"
    );
    assert!(lines[1].ends_with("(in one of 6 trials)"), "{lines:#?}");
    assert_eq!((lines.len(), lines[6]), (7, "note: and 15 more notes; the page has them"));
    assert!(!terminal.contains("/a11") && !terminal.contains("older tool prints"), "alike ones are one: {terminal}");
    let markdown = report::markdown(&input);
    assert!(markdown.lines().any(|line| line.starts_with("- note: xfs: 13 requests failed")), "{markdown}");
    let page = report::html(&input);
    let said = page.split("What the workload said").nth(1).expect("a table of them");
    assert!(
        said.contains(&format!("{worst} &lt;b&gt;) (the largest figure; 6 of 6 trials said so)"))
            && said.contains("and 9 more")
    );
    let paper = report::print(&input, String::new());
    assert!(paper.contains("What the workload said") && paper.contains(worst));
    let json = export::json(&input);
    let notes = json["workloads"][0]["notes"].as_array().expect("notes");
    assert_eq!((notes.len(), &notes[0]["trials"], &notes[0]["scenario"]), (21, &6.into(), &"xfs".into()));
}

#[test]
fn results_without_checksums_are_said_to_have_none() {
    let mut input = made();
    assert!(!report::answer(&input).concat().contains("checksums"));
    input.contents.without_checksum = 1;
    assert!(report::answer(&input).concat().contains("kept no checksums"));
}

/// An upgrade between two sessions; versions that are compared are no change.
#[test]
fn a_server_that_was_upgraded_meanwhile_is_said() {
    let mut input = made();
    for trial in &mut input.contents.trials {
        trial.facts.insert("postgres.version".into(), if trial.scenario == "xfs" { "15" } else { "14" }.into());
    }
    let said = |input: &Input| report::terminal(input, 400, false);
    assert!(!said(&input).contains("changed while the study went on"));
    for trial in input.contents.trials.iter_mut().filter(|trial| trial.round >= 3 && trial.scenario == "xfs") {
        trial.facts.insert("postgres.version".into(), "15.4".into());
    }
    let changed = "warning: what was measured changed while the study went on: postgres.version: 15, then 15.4";
    assert!(said(&input).contains(changed), "{}", said(&input));
    let mut later = input.contents.sessions[0].clone();
    later.machine.insert("kernel".into(), "6.12.10".into());
    input.contents.sessions.push(later);
    assert!(said(&input).contains("kernel: 6.12.9, then 6.12.10; postgres.version"), "{}", said(&input));
}

#[test]
fn a_report_without_any_says_nothing_of_them() {
    let input = fixture::published();
    assert!(!report::html(&input).contains("What the workload said"));
    assert!(!report::terminal(&input, 100, false).contains("note: "));
}
