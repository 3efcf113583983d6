//! The small grammar that takes a metric from a program's output.
//!
//! ```text
//! rule      = source *( ";" part )
//! source    = "json:" JSON-pointer   (RFC 6901, into the first JSON object on standard output)
//!           / "regex:" expression    (its first group is the number; the last match counts; standard output, then error)
//! part      = "unit" TEXT            (1 unless given)
//!           / "more" / "less" / "neither"   (which way is better; required)
//! ```
//! Parts are read from the end, so that an expression may contain semicolons.

use observe::metric::{Direction, Metric};
use regex::{Regex, RegexBuilder};
use serde_json::Value;

/// For the table of settings.
pub const HELP: &str = "What to take from the output, by name; the first is the primary metric. A rule is \
                        \"json:/jobs/0/write/iops; unit 1/s; more\" (JSON pointer) or \"regex:tps = ([0-9.]+); unit \
                        1/s; more\" (first group, last match), then `more`, `less` or `neither` is better.";

/// A rule, ready to be used.
pub struct Extractor {
    /// What it yields.
    pub metric: Metric,
    source: Source,
}

enum Source {
    Json(String),
    Regex(Regex),
}

/// Reads a rule; a problem in words.
pub fn parse(name: &str, rule: &Value) -> Result<Extractor, String> {
    let problem = |what: String| format!("`metrics.{name}`: {what}");
    let Some(text) = rule.as_str() else {
        return Err(problem(format!("a rule is a text, like \"json:/tps; unit 1/s; more\", not {rule}")));
    };
    let (mut rest, mut unit, mut direction) = (text.trim(), None, None);
    while let Some((before, part)) = rest.rsplit_once(';') {
        match part.trim() {
            "more" if direction.is_none() => direction = Some(Direction::More),
            "less" if direction.is_none() => direction = Some(Direction::Less),
            "neither" if direction.is_none() => direction = Some(Direction::Neither),
            other => match other.strip_prefix("unit ") {
                Some(text) if unit.is_none() => unit = Some(text.trim().to_string()),
                _ => break,
            },
        }
        rest = before.trim_end();
    }
    let direction = direction.ok_or_else(|| problem("must end with `; more`, `; less` or `; neither`".into()))?;
    let source = parse_source(rest).map_err(problem)?;
    let metric = Metric::named(name.into(), unit.unwrap_or_else(|| "1".into()), direction);
    Ok(Extractor { metric, source })
}

fn parse_source(text: &str) -> Result<Source, String> {
    if let Some(pointer) = text.strip_prefix("json:") {
        if !pointer.is_empty() && !pointer.starts_with('/') {
            return Err(format!("a JSON pointer begins with a slash: json:/{pointer}"));
        }
        return Ok(Source::Json(pointer.into()));
    }
    let Some(expression) = text.strip_prefix("regex:") else {
        return Err(format!("begins with `json:` or `regex:`, not with {text:?}"));
    };
    // `^` and `$` mean lines: output is looked at by line.
    let regex = RegexBuilder::new(expression).multi_line(true).build().map_err(|error| error.to_string())?;
    if regex.captures_len() < 2 {
        return Err("the expression needs a group around the number, like ([0-9.]+)".into());
    }
    Ok(Source::Regex(regex))
}

impl Extractor {
    /// The number; a problem in words when it isn't there or isn't one.
    pub fn value(&self, stdout: &str, stderr: &str) -> Result<f64, String> {
        let text = match &self.source {
            Source::Json(pointer) => {
                let object = first_object(stdout).ok_or("there is no JSON object on its standard output")?;
                match object.pointer(pointer) {
                    None => return Err(format!("the JSON has nothing at {pointer}")),
                    Some(Value::String(text)) => text.clone(),
                    Some(value) => value.to_string(),
                }
            }
            Source::Regex(regex) => {
                let last = |text| regex.captures_iter(text).last().and_then(|groups| groups.get(1)).map(|m| m.as_str());
                let found = last(stdout).or_else(|| last(stderr));
                found.ok_or_else(|| format!("nothing matches {regex}"))?.to_string()
            }
        };
        let value: Option<f64> = text.trim().parse().ok();
        value.filter(|value| value.is_finite()).ok_or_else(|| format!("{text:?} is no finite number"))
    }
}

/// The first JSON object: programs print warnings before it and after it. One that begins a line goes first, because
/// warnings contain braces too.
fn first_object(text: &str) -> Option<Value> {
    let parsed = |at: usize| {
        let value = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>().next()?.ok()?;
        value.is_object().then_some(value)
    };
    let braces = || text.match_indices('{').map(|(at, _)| at);
    let begins_line = |at: &usize| text[..*at].rsplit('\n').next().is_some_and(|before| before.trim().is_empty());
    braces().filter(begins_line).find_map(parsed).or_else(|| braces().find_map(parsed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;
    use serde_json::json;

    fn check(rule: &str, stdout: &str, expected: Expect) {
        let shown = match parse("m", &json!(rule)) {
            Err(problem) => problem,
            Ok(extractor) => {
                let Metric { unit, direction, .. } = &extractor.metric;
                format!("{:?} {unit} {direction:?}", extractor.value(stdout, "on stderr 7"))
            }
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn rules_and_what_they_find() {
        check("json:/jobs/0/iops; unit 1/s; more", "note: {x\n{\"jobs\": [{\"iops\": 2.5}]}\nbye", expect![]);
        check("json:/a; less", "warning {} {\"a\": \"7\"}", expect![]);
        check("json:/b; less", "{\"a\": 7}", expect![]);
        check("json:/a; less", "no json", expect![]);
        check("json:/a; less", "{\"a\": null}", expect![]);
        check("regex:tps = ([0-9.]+); unit 1/s; more", "tps = 1.0\ntps = 2.0\n", expect![]);
        check("regex:^a;b ([0-9]+)$; neither; unit B", "x\na;b 5\n", expect![]);
        check("regex:stderr ([0-9]+); more", "", expect![]);
        check("regex:n=(.*); more", "n=inf", expect![]);
        check("regex:n=(.*); more", "n=1,5", expect![]);
        check("regex:absent (.); more", "", expect![]);
    }

    #[test]
    fn bad_rules() {
        check("json:/a", "", expect![]);
        check("json:a; more", "", expect![]);
        check("tps; more", "", expect![]);
        check("regex:[; more", "", expect![]);
        check("regex:a; more", "", expect![]);
    }

    proptest! {
        #[test]
        fn no_output_breaks_it(stdout: String) {
            for rule in ["json:/a/0; more", "regex:(.+); less"] {
                let value = parse("m", &json!(rule)).unwrap().value(&stdout, "");
                prop_assert!(value.is_err() || value.is_ok_and(f64::is_finite));
            }
        }
    }
}
