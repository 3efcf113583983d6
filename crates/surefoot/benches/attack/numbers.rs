//! The largest and smallest number that each setting of the embedded workloads takes, in a trial: it may fail or take longer than it is
//! given, and does not panic. Which settings there are, the program's own schema says.

use crate::stage::Stage;
use serde_json::Value;

/// Workloads that need no server, each with what it is given so that a trial is short.
const WORKLOADS: &[(&str, &str)] = &[
    ("oltp", "engine = \"sqlite\"\ntable_size = 100\nthreads = 1\ntime = \"100ms\"\n"),
    ("tree", "files = 10\n"),
    (
        "command",
        "command = [\"sh\", \"-c\", \"echo speed 1\"]\nmetrics = { speed = \"regex:speed ([0-9]+); unit 1/s; more\" }\n",
    ),
    ("null", ""),
];

/// Tries them.
pub fn attack(stage: &mut Stage) {
    let schema = stage.surefoot(&["schema"]).stdout;
    let schema: Value = serde_json::from_str(&schema).expect("`surefoot schema` prints JSON");
    let workloads = &schema["properties"]["workload"]["properties"];
    let mut cases = Vec::new();
    for (workload, settings) in WORKLOADS.iter().filter(|(name, _)| workloads[*name].is_object()) {
        for (name, setting) in workloads[*workload]["properties"].as_object().expect("settings") {
            for value in values(setting) {
                cases.push((*workload, *settings, format!("workload.{workload}.{name}={value}")));
            }
        }
    }
    let chosen = stage.count(2, cases.len());
    let folder = stage.path("numbers-data");
    std::fs::create_dir_all(&folder).expect("made");
    let from = if stage.is_test { stage.random.below(cases.len()) } else { 0 };
    let mut tried = 0;
    for (workload, settings, set) in cases.iter().cycle().skip(from).take(cases.len()) {
        if tried == chosen {
            break;
        }
        let text = format!(
            "name = \"n\"\nquestion = \"?\"\n[storage]\ndevice = \"dir\"\npath = {folder:?}\n[workload.{workload}]\n{settings}[design]\nrounds_min = 1\n\
             rounds_max = 1\nwarm_up_runs = 0\nruns = 1\ncontrol = false\ntrial_timeout = \"1s\"\nprobe = \"0s\"\n"
        );
        stage.world.write("numbers.toml", text);
        if stage.surefoot(&["plan", "numbers.toml", "--set", set]).status != Some(0) {
            continue;
        }
        stage.tried();
        tried += 1;
        let _ = std::fs::remove_file(stage.path("numbers.surefoot"));
        let arguments = ["run", "numbers.toml", "--quiet", "--results", "numbers.surefoot", "--set", set];
        let said = stage.surefoot(&arguments);
        stage.holds(matches!(said.status, Some(0 | 2 | 3 | 5)), || {
            format!("{set}: status {:?}: {}", said.status, said.stderr.trim())
        });
        // A trial that panics is a failed trial to the conductor; its words are in the results.
        let report = stage.surefoot(&["report", "numbers.surefoot", "--json"]).stdout;
        stage.holds(
            !report.contains("panicked at") && !report.contains("status: 101") && !report.contains("status 101"),
            || {
                let place =
                    report.lines().find(|line| line.contains("panicked")).unwrap_or_default().trim().to_string();
                format!("{set}: the trial panicked: {place}")
            },
        );
    }
}

/// Of a number its limits, and what else may stand between them; of a quantity the least and the most that a person can write.
fn values(setting: &Value) -> Vec<String> {
    if setting["type"] == "integer" || setting["type"] == "number" {
        let limits = ["minimum", "maximum"].iter().filter_map(|limit| setting.get(*limit)).map(Value::to_string);
        return limits.chain(["1e-300".into(), "0".into(), "1000000".into()]).collect();
    }
    let pattern = setting["pattern"].as_str().unwrap_or_default();
    let words: &[&str] = match pattern {
        pattern if pattern.contains("ms") => &["0s", "0.001us", "1000000000s"],
        pattern if pattern.contains("TiB") => &["0B", "1B", "16777215TiB"],
        pattern if pattern.contains('%') => &["0%", "0.0000001%", "100%"],
        _ => &[],
    };
    words.iter().map(ToString::to_string).collect()
}
