//! GT.M's settings for a database that is made anew, and its journal.

use super::{journaling, qualifiers};
use settings::configuration::{Configuration, Setup};
use std::collections::BTreeMap;

/// What the global directory editor is told of qualifiers, and how the journal is switched on where it was measured.
pub fn files(settings: &BTreeMap<String, String>, journal: &str, setup: &Setup) -> Vec<Configuration> {
    let of = |of_segment: bool| qualifiers(settings, of_segment);
    let journaling = journaling(settings, journal, setup.log.as_ref().unwrap_or(&setup.data));
    let journaling = journaling.map(|text| {
        format!("mupip set \"{text}\" -region DEFAULT  # a database that has a journal goes on in this file")
    });
    let path = "surefoot.gde, given to `mumps -run GDE`".into();
    let before = vec!["# Of a database that is made anew: one that is there keeps its layout.".into()];
    let text = format!("change -segment DEFAULT{}\nchange -region DEFAULT{}\nexit\n", of(true), of(false));
    let after = std::iter::once("mupip create".into()).chain(journaling).collect();
    vec![Configuration { path, before, text, after, checks: vec!["mupip dumpfhead -region DEFAULT".into()] }]
}

#[cfg(test)]
mod tests {
    use crate::applied::tests::printed;
    use serde_json::json;
    use settings::configuration::Setup;

    /// To switch a journal changes a database, which is no check.
    #[test]
    fn the_journal_is_switched_on_where_it_was_measured() {
        let last = |log: Option<&str>| {
            let setup = Setup { data: "/M/data".into(), log: log.map(String::from), ..Setup::default() };
            let file = printed("gtm", json!({}), &setup).remove(0);
            assert_eq!(file.checks, ["mupip dumpfhead -region DEFAULT"]);
            file.after.last().cloned().unwrap_or_default()
        };
        assert!(last(None).contains("file=/M/data/surefoot.mjl"), "{}", last(None));
        assert!(last(Some("/M-wal")).contains("file=/M-wal/surefoot.mjl"));
        assert_eq!(printed("gtm", json!({ "journal": "none" }), &Setup::default())[0].after, ["mupip create"]);
    }
}
