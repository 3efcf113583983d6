//! Every option of every verb that takes a value, by the verb's own `--help`, given numbers that nobody should give: it is refused or
//! done, and never a panic.

use crate::harness::{World, on_block_device, said, small_study};
use std::process::Stdio;
use std::time::{Duration, Instant};

const NUMBERS: &[&str] = &[
    "0",
    "-0.0",
    "-1",
    "1e-300",
    "1e30",
    "1e308",
    "nan",
    "inf",
    "1",
    "4294967296",
    "18446744073709551615",
    "1e999999",
];

/// What an option is given to, so that it is looked at: nothing here measures anything. Guests' and workers' verbs are told what
/// surefoot itself made up.
const VERBS: &[(&str, &[&str])] = &[
    ("run", &["refused.toml", "--quiet"]),
    ("plan", &["small.toml"]),
    ("report", &["good.surefoot"]),
    ("replay", &["access.log", "http://127.0.0.1:9"]),
    ("load-agent", &[]),
    ("merge", &["good.surefoot"]),
    ("fleet slurm", &["small.toml", "--nodes", "3", "--print"]),
    ("fleet kubernetes", &["small.toml", "--nodes", "3", "--image", "i", "--claim", "c"]),
    ("powercut", &["refused.toml", "--quiet"]),
    ("faults", &["refused.toml", "--quiet"]),
    ("compare", &["good.surefoot", "good.surefoot"]),
    ("history", &["good.surefoot"]),
    ("serve", &["good.surefoot"]),
    ("status", &["good.surefoot"]),
    ("doctor", &[]),
    ("list", &[]),
    ("init", &["new"]),
    ("clean", &[]),
];

/// Verbs that have no options but those of another, and do with them what that does: numbers are tried there.
const AS_ANOTHER: &[(&str, &str)] = &[("resume", "run"), ("self-test", "run")];

/// What one option may take, after which it is ended: `replay` may go on for ever, at one request in 10^300 seconds.
const TIME_MAX: Duration = Duration::from_secs(2);

#[test]
fn no_number_of_any_option_is_a_panic() {
    let world = World::new();
    world.write("small.toml", small_study(&["ext4"], 1));
    let refused = on_block_device(&small_study(&["ext4"], 1), "/dev/nothing-of-that-name", "");
    world.write("refused.toml", refused);
    let line = "h - - [28/Feb/2024:00:00:00 +0000] \"GET /a HTTP/1.1\" 200 1\n";
    world.write("access.log", format!("{line}{}", line.replace("00:00:00", "23:59:59")));
    world.surefoot(&["run", "small.toml", "--results", "good.surefoot", "--quiet"]).status(0);
    for (verb, other) in AS_ANOTHER {
        let (own, known) = (options(&world, verb), options(&world, other));
        assert!(own.iter().all(|option| known.contains(option)), "`{verb}` has more than `{other}`: {own:?}");
    }
    // Side by side: most of the time is spent on waiting for what is then ended.
    let of_verbs: Vec<(usize, Vec<String>)> = std::thread::scope(|scope| {
        let threads = VERBS.iter().map(|(verb, arguments)| scope.spawn(|| tried(&world, verb, arguments)));
        let threads: Vec<_> = threads.collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    let tried: usize = of_verbs.iter().map(|(tried, _)| tried).sum();
    let panics: Vec<&String> = of_verbs.iter().flat_map(|(_, panics)| panics).collect();
    assert!(panics.is_empty(), "{panics:#?}");
    assert!(tried > 500, "{tried}: the options were not found");
    world.assert_nothing_left();
}

/// How many commands, and those that panicked.
fn tried(world: &World, verb: &str, arguments: &[&str]) -> (usize, Vec<String>) {
    let (mut tried, mut panics) = (0, Vec::new());
    for option in options(world, verb) {
        for number in NUMBERS {
            tried += 1;
            let all: Vec<&str> = verb.split(' ').chain([&*option, number]).chain(arguments.iter().copied()).collect();
            if panicked(world, &all) {
                panics.push(format!("surefoot {}", all.join(" ")));
            }
        }
    }
    (tried, panics)
}

/// `      --rate <PER_SECOND>`
fn options(world: &World, verb: &str) -> Vec<String> {
    let help = world.surefoot(&verb.split(' ').chain(["--help"]).collect::<Vec<_>>()).status(0).stdout;
    let option = |line: &str| {
        let at = line.find("--")?;
        let is_option = line[..at].trim().is_empty() || line[..at].trim().starts_with('-');
        let (name, value) = line[at..].split_once(' ')?;
        // A file may be called anything.
        let is_file = ["<FILE>", "<DIR>"].iter().any(|kind| value.starts_with(kind));
        (is_option && value.starts_with('<') && !is_file).then(|| name.to_string())
    };
    help.lines().filter_map(option).collect()
}

fn panicked(world: &World, arguments: &[&str]) -> bool {
    let mut command = world.command(arguments);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("surefoot starts");
    let started = Instant::now();
    while child.try_wait().expect("our own child").is_none() && started.elapsed() < TIME_MAX {
        std::thread::sleep(Duration::from_millis(2));
    }
    // One that has ended is not there any more.
    let _ = child.kill();
    let output = child.wait_with_output().expect("our own child");
    let said = said(&output);
    said.status == Some(101) || said.stderr.contains("panicked at")
}
