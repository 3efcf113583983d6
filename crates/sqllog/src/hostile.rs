//! Logs of any bytes: none makes a reader panic, hang, or take memory without end, and each statement that is read can be sent. The corpus is of
//! logs that servers wrote (`tests/corpus/README.md`), and what was once a finding.

use crate::{Form, Options, read};
use fuzz::{Random, Target};

#[test]
fn logs() {
    let words = &[
        "\n\t",
        " LOG:  ",
        "statement: ",
        "execute <unnamed>: ",
        "duration: 0.1 ms  ",
        "DETAIL:  parameters: $1 = '",
        "', $2 = NULL",
        "ERROR:  ",
        "STATEMENT:  ",
        "\n# Time: 261124  1:02:03\n",
        "# User@Host: a[a] @ b []\n",
        "\t\t     3 Query\t",
        "\",\"",
        "{\"timestamp\":\"",
        "2026-11-24 01:02:03.456 UTC",
    ];
    let folder = env!("CARGO_MANIFEST_DIR");
    let target = Target { words, ..Target::new("hostile::logs", folder, "tests/corpus/logs") };
    fuzz::run(&target, |bytes, _: &mut Random| {
        let text = String::from_utf8_lossy(bytes);
        let forms = Form::ALL.into_iter().map(|(form, _)| Some(form)).chain([None]);
        for form in forms {
            let Ok(log) = read(&text, &Options { form, bad_lines_max: 1.0, ..Options::default() }) else { continue };
            for session in &log.sessions {
                assert!(session.from() <= session.to());
                for step in &session.steps {
                    assert!((step.text as usize) < log.texts().len());
                    let _ = log.params(step);
                }
                assert!(session.steps.is_sorted_by_key(|step| step.at_microseconds), "in their order");
            }
            let most = log.concurrency();
            assert!(most >= 1 && most <= log.sessions.len());
        }
    });
}
