//! Study files against a small world: what they come to (`plans`), what is said of wrong ones (`messages`, `factor_messages`), what the
//! command line changes (`changes`), what is asked of power cuts (`safety`), the schema, and properties that hold for any file.

mod changes;
mod factor_messages;
mod messages;
mod plans;
mod properties;
mod safety;
mod schema;

use expect_test::Expect;
use serde_json::{Map, Value, json};
use settings::{Kind, Setting};
use study::{Catalogue, Override, Problem, plan, position, read};

/// Settings stay in their plain form here.
pub type Plan = study::Plan<Map<String, Value>>;

/// A small world of storage and two workloads.
pub struct Small;

const STORAGE: &[Setting] = &[
    Setting { name: "filesystem", kind: Kind::Choice(&["ext3", "ext4", "xfs"]), default: Some("ext4"), help: "Which." },
    Setting { name: "size", kind: Kind::Bytes { min: 1, max: u64::MAX }, default: Some("1GiB"), help: "How large." },
    Setting { name: "mount", kind: Kind::TextList, default: Some("[]"), help: "Options." },
];

const fn number(name: &'static str) -> Setting {
    Setting { name, kind: Kind::Integer { min: 1, max: 1_000_000 }, default: Some("1"), help: "How many." }
}

const OLTP: &[Setting] = &[
    number("threads"),
    number("rows"),
    number("tables"),
    Setting { name: "engine", kind: Kind::Choice(&["sqlite", "postgres"]), default: Some("sqlite"), help: "Which." },
    Setting { name: "like", kind: Kind::Choice(&["1.0", "0.4"]), default: Some("1.0"), help: "Which rows." },
    Setting { name: "metrics", kind: Kind::Table, default: None, help: "Figures." },
];

const POSTGRES: &[Setting] = &[
    Setting { name: "version", kind: Kind::Text, default: None, help: "Which." },
    Setting { name: "settings", kind: Kind::Table, default: Some("{}"), help: "Its own." },
];

const TREE: &[Setting] = &[number("files")];

impl Catalogue for Small {
    fn storage(&self) -> &'static [Setting] {
        STORAGE
    }
    fn storage_problems(&self, storage: &Map<String, Value>) -> Vec<(String, String)> {
        let bad = storage["filesystem"] == "xfs" && storage["mount"] == json!(["data=journal"]);
        bad.then(|| ("mount".to_string(), "xfs has no data=journal".to_string())).into_iter().collect()
    }
    fn workloads(&self) -> Vec<&'static str> {
        vec!["oltp", "tree"]
    }
    fn workload(&self, name: &str) -> Option<&'static [Setting]> {
        match name {
            "oltp" => Some(OLTP),
            "tree" => Some(TREE),
            _ => None,
        }
    }
    fn workload_problems(&self, name: &str, parameters: &Map<String, Value>) -> Vec<String> {
        let bad = name == "oltp" && parameters["rows"].as_u64() < parameters["tables"].as_u64();
        bad.then(|| "`rows` is below `tables`".to_string()).into_iter().collect()
    }
    fn workload_idle(&self, name: &str, parameters: &Map<String, Value>) -> Vec<(String, &'static str)> {
        let is_idle = name == "oltp" && parameters["engine"] == "postgres";
        is_idle.then(|| ("like".to_string(), "an embedded `engine`")).into_iter().collect()
    }
    fn workload_metrics(&self, name: &str, parameters: &Map<String, Value>) -> Vec<String> {
        let metrics = match name {
            // As if these came at a rate.
            "oltp" if parameters["threads"] == 777 => &["commit_seconds", "commits_per_second"][..],
            "oltp" => &["commits_per_second", "commit_seconds"],
            _ => &["files_per_second"],
        };
        metrics.iter().map(|metric| (*metric).to_string()).collect()
    }
    fn workload_services(
        &self,
        name: &str,
        parameters: &Map<String, Value>,
        _: &std::collections::BTreeMap<String, Map<String, Value>>,
    ) -> Vec<&'static str> {
        (name == "oltp" && parameters["engine"] == "postgres").then_some("postgres").into_iter().collect()
    }
    fn has_log_volume(&self, service: &str) -> bool {
        service == "postgres"
    }
    fn services(&self) -> Vec<&'static str> {
        vec!["postgres"]
    }
    fn service(&self, name: &str) -> Option<&'static [Setting]> {
        (name == "postgres").then_some(POSTGRES)
    }
    fn service_idle(&self, _: &str, settings: &Map<String, Value>) -> Vec<(String, &'static str)> {
        let set = |name: &str| settings["settings"].get(name).is_some();
        let is_idle = set("commit_siblings") && !set("commit_delay");
        is_idle.then(|| ("settings.commit_siblings".to_string(), "commit_delay")).into_iter().collect()
    }
    fn service_problems(&self, _: &str, settings: &Map<String, Value>) -> Vec<String> {
        let bad = settings["settings"].get("port").is_some();
        bad.then(|| "settings.port: not yours to set".to_string()).into_iter().collect()
    }
}

/// What every file here begins with; two lines.
pub const HEAD: &str = "name = \"s\"\nquestion = \"?\"\n";

/// Problems as a person sees them, a line each: `line:column message | label (hint)`.
pub fn told(text: &str, problems: &[Problem]) -> String {
    let line = |problem: &Problem| {
        let place = problem.span.as_ref().map_or("-".to_string(), |span| {
            let (line, column) = position(text, span.start);
            format!("{line}:{column}")
        });
        let hint = problem.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        format!("{place} {} | {}{hint}\n", problem.message, problem.label)
    };
    problems.iter().map(line).collect()
}

/// The plan of a whole file with changes, or its problems.
pub fn plan_of_file(text: &str, changes: &[(&str, &str)]) -> Result<Plan, String> {
    let changes: Vec<Override> =
        changes.iter().map(|(path, value)| Override { path: (*path).into(), value: (*value).into() }).collect();
    let (study, problems) = read(text, &changes, &Small);
    let study = study.ok_or_else(|| told(text, &problems))?;
    plan(&study, &Map::clone).map_err(|problem| format!("only plan() said: {}", told(text, &[problem])))
}

/// The plan of a body with changes, or its problems.
pub fn planned(body: &str, changes: &[(&str, &str)]) -> Result<Plan, String> {
    plan_of_file(&format!("{HEAD}{body}"), changes)
}

/// The plan of a body that is right.
#[track_caller]
pub fn right(body: &str) -> Plan {
    planned(body, &[]).expect("this file is right")
}

/// The labels of all scenarios.
pub fn labels(plan: &Plan) -> Vec<&str> {
    plan.scenarios.iter().map(|scenario| &*scenario.label).collect()
}

/// The labels of a body's scenarios with changes, or its problems.
#[track_caller]
pub fn check_with(body: &str, changes: &[(&str, &str)], expect: &Expect) {
    let found = match planned(body, changes) {
        Ok(plan) => labels(&plan).iter().map(|label| format!("{label}\n")).collect(),
        Err(problems) => problems,
    };
    expect.assert_eq(&found);
}

/// The labels of a body's scenarios, or its problems.
#[track_caller]
pub fn check(body: &str, expect: &Expect) {
    check_with(body, &[], expect);
}
