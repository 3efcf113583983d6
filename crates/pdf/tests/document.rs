//! Documents of every kind of block, read back with poppler's tools (Debian's poppler-utils).

use serde_json::json;
use std::io::Write as _;
use std::process::{Command, Stdio};

const SVG: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 380 60\" font-family=\"system-ui,sans-serif\" \
    font-size=\"13\" fill=\"currentColor\"><text x=\"4\" y=\"20\">more is better →</text></svg>";

fn document(blocks: &serde_json::Value) -> Vec<u8> {
    let document = json!({
        "description": {
            "title": "Which filesystem?", "author": "surefoot", "above": "above", "below": "below", "footer": "the footer",
            "blocks": blocks,
        },
        "files": {"a.svg": SVG, "runs.csv": "a,b\n1,2\n"},
    });
    document.to_string().into_bytes()
}

fn every_kind() -> serde_json::Value {
    let heads = json!([{"head": "scenario", "right": false}, {"head": "per_second", "right": true}]);
    let rows: Vec<_> = (0..120).map(|n| json!([format!("row {n}"), "1,733"])).collect();
    let chart = json!({"file": "a.svg", "alt": "a chart", "caption": "It `shows`", "width": 380.0, "height": 60.0, "stretches": [[0.0, 10.0], [40.0, 60.0]]});
    json!([
        {"kind": "lead", "text": "Pick <xfs> & #1 $x$ *now* \\"},
        {"kind": "heading", "level": 1, "text": "Chapter _one_"},
        {"kind": "paragraph", "text": "Run `surefoot report --csv`."},
        {"kind": "note", "text": "one ` only"},
        {"kind": "list", "items": ["first", "second"]},
        {"kind": "warning", "title": "Short runs.", "text": "Longer ones."},
        {"kind": "table", "caption": "Scenarios", "columns": heads, "rows": rows},
        {"kind": "facts", "rows": [["kernel", "6.1"]]},
        {"kind": "pictures", "columns": 2, "charts": [chart]},
        {"kind": "code", "text": "mkfs.ext4 -F /dev/loop0\nmount"},
        {"kind": "attachment", "file": "runs.csv", "description": "all", "mime": "text/csv", "text": "attached"},
        {"kind": "newpage"},
        {"kind": "paragraph", "text": "the end"},
    ])
}

/// What `surefoot report --pdf` gets.
fn by_the_program(document: &[u8]) -> Vec<u8> {
    let mut program = Command::new(env!("CARGO_BIN_EXE_surefoot-pdf"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    program.stdin.take().expect("it was asked for").write_all(document).expect("it reads all");
    program.wait_with_output().expect("it ends").stdout
}

#[test]
fn every_kind_of_block_is_set_and_says_what_it_said() {
    let pdf = pdf::pdf(&document(&every_kind())).expect("a document");
    assert_eq!(pdf, by_the_program(&document(&every_kind())), "the same bytes each time");
    let path = std::env::temp_dir().join(format!("surefoot-pdf-{}.pdf", std::process::id()));
    std::fs::write(&path, pdf).expect("written");
    let poppler = |program: &str, arguments: &[&str]| {
        let output =
            Command::new(program).args(arguments).output().unwrap_or_else(|_| panic!("{program} is in poppler-utils"));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let file = path.to_str().expect("a plain name");
    let text = poppler("pdftotext", &["-layout", file, "-"]);
    let attached = poppler("pdfdetach", &["-list", file]);
    std::fs::remove_file(&path).expect("removed");
    for words in [
        "Which filesystem?",
        "Pick <xfs> & #1 $x$ *now* \\",
        "1 Chapter _one_",
        "surefoot report --csv",
        "one ` only",
        "second",
        "Short runs.",
        "row 0",
        "row 119",
        "kernel",
        "more is better →",
        "mkfs.ext4 -F /dev/loop0",
        "the end",
        "the footer",
    ] {
        assert!(text.contains(words), "{words} is not in\n{text}");
    }
    // The table's head stands on each of its pages.
    assert!(text.matches("scenario").count() > 1, "{text}");
    assert!(attached.contains("runs.csv"), "{attached}");
}

#[test]
fn what_does_not_fit_the_template_is_said() {
    let unknown = pdf::pdf(&document(&json!([{"kind": "song"}]))).expect_err("no such kind");
    assert!(unknown.to_string().contains("song"), "{unknown}");
    let chart =
        json!({"file": "b.svg", "alt": "", "caption": "", "width": 1.0, "height": 1.0, "stretches": [[0.0, 1.0]]});
    let missing = json!([{"kind": "pictures", "columns": 1, "charts": [chart]}]);
    let missing = pdf::pdf(&document(&missing)).expect_err("no such file");
    assert!(missing.to_string().contains("b.svg"), "{missing}");
    let cut = pdf::pdf(b"{\"description\"").expect_err("half of a document");
    assert!(cut.to_string().contains("not a document"), "{cut}");
}
