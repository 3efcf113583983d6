//! The JSON Schema of study files, from the same tables that check them.
//!
//! It says less than the check: which settings go together, and the limits of values with units, only the check knows.

use crate::Catalogue;
use crate::factor::{all_paths, setting_at};
use crate::limit::LIMIT;
use crate::own_settings::{CPUS, DESIGN, FREE_TABLES, GUEST, TOP, VOLUMES};
use crate::safety::{CLASSES, SAFETY};
use crate::table::TABLE;
use serde_json::{Map, Value, json};
use settings::quantity::{byte_units, second_units};
use settings::{Kind, Setting};

/// JSON Schema, draft 2020-12; editors complete and check study files by it.
pub fn schema(catalogue: &dyn Catalogue) -> Value {
    let workloads = by_name(catalogue.workloads(), &|name| catalogue.workload(name));
    let workload = json!({
        "type": "object", "properties": workloads, "additionalProperties": false, "minProperties": 1,
        "description": "One table a workload; with several, every scenario is made for each.",
    });
    let services = by_name(catalogue.services(), &|name| catalogue.service(name));
    let service = json!({ "type": "object", "properties": services, "additionalProperties": false });
    let mut storage = table(catalogue.storage());
    // `[storage.data]` is the volume of `[storage]` itself.
    for volume in VOLUMES.iter().copied().chain(["data"]) {
        storage["properties"][volume] = table(catalogue.storage());
    }
    let exclude = "Factors and their levels: scenarios to leave out.";
    let baseline = "Factors and their levels: the scenario that the others are compared with; without it, the first.";
    let include = "Scenarios that match get the other settings; without such, or without settings, scenarios to add.";
    let mut properties: Map<String, Value> =
        TOP.iter().map(|setting| (setting.name.to_string(), of(setting))).collect();
    properties.extend([
        ("factors".to_string(), factors(catalogue)),
        ("exclude".into(), json!({ "type": "array", "items": rule(exclude) })),
        ("include".into(), json!({ "type": "array", "items": rule(include) })),
        ("baseline".into(), rule(baseline)),
        ("storage".into(), storage),
        ("service".into(), service),
        ("workload".into(), workload),
        ("design".into(), table(DESIGN)),
        ("safety".into(), safety()),
        ("cpus".into(), table(CPUS)),
        ("guest".into(), table(GUEST)),
        ("table".into(), tables()),
        ("limit".into(), limits()),
    ]);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "surefoot study",
        "type": "object",
        "properties": properties,
        "required": ["name", "workload"],
        "additionalProperties": false,
    })
}

/// Tables of services or workloads.
fn by_name(names: Vec<&str>, of: &dyn Fn(&str) -> Option<&'static [Setting]>) -> Map<String, Value> {
    names.into_iter().filter_map(|name| Some((name.to_string(), table(of(name)?)))).collect()
}

fn factors(catalogue: &dyn Catalogue) -> Value {
    let levels = |path: String| {
        let setting = setting_at(&path, None, catalogue, &mut Vec::new())?;
        Some((path, json!({ "type": "array", "items": of(setting), "minItems": 1, "description": setting.help })))
    };
    let paths: Map<String, Value> = all_paths(catalogue).filter_map(levels).collect();
    json!({
        "type": "object",
        "description": "What is varied: a setting's dotted path with a list of levels, or a name with named levels, each a table of settings.",
        "properties": paths,
        "additionalProperties": { "type": ["array", "object"], "minItems": 1, "minProperties": 1 },
    })
}

fn safety() -> Value {
    let mut safety = table(SAFETY);
    safety["description"] = Value::from("With this table it is measured what a power cut takes from each scenario.");
    let classes = &mut safety["properties"]["classes"];
    classes["items"] = json!({ "enum": CLASSES });
    classes["minItems"] = json!(1);
    safety
}

fn tables() -> Value {
    let mut one = table(TABLE);
    let row = json!({ "type": "object", "additionalProperties": { "type": "number" } });
    one["properties"]["published"] = json!({
        "type": "object",
        "properties": {
            "source": { "type": "string", "description": "Who measured, when, on what machine. Allowed: text." },
            "values": { "type": "object", "additionalProperties": row, "description": "Row, column, value in the metric's own unit." },
        },
        "required": ["source", "values"],
        "additionalProperties": false,
        "description": "Figures of others, shown beside ours and marked as another machine's.",
    });
    json!({
        "type": "array", "items": one,
        "description": "Tables that the report shows: a metric by the levels of two factors.",
    })
}

fn limits() -> Value {
    json!({
        "type": "array", "items": table(LIMIT),
        "description": "Limits that figures are held against: the answer is a yes or a no, with what is to spare.",
    })
}

fn rule(description: &str) -> Value {
    json!({ "type": "object", "minProperties": 1, "description": description })
}

fn table(settings: &[Setting]) -> Value {
    let properties: Map<String, Value> =
        settings.iter().map(|setting| (setting.name.to_string(), of(setting))).collect();
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

fn of(setting: &Setting) -> Value {
    let part = |units: Vec<&str>| format!(" *[0-9._]+ *({})", units.join("|"));
    let quantity = |units: Vec<&str>| json!({ "type": "string", "pattern": format!("^{} *$", part(units)) });
    let times = |units: Vec<&str>| json!({ "type": "string", "pattern": format!("^({})+ *$", part(units)) });
    let mut schema = match setting.kind {
        Kind::Bytes { .. } => quantity(byte_units().collect()),
        Kind::Seconds { .. } => times(second_units().collect()),
        Kind::Percent { .. } => quantity(vec!["%"]),
        Kind::Integer { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Kind::Number { min, max } => json!({ "type": "number", "minimum": min, "maximum": max }),
        Kind::Choice(words) => json!({ "type": "string", "enum": words }),
        Kind::Boolean => json!({ "type": "boolean" }),
        Kind::Text => json!({ "type": "string" }),
        Kind::TextList => json!({ "type": "array", "items": { "type": "string" } }),
        Kind::IntegerList => json!({ "type": "array", "items": { "type": "integer", "minimum": 0 } }),
        // A name with dots is a table of tables where it has no quotes.
        Kind::Table if FREE_TABLES.contains(&setting.name) => {
            json!({ "type": "object", "additionalProperties": { "type": ["string", "number", "boolean", "object"] } })
        }
        Kind::Table => json!({ "type": "object", "additionalProperties": { "type": ["string", "number", "boolean"] } }),
        Kind::Scalar => json!({ "type": ["string", "number", "boolean"] }),
    };
    schema["description"] = Value::from(format!("{} Allowed: {}.", setting.help, setting.kind.allowed()));
    if let Some(default) = setting.default_written() {
        schema["default"] = default;
    }
    schema
}
