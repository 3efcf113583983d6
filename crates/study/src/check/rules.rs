//! `[[include]]`, `[[exclude]]` and `baseline`: lists of rules that name factors and levels.

use super::{Base, Checker};
use crate::document::Node;
use crate::factor::{self, Factor};
use crate::matrix::Rule;
use crate::problem::{Problem, Span};
use serde_json::Value;

/// Which list of rules: they share their shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RuleKind {
    Exclude,
    Include,
    Baseline,
}

impl RuleKind {
    pub(super) fn name(self) -> &'static str {
        ["exclude", "include", "baseline"][self as usize]
    }
}

impl Checker<'_> {
    pub(super) fn rules(&mut self, kind: RuleKind, base: &Base, factors: &mut [Factor]) -> Vec<Rule> {
        self.list(kind.name()).iter().filter_map(|node| self.rule(kind, node, base, factors)).collect()
    }

    /// A table of factors and levels; in an include also of settings. The factor `workload` is always there.
    pub(super) fn rule(&mut self, kind: RuleKind, node: &Node, base: &Base, factors: &mut [Factor]) -> Option<Rule> {
        if !node.is_table() {
            let message = format!("`{}` is not a table of factors and levels", kind.name());
            self.wrong(message, node.span.clone(), "like { \"storage.filesystem\" = \"ext4\" }");
            return None;
        }
        let before = self.problems.len();
        let mut rule = Rule { workload: None, levels: Vec::new(), settings: Vec::new(), span: node.span.clone() };
        for (name, span, value) in factor::flatten(node) {
            let place = factors.iter().position(|factor| factor.name == name);
            if name == "workload" {
                rule.workload = self.workload_of_rule(&value, base);
            } else if let Some(place) = place {
                rule.levels.extend(self.level(kind, &mut factors[place], &value).map(|level| (place, level)));
            } else if kind == RuleKind::Include && factor::is_path(&name) {
                rule.settings.extend(self.added_setting(&name, span, &value, base, factors));
            } else {
                let mut problem = unknown_factor(kind.name(), &name, span, factors);
                // A right path was not misspelt: it is only not varied here.
                if factor::setting_at(&name, None, self.catalogue, &mut Vec::new()).is_some() {
                    problem.hint = None;
                }
                self.problems.push(problem);
            }
        }
        if rule.workload.is_none() && rule.levels.is_empty() && self.problems.len() == before {
            let message = format!("`{}` names no factor", kind.name());
            self.wrong(message, node.span.clone(), "factors and their levels");
        }
        (self.problems.len() == before).then_some(rule)
    }

    fn workload_of_rule(&mut self, value: &Node, base: &Base) -> Option<String> {
        let name = value.json();
        let found =
            base.workloads.iter().find(|known| Some(known.0.as_str()) == name.as_str()).map(|known| known.0.clone());
        if found.is_none() {
            let known: Vec<&str> = base.workloads.iter().map(|known| known.0.as_str()).collect();
            self.problems.push(Problem::unknown_level("workload", &name, &known, value.span.clone()));
        }
        found
    }

    /// The index of a factor's level; an include may bring a new one of a path.
    fn level(&mut self, kind: RuleKind, factor: &mut Factor, value: &Node) -> Option<usize> {
        let level = match factor.named {
            true => None,
            false => {
                let setting = factor::setting_at(&factor.name, None, self.catalogue, self.problems)?;
                Some(factor::path_level(&factor.name, setting, value, self.problems)?)
            }
        };
        let key = level.as_ref().map_or_else(|| factor::level_name(&value.json()), |level| level.key.clone());
        let found = factor.levels.iter().position(|known| known.key == key);
        if let Some(level) = level.filter(|_| kind == RuleKind::Include && found.is_none()) {
            return Some(factor.include(level));
        }
        if found.is_none() {
            let (name, known, span) = (&factor.name, factor.level_names(), value.span.clone());
            self.problems.push(Problem::unknown_level(name, &value.json(), &known, span));
        }
        found
    }

    fn added_setting(
        &mut self,
        path: &str,
        span: Span,
        value: &Node,
        base: &Base,
        factors: &[Factor],
    ) -> Option<(String, Value)> {
        let setting = factor::setting_at(path, span.clone(), self.catalogue, self.problems)?;
        let workload = path.strip_prefix("workload.").and_then(|rest| rest.split('.').next());
        // A change may have left its workload out.
        let is_absent = |name: &&str| !self.is_changed && !base.workloads.iter().any(|known| known.0 == **name);
        if let Some(workload) = workload.filter(is_absent) {
            let message = format!("`{path}` in `include` has no effect: this study has no workload `{workload}`");
            self.wrong(message, span, format!("add [workload.{workload}]"));
            return None;
        }
        if let Some(factor) = factors.iter().find(|factor| factor.paths().any(|known| known == path)) {
            let message = format!("the factor `{}` sets `{path}` already", factor.name);
            self.wrong(message, span, "factors, their levels, and settings that no factor makes");
            return None;
        }
        Some((path.to_string(), factor::path_level(path, setting, value, self.problems)?.key))
    }
}

pub(super) fn unknown_factor(place: &str, name: &str, span: Span, factors: &[Factor]) -> Problem {
    let known: Vec<&str> = factors.iter().map(|factor| factor.name.as_str()).chain(["workload"]).collect();
    let hint = settings::nearest_name(name, known.iter().copied()).map(|name| format!("did you mean `{name}`?"));
    let label = format!("factors of this study: {}", known.join(", "));
    Problem::new(format!("`{name}` in `{place}` is not a factor"), span, label).hint(hint)
}
