//! One work folder, several runs: one works, the others are refused, and `clean` takes nothing from under it.

use crate::harness::small_study;
use crate::stage::Stage;
use std::path::Path;

/// Tries it.
pub fn attack(stage: &mut Stage) {
    several(stage, 2);
    if !stage.is_test {
        several(stage, 4);
    }
    clean_during_a_run(stage);
}

fn several(stage: &mut Stage, runs: usize) {
    stage.tried();
    stage.world.write("lock.toml", small_study(&stage.filesystems(), 1).replace("300ms", "600ms"));
    let names: Vec<String> = (0..runs).map(|number| format!("lock-{runs}-{number}.surefoot")).collect();
    let mut children = Vec::new();
    for name in &names {
        children.push(stage.start(&["run", "lock.toml", "--quiet", "--work", "lock-work", "--results", name]));
    }
    let mut done = 0;
    for (child, name) in children.into_iter().zip(&names) {
        let said = stage.end_of(child, &["run", "lock.toml", "--work", "lock-work", "--results", name]);
        done += usize::from(said.status == Some(0));
        let is_refused = matches!(said.status, Some(2 | 4)) && said.stderr.contains("lock-work");
        stage.holds(said.status == Some(0) || is_refused, || {
            format!("{runs} runs in one folder, {name}: status {:?}: {}", said.status, said.stderr.trim())
        });
    }
    stage.holds(done == 1, || format!("{runs} runs in one folder: {done} went to their end, not 1"));
    tidy(stage);
}

fn clean_during_a_run(stage: &mut Stage) {
    stage.tried();
    stage.world.write("lock.toml", small_study(&["ext4"], 2).replace("300ms", "1s"));
    let arguments = ["run", "lock.toml", "--quiet", "--work", "lock-work", "--results", "lock-clean.surefoot"];
    let run = stage.start(&arguments);
    crate::harness::wait_until("a trial works", || Path::new(&stage.path("lock-work/trial.log")).exists());
    let clean = stage.surefoot(&["clean", "--work", "lock-work"]);
    stage.holds(clean.status != Some(0), || "`clean` took the folder of a study that runs".into());
    stage.holds(stage.path("lock-work").exists(), || "the work folder is gone during a run".into());
    let said = stage.end_of(run, &arguments);
    stage.holds(said.status == Some(0), || {
        format!("`clean` during a run: it ended {:?}: {}", said.status, said.stderr.trim())
    });
    tidy(stage);
}

/// With nobody in it, it can be removed.
fn tidy(stage: &mut Stage) {
    let clean = stage.surefoot(&["clean", "--work", "lock-work"]);
    stage.holds(clean.status == Some(0) && !stage.path("lock-work").exists(), || {
        format!("`clean` of a folder that nobody uses: {:?}: {}", clean.status, clean.stderr.trim())
    });
}
