//! The JSON Schema of study files, from the same tables that check them.

use crate::Catalogue;
use crate::own_settings::{CPUS, DESIGN, TOP};
use serde_json::{Map, Value, json};
use settings::{Kind, Setting};

/// JSON Schema, draft 2020-12; editors complete and check study files by it.
#[must_use]
pub fn schema(catalogue: &dyn Catalogue) -> Value {
    let workloads: Map<String, Value> = catalogue
        .workloads()
        .into_iter()
        .filter_map(|name| Some((name.to_string(), table(catalogue.workload(name)?))))
        .collect();
    let rule = json!({ "type": "object", "description": "Factors and their levels." });
    let mut properties: Map<String, Value> = TOP.iter().map(|setting| (setting.name.to_string(), of(setting))).collect();
    properties.extend([
        ("factors".to_string(), json!({
            "type": "object",
            "description": "What is varied: a setting's dotted path with a list of levels, or a name with named levels, each a table of settings.",
            "additionalProperties": { "type": ["array", "object"] },
        })),
        ("exclude".into(), json!({ "type": "array", "items": rule, "description": "Combinations to leave out." })),
        ("include".into(), json!({ "type": "array", "items": rule, "description": "Combinations to keep although an exclude matches them." })),
        ("baseline".into(), rule.clone()),
        ("storage".into(), table(catalogue.storage())),
        ("workload".into(), json!({ "type": "object", "properties": workloads, "additionalProperties": false, "minProperties": 1 })),
        ("design".into(), table(DESIGN)),
        ("cpus".into(), table(CPUS)),
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

fn table(settings: &[Setting]) -> Value {
    let properties: Map<String, Value> = settings.iter().map(|setting| (setting.name.to_string(), of(setting))).collect();
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

fn of(setting: &Setting) -> Value {
    let mut schema = match setting.kind {
        Kind::Bytes { .. } => json!({ "type": "string", "pattern": "^[0-9][0-9_.]* ?(TiB|GiB|MiB|KiB|TB|GB|MB|KB|kB|B)$" }),
        Kind::Seconds { .. } => json!({ "type": "string", "pattern": "^[0-9][0-9_.]* ?(us|ms|s|min|h)$" }),
        Kind::Percent { .. } => json!({ "type": "string", "pattern": "^[0-9][0-9_.]* ?%$" }),
        Kind::Integer { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Kind::Number { min, max } => json!({ "type": "number", "minimum": min, "maximum": max }),
        Kind::Choice(words) => json!({ "type": "string", "enum": words }),
        Kind::Boolean => json!({ "type": "boolean" }),
        Kind::Text => json!({ "type": "string" }),
        Kind::TextList => json!({ "type": "array", "items": { "type": "string" } }),
        Kind::IntegerList => json!({ "type": "array", "items": { "type": "integer", "minimum": 0 } }),
        Kind::Table => json!({ "type": "object" }),
    };
    schema["description"] = Value::from(format!("{} Allowed: {}.", setting.help, setting.kind.allowed()));
    if let Some(default) = setting.default {
        schema["default"] = serde_json::from_str(default).unwrap_or_else(|_| Value::from(default));
    }
    schema
}
