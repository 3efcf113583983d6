//! `docs/claims.md` names what shows each promise, once: each test that it names is a function in that file.

use crate::{read, root};
use std::collections::BTreeSet;

#[test]
fn what_shows_a_promise_exists() {
    let text = read(&root().join("docs/claims.md"));
    let rows = text.lines().filter(|line| line.starts_with("| ")).skip(1);
    let (mut tests, mut promises) = (0, BTreeSet::new());
    for row in rows {
        assert!(promises.insert(row.split(" | ").next()), "stands twice: {row}");
        let shown = row.rsplit(" | ").next().unwrap_or_default();
        assert!(shown.len() > 5, "nothing shows: {row}");
        for (path, function) in row.split('`').skip(1).step_by(2).filter_map(|span| span.split_once(".rs: ")) {
            let file = root().join(format!("{path}.rs"));
            assert!(file.is_file(), "{path}.rs is not there: {row}");
            assert!(read(&file).contains(&format!("fn {function}(")), "{path}.rs has no test {function}");
            tests += 1;
        }
    }
    assert!(tests > 50, "{tests} tests");
}
