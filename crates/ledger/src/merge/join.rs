//! The chosen starts of a fleet's members as one content, in memory: what is shown of a fleet that is under way.

use super::Start;
use crate::model::{Contents, Scenario, StudyRecord};
use crate::reader::count_rounds_over_members;
use crate::{Error, Reader};
use std::collections::BTreeMap;

/// Reads them one after the other, with new numbers as a merged file has them; the study as it was asked last.
pub(super) fn read(
    chosen: &[Start],
    asked_last: &StudyRecord,
    wanted: &dyn Fn(&StudyRecord, &[Scenario]) -> Vec<String>,
) -> Result<Contents, Error> {
    let mut all: Option<Contents> = None;
    for start in chosen {
        let mut own = match Reader::open_untouched(&start.file)?.of_member(start.member.number) {
            Ok(reader) => {
                let metrics = wanted(asked_last, &reader.scenarios()?);
                reader.contents_with(&metrics.iter().map(String::as_str).collect::<Vec<_>>())?
            }
            Err(Error::NoMember { .. }) => continue,
            Err(error) => return Err(error),
        };
        own.members = vec![start.member.clone()];
        match &mut all {
            None => {
                renumber(&mut own, (0, 0));
                all = Some(own);
            }
            Some(all) => {
                let last = (all.trials.last().map_or(0, |trial| trial.id), all.runs.last().map_or(0, |run| run.id));
                renumber(&mut own, last);
                append(all, own);
            }
        }
    }
    // Between choosing and reading a file may have been replaced, by one of the same member.
    let Start { file, member, .. } = &chosen[0];
    let what = || format!("member {} is no longer in it", member.number);
    let mut all = all.ok_or_else(|| Error::Damaged { path: file.clone(), what: what() })?;
    all.study = std::mem::take(&mut all.study).asked_as(asked_last);
    if all.members.len() > 1 {
        count_rounds_over_members(&mut all.trials);
    }
    Ok(all)
}

/// Trials and runs follow on from these last ones.
fn renumber(contents: &mut Contents, (last_trial, last_run): (i64, i64)) {
    let mut trials: BTreeMap<i64, i64> = BTreeMap::new();
    for (number, trial) in (last_trial + 1..).zip(&mut contents.trials) {
        trials.insert(trial.id, number);
        trial.id = number;
    }
    for (number, run) in (last_run + 1..).zip(&mut contents.runs) {
        run.id = number;
        run.trial = trials[&run.trial];
    }
}

fn append(all: &mut Contents, own: Contents) {
    // What one machine's storage keeps less of holds for the fleet, as where all trials are read at once (`Contents::hold_to`).
    for found in own.scenarios {
        let promises_more =
            |known: &&mut Scenario| known.label == found.label && known.durability.class < found.durability.class;
        if let Some(known) = all.scenarios.iter_mut().find(promises_more) {
            known.durability = found.durability;
        }
    }
    all.members.extend(own.members);
    all.sessions.extend(own.sessions);
    all.probes.extend(own.probes);
    all.safety.extend(own.safety);
    all.faults.extend(own.faults);
    all.trials.extend(own.trials);
    all.runs.extend(own.runs);
    all.metrics.extend(own.metrics);
    all.without_checksum += own.without_checksum;
}
