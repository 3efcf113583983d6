//! The section to explore, in a real browser: what an address chooses is drawn, with the figures that the Rust side has.

use crate::export;
use crate::fixture::{self, Row, Table};
use crate::page::{Opened, open_at, write};
use observe::latency::Latency;
use observe::metric::{Direction, Metric};
use report::input::Input;
use report::number::figure;
use serde_json::Value;
use std::time::Duration;

const FILESYSTEM: &str = "storage.filesystem";
const CACHE: &str = "workload.oltp.cache_size";

/// What the section shows at an address; `None` without a browser.
fn explored(name: &str, input: &Input, hash: &str) -> Option<Explored> {
    explored_page(name, &report::html(input), hash)
}

/// As [`explored`], of a page that is made already.
fn explored_page(name: &str, html: &str, hash: &str) -> Option<Explored> {
    let opened = open_at(&write(name, html), hash)?;
    assert_eq!(opened.console, "");
    let Opened { dom, .. } = opened;
    assert!(dom.contains("data-explore=\"ready\"") && !dom.contains("data-error="), "the script failed at {hash}");
    let table = part(&dom, "table", "</table>");
    let rows = table.split("<tr>").skip(1).map(|row| {
        let cells = row.split("<t").skip(1).filter(|cell| cell.starts_with("h ") || cell.starts_with('d'));
        cells.map(|cell| text(&cell[cell.find('>').expect("a tag ends") + 1..])).collect()
    });
    Some(Explored {
        summary: text(part(&dom, "summary", "</p>")),
        notes: text(part(&dom, "notes", "</p>")),
        chart: part(&dom, "chart", "data-part=\"notes\"").into(),
        rows: rows.collect(),
        dom,
    })
}

struct Explored {
    summary: String,
    notes: String,
    chart: String,
    /// Heads first.
    rows: Vec<Vec<String>>,
    dom: String,
}

impl Explored {
    /// The row that begins with these cells.
    fn row(&self, begin: &[&str]) -> &[String] {
        let found = self.rows.iter().find(|row| row.iter().zip(begin).all(|(cell, wanted)| cell == wanted));
        found.unwrap_or_else(|| panic!("no row {begin:?} in {:?}", self.rows))
    }
}

/// From behind the tag of a part to its end.
fn part<'a>(dom: &'a str, name: &str, end: &str) -> &'a str {
    let tag = format!("data-part=\"{name}\"");
    let rest = &dom[dom.find(&tag).unwrap_or_else(|| panic!("no part {name}"))..];
    let rest = &rest[rest.find('>').expect("a tag ends") + 1..];
    &rest[..rest.find(end).unwrap_or_else(|| panic!("part {name} does not end"))]
}

/// From a text to another.
fn part_of<'a>(html: &'a str, from: &str, to: &str) -> &'a str {
    html.split(from).nth(1).and_then(|rest| rest.split(to).next()).unwrap_or_else(|| panic!("no {from}"))
}

/// What the script draws.
pub fn data_of(html: &str) -> Value {
    serde_json::from_str(part_of(html, "id=\"explore-data\">", "</script>")).expect("JSON")
}

/// Without tags.
fn text(html: &str) -> String {
    let pieces = html
        .split('<')
        .enumerate()
        .filter_map(|(i, piece)| if i == 0 { Some(piece) } else { piece.split_once('>').map(|(_, text)| text) });
    pieces.collect::<String>().replace("&amp;", "&").replace("&nbsp;", "\u{a0}")
}

/// A scenario of the JSON answer.
fn answered(json: &Value, label: &str) -> Value {
    let found = json["workloads"][0]["scenarios"].as_array().expect("rows").iter().find(|row| row["scenario"] == label);
    found.unwrap_or_else(|| panic!("no {label}")).clone()
}

#[test]
fn points_are_those_of_the_answer() {
    let input = fixture::published();
    let hash = format!("#view=compare&metric=transactions_per_second&x={FILESYSTEM}&series={CACHE}");
    let Some(shown) = explored_page("explore-compare.html", fixture::published_page(), &hash) else { return };
    let json = export::json(&input);
    assert_eq!(shown.rows.len(), 7, "{:?}", shown.rows);
    for filesystem in ["ext4", "xfs", "btrfs"] {
        for cache in ["128M", "2G"] {
            let answer = answered(&json, &format!("{filesystem} · {cache}"));
            let number = |name: &str| figure(answer[name].as_f64().unwrap());
            let row = shown.row(&[filesystem, cache]);
            assert_eq!(row[2..6], [number("geometric_mean"), number("low"), number("high"), "6".into()]);
        }
    }
    assert!(
        shown.summary.contains("best xfs · 2G with 3,886 1/s, worst btrfs · 128M with 2,602 1/s"),
        "{}",
        shown.summary
    );
    assert_eq!(shown.chart.matches("class=\"point\"").count(), 6);
    assert!(shown.chart.contains("aria-label=\"xfs · 2G: 3,886 1/s ("), "a point says its figures");
}

#[test]
fn levels_are_averaged_as_stats_does() {
    let html = fixture::published_page();
    let means = |name: &str, factor: &str| -> Option<Vec<f64>> {
        let shown = explored_page(name, html, &format!("#view=compare&x={factor}&series="))?;
        let table = part(&shown.dom, "table", "</table>").to_string();
        let rows = table.split("<tr>").skip(2).map(|row| {
            let value = row.split("data-v=\"").nth(1).expect("a figure").split('"').next().expect("an end");
            value.parse().expect("a number")
        });
        Some(rows.collect())
    };
    let (Some(filesystems), Some(caches)) = (means("explore-f.html", FILESYSTEM), means("explore-c.html", CACHE))
    else {
        return;
    };
    // Vectors C2 and C3 of this data set: xfs against ext4, 2G against 128M, from statsmodels.
    assert!((filesystems[1] / filesystems[0] - 1.031_888).abs() < 1e-6, "{filesystems:?}");
    assert!((caches[1] / caches[0] - 1.250_378).abs() < 1e-6, "{caches:?}");
}

#[test]
fn lines_join_levels_that_are_numbers_and_no_others() {
    let html = fixture::published_page();
    for (x, series, lines) in [(CACHE, FILESYSTEM, 3), (FILESYSTEM, CACHE, 0)] {
        let hash = format!("#view=compare&x={x}&series={series}");
        let Some(shown) = explored_page("explore-lines.html", html, &hash) else { return };
        assert_eq!(shown.chart.matches("fill=\"none\"").count(), lines, "{x}");
    }
}

#[test]
fn an_address_filters_levels_and_names_panels() {
    let hash =
        format!("#view=compare&x={FILESYSTEM}&series=&panels={CACHE}&only.{FILESYSTEM}=xfs,btrfs&only.{CACHE}=2G");
    let Some(shown) = explored_page("explore-filter.html", fixture::published_page(), &hash) else { return };
    assert_eq!(shown.rows.len(), 3, "{:?}", shown.rows);
    assert!(shown.row(&["xfs", "2G"])[2] == "3,886" && !shown.chart.contains("ext4"));
    assert_eq!(shown.chart.matches("<svg").count(), 1);
    let has_box = |level: &str| {
        shown.dom.contains(&format!("<input type=\"checkbox\" name=\"only.{FILESYSTEM}\" value=\"{level}\">"))
    };
    assert!(has_box("ext4") && has_box("xfs"), "every level has its box, ticked or not");
}

#[test]
fn the_heat_map_hatches_what_may_be_the_best() {
    let hash = format!("#view=map&x={CACHE}&series={FILESYSTEM}");
    let Some(shown) = explored_page("explore-map.html", fixture::published_page(), &hash) else { return };
    // Vector B1 at the level of a first answer: xfs or ext4 with 2G.
    assert_eq!(shown.row(&["2G", "xfs"]).last().unwrap(), "yes");
    assert_eq!(shown.rows.iter().filter(|row| row.last().is_some_and(|cell| cell == "yes")).count(), 2);
    assert_eq!(shown.chart.matches("class=\"hatch\"").count(), 2);
    assert!(shown.chart.contains(">3,886</text>"), "cells hold their figures");
    // Of three rounds nothing much can be told; the best set of stats says how much.
    let mut table = fixture::filesystems_and_buffers();
    table.rows.iter_mut().for_each(|row| row.values.truncate(3));
    let sets: Vec<Vec<Option<f64>>> =
        table.rows[..6].iter().map(|row| row.values.iter().map(|value| value.map(f64::ln)).collect()).collect();
    let members = stats::best_set(&sets, 0.025).unwrap().members.len();
    let Some(shown) = explored("explore-map-3.html", &fixture::input(&table), &hash) else { return };
    assert_eq!(shown.chart.matches("class=\"hatch\"").count(), members);
}

/// Without a round that has all of them, the section to explore once hatched every cell, and the picture above it two.
#[test]
fn where_trials_failed_both_heat_maps_hatch_the_same() {
    let mut table = fixture::filesystems_and_buffers();
    (0..6).for_each(|at| table.rows[at].values[at] = None);
    let input = fixture::input(&table);
    let html = report::html(&input);
    let hatched = part_of(&html, "id=\"heat-0\"", "</svg>").matches("stroke-opacity=\"0.55\"").count();
    assert!((1..6).contains(&hatched), "{hatched} cells");
    let hash = format!("#view=map&x={CACHE}&series={FILESYSTEM}");
    let Some(shown) = explored_page("explore-map-holes.html", &html, &hash) else { return };
    assert_eq!(shown.chart.matches("class=\"hatch\"").count(), hatched);
}

/// Of figures that never vary the largest alone was hatched, by however little: a thousandth is as much as is known of any.
#[test]
fn figures_that_never_vary_are_told_apart_by_no_less_than_their_resolution() {
    let mut table = fixture::filesystems_and_buffers();
    for (at, row) in table.rows.iter_mut().enumerate() {
        row.values.fill(Some(1000.0 + 0.05 * at as f64));
    }
    let input = fixture::input(&table);
    let html = report::html(&input);
    let resolution = data_of(&html)["resolution"].as_f64().expect("a number");
    assert!((resolution - stats::interval::RESOLUTION).abs() < 1e-9, "{resolution}");
    let hash = format!("#view=map&x={CACHE}&series={FILESYSTEM}");
    let Some(shown) = explored_page("explore-map-alike.html", &html, &hash) else { return };
    assert_eq!(shown.chart.matches("class=\"hatch\"").count(), 6);
}

/// From 81 cells on every one was hatched, as there was nothing to hold them to.
#[test]
fn maps_of_any_number_of_cells_are_judged() {
    let row = |n: u32| Row {
        levels: Vec::new(),
        ..Row::new(&format!("fs{n}"), &[1000.0, 1010.0, 990.0].map(|value| value + f64::from(n)))
    };
    let table = Table { rows: (0..81).map(row).collect(), ..fixture::filesystems_and_buffers() };
    let data = data_of(&report::html(&Input::new(fixture::contents(&table), Default::default())));
    let best = data["best"].as_array().expect("lists");
    let counts: Vec<Option<u64>> = best.iter().map(|list| list[0].as_u64()).collect();
    assert_eq!((counts.first(), counts.last(), counts.len()), (Some(&Some(2)), Some(&Some(160)), 80));
    let first = |list: &Value| list[1][0].as_f64().expect("a quantile");
    assert!(first(&best[79]) > first(&best[78]));
}

#[test]
fn what_failed_is_a_hole_and_what_does_not_flush_is_marked() {
    let mut table = fixture::filesystems_and_buffers();
    table.rows[2].values = vec![None; 6];
    let mut input = fixture::input(&table);
    for run in fixture::runs_of(&mut input.contents, |trial| trial.scenario == "btrfs · 2G") {
        run.metrics.extend(
            [("commits", 1e5), ("flushes_per_commit", 0.0), ("device_flushes", 0.0)].map(|(n, v)| (n.into(), v)),
        );
    }
    let html = report::html(&input);
    assert!(html.contains("btrfs · 2G (does not flush)"), "the fixture does not do what it says");
    let hash = format!("#view=compare&x={FILESYSTEM}&series={CACHE}");
    let Some(shown) = explored_page("explore-holes.html", &html, &hash) else { return };
    let failed = shown.row(&["xfs", "128M"]);
    assert_eq!((failed[2].as_str(), failed[7].as_str()), ("–", "6"));
    assert!(
        shown.chart.contains("xfs · 128M: failed in every round: load: No space left on device"),
        "{}",
        shown.chart
    );
    assert_eq!(shown.row(&["btrfs", "2G"]).last().unwrap(), "does not flush");
    assert!(shown.chart.contains("†") && shown.notes.contains("† does not flush"), "{}", shown.notes);
    let map =
        explored_page("explore-holes.html", &html, &hash.replace("compare", "map")).expect("the browser is there");
    assert!(map.chart.contains(">failed</text>"));
}

#[test]
fn latency_curves_are_those_of_the_merged_histograms() {
    let input = fixture::published();
    let hash = format!("#view=latency&operation=transaction&series={FILESYSTEM}&panels={CACHE}");
    let Some(shown) = explored_page("explore-latency.html", fixture::published_page(), &hash) else { return };
    assert_eq!(shown.chart.matches("<svg").count(), 2);
    assert_eq!(shown.rows[0][..4], ["scenario", "50 %, ms", "90 %, ms", "99 %, ms"]);
    for (label, latencies) in input.details.latencies.iter().filter(|(label, _)| !label.contains("control")) {
        let expected = [0.5, 0.9, 0.99].map(|q| figure(latencies["transaction"].microseconds_at(q) / 1000.0));
        assert_eq!(shown.row(&[label])[1..4], expected, "{label}");
    }
}

#[test]
fn seconds_are_drawn_with_the_warm_up_before_them() {
    let mut input = fixture::published();
    let rates = [("transactions_per_second".to_string(), vec![500.0; 5])];
    let detail = ledger::model::RunDetail { series: rates.into(), ..Default::default() };
    for trial in &input.contents.trials.clone() {
        input.details.add_warm_up(trial, &detail);
    }
    let hash = format!("#view=time&rate=transactions_per_second&only.{FILESYSTEM}=xfs");
    let Some(shown) = explored("explore-time.html", &input, &hash) else { return };
    assert_eq!(shown.chart.matches("<svg").count(), 2);
    assert_eq!(shown.chart.matches("class=\"warm\"").count(), 2);
    // Two scenarios, six rounds, a warm-up and a run each.
    assert_eq!(shown.rows.len() - 1, 24);
    let warm_up = shown.row(&["xfs · 2G", "1", "warm-up"]);
    assert_eq!(warm_up[3], "5");
    // Twelve bits of the largest value are as good as the eye.
    let mean: f64 = warm_up[4].replace(',', "").parse().unwrap();
    assert!((mean - 500.0).abs() < 2.0, "{warm_up:?}");
    let line = &input.details.series["xfs · 2G"]["transactions_per_second"][0];
    let expected = line.points.iter().map(|point| point.1).sum::<f64>() / 30.0;
    let row = shown.row(&["xfs · 2G", "1", "measured"]);
    let mean: f64 = row[4].replace(',', "").parse().unwrap();
    assert!((mean / expected - 1.0).abs() < 1e-3, "{mean} and {expected}");
}

#[test]
fn moments_of_a_run_are_marked_and_said() {
    let mut input = fixture::published();
    let level = |second: usize| if second < 40 { 1000.0 } else { 700.0 };
    let rates = (0..60).map(|second| level(second) + ((second * 7919) % 11) as f64).collect();
    let flushes = (0..60).map(|second| if second == 9 { 0.3 } else { 0.01 }).collect();
    let series = [("transactions_per_second".to_string(), rates), ("device_flush_seconds".to_string(), flushes)];
    let detail = ledger::model::RunDetail { series: series.into(), ..Default::default() };
    input.details.series.clear();
    for trial in &input.contents.trials.clone() {
        input.details.add(trial, &detail);
    }
    let html = report::html(&input);
    let panel = part_of(&html, "id=\"series-0-0\"", "</svg>");
    assert!(panel.contains("Round 1: another level from 40 s; long flushes at 9 s."), "{panel}");
    assert!(html.contains("◆ on a dashed line: ") && html.contains("▲ on the axis: "), "both are in the legend");
    let hash = "#view=time&rate=transactions_per_second";
    let Some(shown) = explored_page("explore-marks.html", &html, hash) else { return };
    assert!(
        shown.chart.contains("aria-label=\"xfs · 2G, round 1, 40 s: another level from here on\""),
        "{}",
        shown.chart
    );
    assert!(shown.chart.contains("aria-label=\"xfs · 2G, round 1, 9 s: long flushes\""));
    let legend = text(part(&shown.dom, "legend", "</ul>"));
    assert!(legend.contains("change point") && legend.contains("flushes took at least 50 ms"), "{legend}");
    assert_eq!(shown.row(&["xfs · 2G", "1", "measured"])[7..], ["40", "9"]);
}

#[test]
fn an_address_of_nonsense_shows_the_default() {
    let html = fixture::published_page();
    let hash = "#view=%3Cscript%3E&metric=none&only.nothing=%&x=__proto__&only.storage.filesystem=reiserfs";
    let Some(shown) = explored_page("explore-nonsense.html", html, hash) else { return };
    assert!(shown.chart.contains("Nothing to draw"), "{}", shown.chart);
    let shown = explored_page("explore-nonsense.html", html, "#%&=&x=y=z").expect("the browser is there");
    assert_eq!(shown.rows.len(), 7);
}

#[test]
fn what_was_not_recorded_cannot_be_chosen() {
    let mut input = fixture::published();
    input.details.latencies.clear();
    let Some(shown) = explored("explore-no-latency.html", &input, "#view=latency") else { return };
    assert!(shown.summary.starts_with("transactions per second by "), "{}", shown.summary);
    let radio = |view: &str| {
        let rest = shown.dom.split(&format!("value=\"{view}\"")).nth(1).expect("a radio button");
        rest.split('>').next().expect("a tag ends").contains("disabled")
    };
    assert_eq!(["compare", "map", "latency", "time"].map(radio), [false, false, true, false]);
}

/// A script on the page is the reader: where keys lead from the first point on, and what a tick changes.
#[test]
fn keys_lead_from_point_to_point_and_controls_change_the_address() {
    let reader = "<script>addEventListener('load', () => {\
        const chart = document.querySelector('[data-part=chart]');\
        const press = (key) => { document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));\
          said.push(document.activeElement.getAttribute('aria-label').split(':')[0]); };\
        const said = [];\
        chart.querySelector('.point').focus();\
        ['ArrowRight', 'ArrowDown', 'ArrowLeft', 'ArrowUp', 'ArrowUp'].forEach(press);\
        document.documentElement.dataset.said = said.join(', ');\
        document.documentElement.dataset.tip = document.getElementById('tip').textContent;\
        const box = document.querySelector('input[type=checkbox][value=btrfs]');\
        box.click();\
        document.documentElement.dataset.at = location.hash;\
        document.documentElement.dataset.points = chart.querySelectorAll('.point').length;\
      });</script>";
    let html = fixture::published_page().replace("</body>", &format!("{reader}</body>"));
    let hash = format!("#view=compare&x={FILESYSTEM}&series={CACHE}");
    let Some(opened) = open_at(&write("explore-keys.html", &html), &hash) else { return };
    let root = &opened.dom[..opened.dom.find("<head").expect("a page has a head")];
    assert!(root.contains("data-said=\"xfs · 128M, xfs · 2G, ext4 · 2G, ext4 · 128M, ext4 · 128M\""), "{root}");
    assert!(root.contains("data-tip=\"ext4 · 128M: 2,"), "{root}");
    assert!(root.contains("only.storage.filesystem=ext4,xfs\"") && root.contains("data-points=\"4\""), "{root}");
}

/// As large as a real study of 42 scenarios: factors, metrics, series and histograms as `oltp` on PostgreSQL records them.
fn forty_two(rounds: usize, seconds: usize) -> Input {
    let (filesystems, caches) = (["ext4", "xfs", "btrfs", "f2fs", "ext2", "jfs", "nilfs2"], ["128M", "512M", "2G"]);
    let mut rows = Vec::new();
    for (f, filesystem) in filesystems.iter().enumerate() {
        for (c, cache) in caches.iter().enumerate() {
            for (s, sync) in ["on", "off"].iter().enumerate() {
                let centre = 1000.0 + 90.0 * f as f64 + 210.0 * c as f64 + 400.0 * s as f64;
                let value =
                    |round: usize| centre * (1.0 + 0.02 * (((round * 37 + f * 11 + c * 5 + s) % 17) as f64 / 17.0));
                let mut row = Row::new(filesystem, &(0..rounds).map(value).collect::<Vec<_>>());
                row.label = format!("{filesystem} · shared_buffers={cache} · synchronous_commit={sync}");
                row.levels.push(("service.postgres.settings.shared_buffers", format!("shared_buffers={cache}")));
                row.levels.push(("service.postgres.settings.synchronous_commit", format!("synchronous_commit={sync}")));
                rows.push(row);
            }
        }
    }
    let contents = fixture::contents(&Table { rows, ..fixture::filesystems_and_buffers() });
    let mut input = Input::new(contents, Default::default());
    for i in 0..80 {
        let metric = Metric::named(format!("device_figure_{i}"), "B".into(), Direction::Neither);
        input.contents.metrics.insert(metric.name.to_string(), metric);
    }
    for (n, run) in input.contents.runs.iter_mut().enumerate() {
        let figures =
            (0..80).map(|i| (format!("device_figure_{i}").into(), 1.0e9 / 7.0 + (n * 7919 + i * 104_729) as f64));
        run.metrics.extend(figures);
    }
    let mut latency = Latency::default();
    (1..20_000u64).for_each(|i| latency.record(Duration::from_micros(i * i % 7_919 + 50 + i / 3)));
    for (n, run) in input.contents.runs.iter().enumerate() {
        let trial = input.contents.trials.iter().find(|trial| trial.id == run.trial).expect("its trial");
        let noisy =
            |seed: usize| (0..seconds).map(|i| 900.0 + ((i * 7_919 + seed * 104_729 + n * 31) % 977) as f64).collect();
        let mut series: std::collections::BTreeMap<String, Vec<f64>> =
            (0..35).map(|i| (format!("device_series_{i}"), noisy(i))).collect();
        series.insert("transactions_per_second".into(), noisy(99));
        let latencies = [("transaction".to_string(), latency.clone())].into();
        let detail = ledger::model::RunDetail { latencies, series };
        input.details.add_warm_up(trial, &detail);
        input.details.add(trial, &detail);
    }
    input.details.runs_all = input.contents.runs.len();
    input
}

#[test]
fn a_study_of_42_scenarios_makes_a_page_below_two_megabytes() {
    let input = forty_two(20, 150);
    let html = report::html(&input);
    let data = part_of(&html, "id=\"explore-data\">", "</script>");
    println!("{} bytes, of them {} to explore", html.len(), data.len());
    write("explore-42.html", &html);
    assert!(html.len() < 2_000_000, "{} bytes", html.len());
    assert!(html.contains("\"name\":\"device_series_34\""), "every series is there");
    assert!(html.contains(" more metrics have no room here: "), "and not every metric, which is said");
    // No two rows look alike, long as their labels are.
    for (chart, x) in [("ranking-0", "18.0"), ("latency-0-0", "24.0")] {
        let picture = part_of(&html, &format!("id=\"{chart}\""), "</svg>");
        let names: Vec<&str> =
            picture.split(&format!("<text x=\"{x}\"")).skip(1).map(|rest| part_of(rest, ">", "<")).collect();
        let different: std::collections::BTreeSet<&&str> = names.iter().collect();
        assert!(names.len() > 5 && different.len() == names.len(), "{chart}: {names:?}");
    }
    let hash = "#view=time&only.storage.filesystem=jfs";
    let Some(shown) = explored_page("explore-42.html", &html, hash) else { return };
    let rounds: std::collections::BTreeSet<&String> = shown.rows.iter().skip(1).map(|row| &row[1]).collect();
    let said = format!("Lines of {} of 20 runs a scenario, spread evenly.", rounds.len());
    assert!(shown.notes.contains(&said), "{said} {}", shown.notes);
}

/// The first of two workloads, which all failed, once ended the script, and nothing of the other could be explored.
#[test]
fn a_workload_without_a_value_is_not_there_to_be_chosen() {
    let mut contents = fixture::contents(&fixture::filesystems_and_buffers());
    let other = ledger::model::Scenario {
        label: "mail".into(),
        workload: "maildir".into(),
        primary_metric: "deliveries_per_second".into(),
        ..contents.scenarios[1].clone()
    };
    contents.scenarios.insert(0, other);
    let input = Input::new(contents, Default::default());
    let html = report::html(&input);
    let data = data_of(&html);
    let workloads = data["workloads"].as_array().expect("workloads");
    assert_eq!(workloads.iter().map(|one| one["name"].as_str()).collect::<Vec<_>>(), [Some("oltp")]);
    let Some(shown) = explored_page("explore-one-of-two.html", &html, "") else { return };
    assert!(shown.summary.contains("with 3,886 1/s"), "{}", shown.summary);
}
