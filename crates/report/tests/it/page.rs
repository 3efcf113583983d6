//! The page opens in a browser, offline, without an error, and all its charts are there.

use crate::fixture::{self, Row};
use ledger::model::ChosenTurns;
use observe::durability::Class;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a headless browser made of a page.
pub struct Opened {
    pub dom: String,
    pub console: String,
}

fn browser() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|program| program.is_file())
}

/// Opens a file; `None`, aloud, without a browser. In CI a missing browser is a failure.
pub fn open(page: &Path) -> Option<Opened> {
    open_at(page, "")
}

/// Opens a file at what stands behind its address: `#view=map`.
pub fn open_at(page: &Path, hash: &str) -> Option<Opened> {
    let Some(browser) = browser() else {
        assert!(std::env::var_os("CI").is_none(), "no Chromium in CI: install the package chromium");
        eprintln!("SKIPPED: no Chromium found (package chromium), so the page was not opened");
        return None;
    };
    let profile = tempfile::tempdir().expect("the test's own file or program");
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--enable-logging=stderr", "--v=0", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("file://{}{hash}", page.display()))
        .output()
        .expect("the test's own file or program");
    Some(Opened {
        dom: String::from_utf8_lossy(&output.stdout).into_owned(),
        console: String::from_utf8_lossy(&output.stderr).lines().filter(|line| line.contains("CONSOLE")).collect(),
    })
}

/// Written where it outlives the test, so that a person can look at it.
pub fn write(name: &str, html: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, html).expect("the test's own file or program");
    path
}

#[test]
fn the_page_opens_without_errors_and_all_charts_are_there() {
    let html = fixture::published_page();
    let Some(opened) = open(&write("report.html", html)) else { return };
    assert_eq!(opened.console, "");
    assert!(opened.dom.contains("data-ready=\"1\""), "the script did not reach its end");
    for id in [
        "ranking-0",
        "forest-0",
        "latency-0-0",
        "series-0-0",
        "series-0-6",
        "cpu-0",
        "trust-0",
        "importance-0",
        "heat-0",
    ] {
        assert!(
            opened.dom.contains(&format!("<svg xmlns=\"http://www.w3.org/2000/svg\" id=\"{id}\"")),
            "no chart {id}"
        );
    }
}

#[test]
fn pairs_of_factors_are_drawn_without_a_script() {
    let html = fixture::published_page();
    let picture = |id: &str| {
        let rest = html.split(&format!("id=\"{id}\"")).nth(1).unwrap_or_else(|| panic!("no picture {id}"));
        rest.split("</svg>").next().unwrap_or_default()
    };
    let heat = picture("heat-0");
    for mean in ["2,944", "3,768", "3,040", "3,886", "2,602", "3,110"] {
        assert!(heat.contains(&format!(">{mean}</text>")), "no {mean}: {heat}");
    }
    // At the level of a first answer ext4 with 2G may be the best as well as xfs with 2G: both are hatched.
    assert_eq!(heat.matches("stroke-opacity=\"0.55\"").count(), 2);
    // Sizes lie along the axis, in order, and lines join them: one a filesystem.
    let pair = picture("interplay-0-1-workload-oltp-cache-size");
    assert_eq!(pair.matches("fill=\"none\"").count(), 3, "{pair}");
    assert!(pair.contains("xfs · 2G: 3,886 1/s"), "{pair}");
}

#[test]
fn a_page_of_hostile_names_runs_none_of_them() {
    let evil = "<script>document.title='taken'</script>\"'><img src=x onerror=alert(1)>";
    let mut table = fixture::filesystems_and_buffers();
    for (i, row) in table.rows.iter_mut().enumerate() {
        row.label = format!("{evil}{i}");
        row.class = Class::MayCorrupt;
        row.levels[0].1 = format!("{evil}{i}");
    }
    let mut input = fixture::input(&table);
    input.contents.study.name = evil.into();
    input.contents.study.question = evil.into();
    input.contents.study.text = format!("</pre>{evil}");
    input.contents.study.overrides = vec![evil.into()];
    for trial in &mut input.contents.trials {
        trial.commands = vec![evil.into()];
        trial.warnings = vec![evil.into()];
    }
    input.contents.sessions[0].machine.insert(evil.into(), evil.into());
    let html = report::html(&input);
    // Nothing of the study may open a tag: the page has two scripts of its own, and the figures for one of them.
    assert_eq!(html.matches("<script").count(), 3);
    assert!(!html.contains("<img"));
    let Some(opened) = open(&write("hostile.html", &html)) else { return };
    assert_eq!(opened.console, "");
    assert!(opened.dom.contains("data-ready=\"1\"") && !opened.dom.contains("<title>taken"));
}

#[test]
fn the_page_asks_the_network_for_nothing() {
    let html = fixture::published_page();
    let urls = html.replace("http://www.w3.org/2000/svg", "");
    assert!(!urls.contains("http://") && !urls.contains("https://"), "the page names an address");
    assert!(html.contains("default-src 'none'"));
}

#[test]
fn the_scripts_are_small() {
    let html = fixture::published_page();
    let scripts: Vec<usize> =
        html.split("<script>").skip(1).map(|rest| rest.split("</script>").next().unwrap().len()).collect();
    let [explore, page] = scripts[..] else { panic!("{scripts:?}") };
    assert!(page < 5 * 1024, "{page} bytes");
    assert!(explore < 48 * 1024, "{explore} bytes");
}

#[test]
fn a_page_without_trials_opens_too() {
    let table = fixture::Table {
        rows: vec![Row::new("ext4", &[]), Row::new("xfs", &[])],
        ..fixture::filesystems_and_buffers()
    };
    let Some(opened) = open(&write("empty.html", &report::html(&fixture::input(&table)))) else { return };
    assert_eq!(opened.console, "");
    assert!(opened.dom.contains("data-ready=\"1\""));
}

/// Its command alone draws other orders and data.
#[test]
fn the_page_has_what_makes_a_repetition_the_same() {
    let mut input = fixture::published();
    input.contents.study.seed = 4711;
    let without = report::html(&input);
    assert!(without.contains("--seed 4711") && !without.contains("design.turn="), "turns were not chosen");
    input.contents.study.turns = Some(ChosenTurns {
        turn_milliseconds: 1500,
        turns: None,
        rounds: 6,
        white_noise: 0.02,
        lasting_noise: 0.01,
        correlation_seconds: 5.0,
    });
    assert!(report::html(&input).contains("--set design.turn=1500ms"));
}

/// More than a picture has room for is no less there for not being drawn.
#[test]
fn charts_say_what_they_leave_out() {
    // Without levels, of which all pairs would be compared.
    let rows = (0..71).map(|n| {
        let values = [1.0, 1.01, 0.99, 1.0].map(|noise| f64::from(1000 + n) * noise);
        Row { levels: Vec::new(), ..Row::new(&format!("fs{n}"), &values) }
    });
    let table = fixture::Table { rows: rows.collect(), ..fixture::filesystems_and_buffers() };
    let contents = fixture::contents(&table);
    let html = report::html(&report::Input::new(contents.clone(), Default::default()));
    assert!(html.contains(" The best 40 of 71 scenarios are drawn.</figcaption>"), "where the CPU went");
    assert!(html.contains(" The first 60 of 70 comparisons are drawn; the table has all."));
    let [first, second] = [contents.clone(), contents].map(|one| report::Input::new(one, Default::default()));
    let standing = report::Standing::of(&first.contents, false);
    let served = [("a", &first), ("b", &second)]
        .map(|(name, input)| report::served::Served { name, results: Ok((input, &standing)) });
    let source = report::served::Source { version_path: "/all/version", version: "1" };
    assert!(report::served::all(&served, source).contains("The first 30 of 71 are drawn; the table has all."));
}
