//! What `report --json` prints, held against its schema; surefoot's own tests hold whole files against it.

use serde_json::{Value, json};

/// A schema that was read, in which fields that it does not know are errors.
pub struct Schema(boon::Schemas, boon::SchemaIndex);

impl Schema {
    /// What it says of a value.
    pub fn judge(&self, value: &Value) -> Result<(), String> {
        self.0.validate(value, self.1).map_err(|error| format!("{error:#}"))
    }
}

/// The schema of all that is printed, or of the definition with this name.
pub fn read(schema: &str, definition: Option<&str>) -> Schema {
    let mut schema: Value = serde_json::from_str(schema).expect("JSON");
    close(&mut schema);
    if let Some(name) = definition {
        schema = json!({ "$schema": schema["$schema"], "$ref": format!("#/$defs/{name}"), "$defs": schema["$defs"] });
    }
    let (mut schemas, mut compiler) = (boon::Schemas::new(), boon::Compiler::new());
    compiler.add_resource("report.schema.json", schema).expect("one resource");
    let index = compiler.compile("report.schema.json", &mut schemas).expect("a schema");
    Schema(schemas, index)
}

/// Objects that name their properties have no others.
fn close(schema: &mut Value) {
    if schema.get("properties").is_some() && schema.get("additionalProperties").is_none() {
        schema["additionalProperties"] = json!(false);
    }
    match schema {
        Value::Object(fields) => fields.values_mut().for_each(close),
        Value::Array(entries) => entries.iter_mut().for_each(close),
        _ => {}
    }
}
