//! What a power cut may take, made by hand; the crate's own tests have it, too.

use observe::durability::Class;
use observe::safety::{Finding, Grade, Safety};

/// What a class may look like.
pub fn found(grade: Grade) -> Safety {
    let (lost, lost_seconds) = match grade {
        Grade::A | Grade::F => (0, 0.0),
        Grade::B => (1, 0.0123),
        Grade::C => (12, 0.4149),
        Grade::D | Grade::E => (38, 6.0),
    };
    let bad = |of: Grade, number| if grade == of { number } else { 0 };
    let finding = |what: &str, images| Finding {
        what: what.into(),
        images,
        example: format!("7:newest:31={images}"),
        lacks: "data/base/5/1259 from byte 8192 (4096 bytes)".into(),
        checked: "finds nothing".into(),
    };
    Safety {
        grade,
        disk: "volatile cache, units of 4096 bytes, as fast as memory".into(),
        promise: Class::KeepsAcknowledged,
        by_settings: None,
        tried: 40,
        acknowledged: 38,
        points: 37,
        images: if grade == Grade::A { 1229 } else { 400 },
        is_complete: grade == Grade::A,
        recoveries: 31,
        worst_lost_commits: lost,
        worst_lost_seconds: lost_seconds,
        is_censored: Some(false),
        expected_lost_commits: Some(lost as f64 / 3.0),
        expected_lost_seconds: Some(lost_seconds / 3.0),
        random_cuts: 61,
        random_cuts_bad: if grade >= Grade::E { 3 } else { 0 },
        unmountable: bad(Grade::E, 2),
        damaged: bad(Grade::E, 1),
        silent: bad(Grade::F, 5),
        audited: 50,
        audited_new: 0,
        unsteady: 0,
        writes: 900,
        flushes: 36,
        findings: match grade {
            Grade::E => vec![finding("mount: structure needs <cleaning>", 2), finding("index `t_k` is damaged", 1)],
            Grade::F => vec![finding("rows of stream 0 have a hole after 17", 5)],
            _ => Vec::new(),
        },
        notes: Vec::new(),
        seconds: 10.5,
    }
}
