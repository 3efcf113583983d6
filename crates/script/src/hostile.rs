//! Scripts of any bytes: none makes the reader panic or hang, and what is accepted runs to its end or says why it can't. The corpus is of our
//! own scripts (`tests/corpus/README.md`), and what was once a finding.

use crate::{Machine, Next, Program, Seeds, Source, Value, generators};
use fuzz::Target;
use random::Random;
use std::sync::Arc;

const FOLDER: &str = env!("CARGO_MANIFEST_DIR");

/// Statements that a script sends at most: it has no way back, so each of its bytes is executed once at most.
const STATEMENTS_MAX: usize = 10_000;

fn run(text: &str, escapes: bool) {
    let source = Source { name: "s".into(), text: text.into(), weight: 1 };
    let _ = generators(&source, &["n"]);
    let program = match Program::new(&[source], &["n"], escapes) {
        Ok(program) => Arc::new(program),
        Err(problems) => {
            assert!(!problems.is_empty());
            let lines = text.matches('\n').count() + 1;
            assert!(problems.iter().all(|problem| (1..=lines).contains(&problem.line)), "{problems:?}");
            return;
        }
    };
    let seeds = Seeds { random: Random::new(1), shared: 7 };
    let mut machine = Machine::new(Arc::clone(&program), 0, seeds, &[("n", Value::Integer(3))]);
    machine.choose();
    let mut spelled = String::new();
    for step in 0..STATEMENTS_MAX {
        match machine.advance() {
            Ok(Next::Send) => {}
            Ok(Next::Sleep(_)) => continue,
            Ok(Next::End) | Err(_) => return,
        }
        machine.spell(&mut spelled);
        let (places, number) = (machine.statement().variables().count(), machine.number());
        assert!(number < program.statements().count() && places <= text.len());
        // One meets another transaction.
        if step == 3 {
            machine.rolled_back();
            let again = machine.advance();
            assert!(again.is_ok(), "what was sent once can be sent again: {again:?}");
            while let Ok(Next::Sleep(_)) = machine.advance() {}
        }
        machine.row();
        if machine.answered(Some(vec![("n".into(), Some("5".into()))])).is_err() {
            return;
        }
    }
    panic!("it does not end");
}

#[test]
fn scripts() {
    let words = &[
        "\\set ",
        "\\if ",
        "\\elif ",
        "\\else\n",
        "\\endif\n",
        "\\gset\n",
        "\\aset p_\n",
        "\\sleep 1 ms\n",
        ":n",
        "::",
        "$1",
        "$$",
        "'",
        "\"",
        "/*",
        "*/",
        "--",
        ";",
        "\\;",
        "BEGIN;",
        "COMMIT;",
        "random(1, :n)",
        "case when ",
        " then ",
        " end",
        "\\\n",
        "9223372036854775807",
        "\\table t :n\n",
        "\\column c :row\n",
    ];
    let target = Target { words, ..Target::new("hostile::scripts", FOLDER, "tests/corpus/scripts") };
    fuzz::run(&target, |bytes, _| {
        let text = String::from_utf8_lossy(bytes);
        run(&text, false);
        run(&text, true);
    });
}
