//! Where trials ran: said in the answer, and a guest's figures are held against the same guest's only.

use crate::export;
use crate::fixture::{self, Row, Table};
use ledger::model::Contents;
use report::input::Input;
use report::served::{self, Served, Source};
use report::{Comparison, Standing};
use serde_json::json;

const KERNEL: &str = "Linux 6.1.176 (User-Mode Linux)";
const GIB: u64 = 1 << 30;

fn host() -> Input {
    let rows =
        vec![Row::new("ext4", &[1000.0, 1010.0, 995.0, 1005.0]), Row::new("xfs", &[1200.0, 1210.0, 1195.0, 1205.0])];
    fixture::input(&Table { rows, ..fixture::filesystems_and_buffers() })
}

/// Moves the scenarios from this one on into a guest.
fn enter(contents: &mut Contents, first: usize, kernel: &str, memory: u64) {
    for scenario in &mut contents.scenarios[first..] {
        scenario.settings["bench"] = json!("guest");
        scenario.settings["guest"] = json!({ "memory": memory, "kernel": "linux.uml" });
        for trial in contents.trials.iter_mut().filter(|trial| trial.scenario == scenario.label) {
            trial.facts.insert("guest_kernel".into(), kernel.into());
        }
    }
}

fn guest(kernel: &str, memory: u64) -> Input {
    let mut input = host();
    enter(&mut input.contents, 0, kernel, memory);
    input
}

#[test]
fn the_report_says_that_it_ran_in_a_guest() {
    let input = guest(KERNEL, GIB);
    let said =
        "Trials ran in a guest kernel: Linux 6.1.176 (User-Mode Linux), 1 GiB of memory. Figures from a guest hold";
    assert!(report::answer(&input).iter().any(|line| line.starts_with(said)), "{:#?}", report::answer(&input));
    assert!(report::terminal(&input, 1000, false).contains(said));
    let page = report::html(&input);
    assert!(page.contains(said));
    assert!(
        page.contains("trials ran in a guest kernel: Linux 6.1.176 (User-Mode Linux), 1 GiB of memory</p></header>")
    );
    assert!(page.contains("# They ran in a guest kernel: "));
    let json = export::json(&input);
    let expected = json!([{
        "bench": "guest",
        "guest_kernel": [KERNEL],
        "guest_kernel_file_sha256": [],
        "guest_memory_bytes": GIB,
    }]);
    assert_eq!(json["benches"], expected);
    assert_eq!(json["workloads"][0]["scenarios"][0]["bench"], "guest");
}

#[test]
fn where_the_bench_is_a_factor_both_are_said() {
    let mut input = host();
    enter(&mut input.contents, 1, KERNEL, 3 * GIB / 2);
    let said =
        "Trials ran on the host's kernel; and in a guest kernel: Linux 6.1.176 (User-Mode Linux), 1536 MiB of memory.";
    let answer = report::answer(&input);
    assert!(answer.iter().any(|line| line.starts_with(said)), "{answer:#?}");
    // A study against itself: each label on its own bench.
    let mut other = host();
    enter(&mut other.contents, 1, KERNEL, 3 * GIB / 2);
    assert!(Comparison::of(&input, &other).is_ok());
}

#[test]
fn a_file_from_before_there_were_guests_ran_on_the_host() {
    let input = host();
    assert!(!report::terminal(&input, 100, false).contains("guest"));
    assert_eq!(export::json(&input)["benches"], json!([{ "bench": "host" }]));
    let mut named = host();
    for scenario in &mut named.contents.scenarios {
        scenario.settings["bench"] = json!("host");
        scenario.settings["guest"] = json!({});
    }
    assert!(Comparison::of(&input, &named).is_ok());
}

#[test]
fn only_the_same_guest_is_compared() {
    let refused = |a: &Input, b: &Input| Comparison::of(a, b).err().expect("they differ").to_string();
    assert_eq!(
        refused(&host(), &guest(KERNEL, GIB)),
        "figures of different benches are not compared: of `xfs`, A ran on the host's kernel; B ran in a guest kernel: \
         Linux 6.1.176 (User-Mode Linux), 1 GiB of memory"
    );
    let message = refused(&guest(KERNEL, GIB), &guest(KERNEL, 2 * GIB));
    assert!(message.contains("1 GiB of memory; B") && message.ends_with("2 GiB of memory"), "{message}");
    let message = refused(&guest(KERNEL, GIB), &guest("Linux 6.12.9 (User-Mode Linux)", GIB));
    assert!(message.contains("6.1.176") && message.contains("6.12.9"), "{message}");
    let text = Comparison::of(&guest(KERNEL, GIB), &guest(KERNEL, GIB)).expect("they are alike").text();
    assert!(text.contains("A: Trials ran in a guest kernel") && text.contains("xfs "), "{text}");
    let mut rebuilt = [guest(KERNEL, GIB), guest(KERNEL, GIB)];
    for (input, digest) in rebuilt.iter_mut().zip(["aa", "bb"]) {
        for trial in &mut input.contents.trials {
            trial.facts.insert("guest_kernel_file_sha256".into(), digest.into());
        }
    }
    assert!(Comparison::of(&rebuilt[0], &rebuilt[1]).is_err(), "one version, two files");
}

#[test]
fn several_in_one_view_are_of_one_bench() {
    let (first, second, other) = (host(), host(), guest(KERNEL, GIB));
    let standing = Standing::of(&first.contents, false);
    let all = |files: &[(&'static str, &Input)]| {
        let results = |(name, input): &(&'static str, _)| Served { name, results: Ok((*input, &standing)) };
        let source = Source { version_path: "/all/version", version: "1" };
        served::all(&files.iter().map(results).collect::<Vec<_>>(), source)
    };
    let alike = all(&[("a", &first), ("b", &second)]);
    assert!(alike.contains("id=\"side-oltp-") && !alike.contains("of different benches"), "{alike}");
    let mixed = all(&[("a", &first), ("b", &second), ("c", &other)]);
    assert!(
        mixed.contains("figures of different benches are not compared: of <code>xfs</code>, A ran on the host"),
        "{mixed}"
    );
    assert!(mixed.contains("A is a, B is c.") && !mixed.contains("id=\"side-oltp-"), "{mixed}");
}

#[test]
fn the_script_says_where_its_commands_ran() {
    let script = report::reproduce(&guest(KERNEL, GIB), "xfs").expect("it has commands");
    let second = script.lines().nth(1).expect("a line");
    assert_eq!(second, "# these commands ran in a guest kernel: Linux 6.1.176 (User-Mode Linux), 1 GiB of memory");
    assert!(!report::reproduce(&host(), "xfs").expect("it has commands").contains("guest"));
}
