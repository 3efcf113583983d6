//! The small grammar that takes a metric from a program's output.
//!
//! ```text
//! rule      = source *( ";" part )
//! source    = "json:" JSON-pointer   (RFC 6901, into the first JSON object on standard output that has it)
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
                        1/s; more\" (first group, last match), then `more`, `less` or, not of the first, `neither` is \
                        better. The first must not be below 0. Names of figures that surefoot has of each run \
                        (`errors`, `space_used_bytes`, `device_…`) are refused.";

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
    if observe::metric::is_taken(name) {
        let other = format!("surefoot has a figure of its own of this name: give yours another, like `program_{name}`");
        return Err(problem(other));
    }
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
            Source::Json(pointer) => match look_up(stdout, pointer)? {
                Value::String(text) => text,
                value => value.to_string(),
            },
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

/// What the pointer leads to, in the first JSON object where it leads to anything: programs print warnings, with braces
/// in them, before their result and after it.
fn look_up(text: &str, pointer: &str) -> Result<Value, String> {
    let mut problem = "there is no JSON object on its standard output".to_string();
    let (mut at, braces) = (0, text.match_indices('{').map(|(at, _)| at));
    for brace in braces {
        // What stands inside an object that was read is not an object of its own.
        if brace < at {
            continue;
        }
        let mut objects = serde_json::Deserializer::from_str(&text[brace..]).into_iter::<Value>();
        let Some(Ok(object)) = objects.next() else { continue };
        at = brace + objects.byte_offset();
        match object.pointer(pointer) {
            Some(value) => return Ok(value.clone()),
            None => problem = format!("the JSON has nothing at {pointer}"),
        }
    }
    Err(problem)
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
        check(
            "json:/jobs/0/iops; unit 1/s; more",
            "note: {x\n{\"jobs\": [{\"iops\": 2.5}]}\nbye",
            expect!["Ok(2.5) 1/s More"],
        );
        check("json:/a; less", "warning {} {\"a\": \"7\"}", expect!["Ok(7.0) 1 Less"]);
        check("json:/b; less", "{\"a\": 7}", expect![[r#"Err("the JSON has nothing at /b") 1 Less"#]]);
        check("json:/a; less", "no json", expect![[r#"Err("there is no JSON object on its standard output") 1 Less"#]]);
        check("json:/a; less", "{\"a\": null}", expect![[r#"Err("\"null\" is no finite number") 1 Less"#]]);
        check("regex:tps = ([0-9.]+); unit 1/s; more", "tps = 1.0\ntps = 2.0\n", expect!["Ok(2.0) 1/s More"]);
        check("regex:^a;b ([0-9]+)$; neither; unit B", "x\na;b 5\n", expect!["Ok(5.0) B Neither"]);
        check("regex:stderr ([0-9]+); more", "", expect!["Ok(7.0) 1 More"]);
        check("regex:n=(.*); more", "n=inf", expect![[r#"Err("\"inf\" is no finite number") 1 More"#]]);
        check("regex:n=(.*); more", "n=1,5", expect![[r#"Err("\"1,5\" is no finite number") 1 More"#]]);
        check("regex:absent (.); more", "", expect![[r#"Err("nothing matches absent (.)") 1 More"#]]);
    }

    /// The first had been read as a load's errors, and the second had been replaced by what `df` says.
    #[test]
    fn surefoots_own_names_are_refused() {
        for name in ["errors", "space_used_bytes", "device_write_bytes"] {
            let problem = parse(name, &json!("json:/a; less")).err().unwrap();
            assert!(problem.starts_with(&format!("`metrics.{name}`: surefoot has a figure")), "{problem}");
        }
    }

    #[test]
    fn bad_rules() {
        check("json:/a", "", expect!["`metrics.m`: must end with `; more`, `; less` or `; neither`"]);
        check("json:a; more", "", expect!["`metrics.m`: a JSON pointer begins with a slash: json:/a"]);
        check("tps; more", "", expect![[r#"`metrics.m`: begins with `json:` or `regex:`, not with "tps""#]]);
        check(
            "regex:[; more",
            "",
            expect![[r#"
            `metrics.m`: regex parse error:
                [
                ^
            error: unclosed character class"#]],
        );
        check(
            "regex:a; more",
            "",
            expect!["`metrics.m`: the expression needs a group around the number, like ([0-9.]+)"],
        );
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
