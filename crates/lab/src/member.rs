//! A member of a fleet: which part of a study this process measures, as its scheduler says.
//!
//! surefoot places, starts and stops nothing on other machines: Slurm, Kubernetes or ssh do, and say in variables which of many this one is.
//! Reading them is pure, and what was read is said in words.

use crash::plan::Plan;
use ledger::model::{MEMBERS_MAX, Member};
use study::{Mode, Screening};

/// How many members there are, where the scheduler does not say it.
pub const OF: &str = "SUREFOOT_MEMBERS";
/// The machine's name, where the host name is another's: a container has a name of its own.
pub const HOST: &str = "SUREFOOT_HOST";

/// One of many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Which, from 1.
    pub number: u32,
    /// Of how many.
    pub of: u32,
    /// How that is known, in words.
    pub known_by: String,
}

/// Why it is not known which member this is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Neither `auto` nor two numbers.
    #[error("`--member {0}` is neither `auto` nor a number of a number, like 3/20")]
    Word(String),
    /// No scheduler left a word.
    #[error("no variable of Slurm, Kubernetes, parallel-ssh or GNU parallel says which member this is")]
    Unknown,
    /// A variable is there, and one that it needs is not, or is no number.
    #[error("{known} is set, and {variable} {wrong}")]
    Variable {
        /// What is there.
        known: &'static str,
        /// What is needed with it.
        variable: &'static str,
        /// "is not", "is `x`, which is no number".
        wrong: String,
    },
    /// An array whose tasks are not the fleet's members one by one.
    #[error(
        "Slurm's array has {count} tasks from {min} to {max}: which member of the fleet task {task} is can't be known"
    )]
    Array {
        /// This task.
        task: u32,
        /// Tasks.
        count: u32,
        /// The first.
        min: u32,
        /// The last.
        max: u32,
    },
    /// No member has such a number.
    #[error("member {number} of {of}: members are numbered from 1 to the last, {MEMBERS_MAX} at most")]
    Number {
        /// Which.
        number: u32,
        /// Of how many.
        of: u32,
    },
    /// Another surefoot's design.
    #[error("a member of a fleet measures every scenario in rounds that are fixed in advance, and this study {0}")]
    Design(&'static str),
    /// Its load comes from a load agent.
    #[error("the members of a fleet would all want the load agent {0}, which one study has at a time")]
    Client(String),
}

impl Error {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Error::Design(_) => "`--exhaustive` measures everything, and `--set design.confirm=0` adds no new rounds",
            Error::Client(_) => "measure it on one machine, or leave its `client` out",
            Error::Variable { variable: OF, .. } => {
                "set SUREFOOT_MEMBERS to the number of members, or name both: `--member 3/20`"
            }
            _ => "name which of how many it is, like `--member 3/20`",
        }
    }
}

/// What a word of the command line says, or with `auto` the scheduler's variables.
///
/// # Errors
/// When neither says which of how many this is.
pub fn read(word: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<Part, Error> {
    let part = if word == "auto" { scheduled(variable)? } else { said(word)? };
    let Part { number, of, .. } = part;
    if number == 0 || number > of || of > MEMBERS_MAX {
        return Err(Error::Number { number, of });
    }
    Ok(part)
}

fn said(word: &str) -> Result<Part, Error> {
    let numbers = word.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
    let (number, of) = numbers.ok_or_else(|| Error::Word(word.into()))?;
    Ok(Part { number, of, known_by: "the command line".into() })
}

/// A scheduler's variables: which one it is, counted from what, of how many, and whose they are.
const SCHEDULERS: &[(&str, u32, &[&str], &str)] = &[
    ("SLURM_PROCID", 0, &["SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"], "Slurm's task"),
    ("JOB_COMPLETION_INDEX", 0, &[OF], "Kubernetes' index"),
    ("PSSH_NODENUM", 0, &["PSSH_NUMNODES"], "parallel-ssh's node"),
    ("PARALLEL_SEQ", 1, &[OF], "GNU parallel's job"),
];

fn scheduled(variable: &dyn Fn(&str) -> Option<String>) -> Result<Part, Error> {
    // The tasks of an array are jobs of their own: each is task 0 of its job.
    if variable("SLURM_ARRAY_TASK_ID").is_some() {
        return array(variable);
    }
    let mut set = SCHEDULERS.iter().filter(|(name, ..)| variable(name).is_some()).peekable();
    while let Some((name, first, of, whose)) = set.next() {
        let number = number(variable, (name, name))?;
        let counted = of.iter().find(|of| variable(of).is_some()).unwrap_or(&of[of.len() - 1]);
        let of = self::number(variable, (name, counted))?;
        // GNU parallel may start each member by a step of its own, which has one task.
        if of == 1 && set.peek().is_some() {
            continue;
        }
        let known_by = format!("{whose} ({name}={number}, {counted}={of})");
        return Ok(Part { number: (number + 1).saturating_sub(*first), of, known_by });
    }
    Err(Error::Unknown)
}

/// An array from 0 or 1 without gaps is the fleet; a part of one that is started again is not known to be.
fn array(variable: &dyn Fn(&str) -> Option<String>) -> Result<Part, Error> {
    const TASK: &str = "SLURM_ARRAY_TASK_ID";
    let of = |name| number(variable, (TASK, name));
    let (task, count) = (of(TASK)?, of("SLURM_ARRAY_TASK_COUNT")?);
    let (min, max) = (of("SLURM_ARRAY_TASK_MIN")?, of("SLURM_ARRAY_TASK_MAX")?);
    if min > 1 || max.checked_sub(min) != count.checked_sub(1) {
        return Err(Error::Array { task, count, min, max });
    }
    let known_by = format!("Slurm's array ({TASK}={task}, SLURM_ARRAY_TASK_COUNT={count}, from {min})");
    Ok(Part { number: (task + 1).saturating_sub(min), of: count, known_by })
}

fn number(
    variable: &dyn Fn(&str) -> Option<String>,
    (known, name): (&'static str, &'static str),
) -> Result<u32, Error> {
    let wrong = |wrong| Error::Variable { known, variable: name, wrong };
    let text = variable(name).ok_or_else(|| wrong("is not".into()))?;
    let number = text.parse::<u32>().ok().filter(|number| *number < u32::MAX);
    number.ok_or_else(|| wrong(format!("is `{text}`, which is no number")))
}

/// Makes a plan that of a member: its own orders and data, from the fleet's one seed, and as many rounds as the study has at least.
///
/// # Errors
/// When the study decides by looking what it measures, or its load comes from another machine.
pub fn design(plan: &mut Plan, part: &Part) -> Result<(), Error> {
    if plan.design.mode == Mode::Tune {
        return Err(Error::Design("asks for the best only (`design.mode`)"));
    }
    if plan.design.screen != Screening::Off && !plan.screens.is_empty() {
        return Err(Error::Design("screens its factors first (`design.screen`)"));
    }
    if plan.design.confirm.is_some_and(|rounds| rounds > 0) {
        return Err(Error::Design("measures its own pick in new rounds (`design.confirm`)"));
    }
    if let Some(client) = plan.scenarios.iter().find_map(|scenario| scenario.client.clone()) {
        return Err(Error::Client(client));
    }
    // Where `design.screen` finds nothing to screen, no pick is to be confirmed, either.
    plan.design.confirm = Some(0);
    let rounds = plan.design.rounds_min;
    plan.design.rounds_max = rounds;
    // No member asks another: where nobody says a seed it is made from the study, which all of them have.
    let of_study = || u64::from_str_radix(&plan.hash[..8], 16).expect("a hash is hexadecimal");
    plan.drawn.seed = plan.design.seed.unwrap_or_else(of_study);
    // Turns that one machine's noise asks for are not another's.
    plan.drawn.turns = None;
    plan.drawn.rounds_before = (part.number - 1) * rounds;
    Ok(())
}

/// Rounds of the members before this one.
pub fn rounds_before(member: &Member) -> u32 {
    member.number.saturating_sub(1).saturating_mul(member.rounds)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a word and variables come to, or the error.
    fn check(word: &str, variables: &[(&str, &str)], expected: Result<(u32, u32), &str>) {
        let find = |name: &str| variables.iter().find(|known| known.0 == name).map(|known| known.1.to_string());
        match (read(word, &find), expected) {
            (Ok(part), Ok(expected)) => assert_eq!((part.number, part.of), expected, "{variables:?}"),
            (Err(error), Err(words)) => assert!(error.to_string().contains(words), "{error} has no {words:?}"),
            (found, expected) => panic!("{word} {variables:?}: {found:?} is not {expected:?}"),
        }
    }

    #[test]
    fn a_word_names_it() {
        check("3/20", &[], Ok((3, 20)));
        for (word, wrong) in [
            ("0/20", "from 1"),
            ("21/20", "from 1"),
            ("1/10001", "10000 at most"),
            ("3", "neither"),
            ("-1/2", "neither"),
        ] {
            check(word, &[], Err(wrong));
        }
    }

    #[test]
    fn an_array_comes_before_a_step() {
        let array = [
            ("SLURM_ARRAY_TASK_ID", "4"),
            ("SLURM_ARRAY_TASK_COUNT", "5"),
            ("SLURM_ARRAY_TASK_MIN", "0"),
            ("SLURM_ARRAY_TASK_MAX", "4"),
            ("SLURM_PROCID", "0"),
            ("SLURM_NTASKS", "1"),
        ];
        check("auto", &array, Ok((5, 5)));
        check("2/3", &array, Ok((2, 3)));
        check("auto", &array[4..], Ok((1, 1)));
        check("auto", &[("SLURM_PROCID", "2"), ("SLURM_NTASKS", "9"), ("SLURM_STEP_NUM_TASKS", "3")], Ok((3, 3)));
    }

    /// `parallel srun --ntasks=1 …`: each had been member 1 of 1, and measured what the others did.
    #[test]
    fn a_step_of_one_task_is_what_started_it() {
        let step = |tasks: &'static str, rest: &[(&'static str, &'static str)]| {
            [&[("SLURM_PROCID", "0"), ("SLURM_STEP_NUM_TASKS", tasks), ("PARALLEL_SEQ", "3")][..], rest].concat()
        };
        check("auto", &step("1", &[(OF, "4")]), Ok((3, 4)));
        check("auto", &step("1", &[]), Err("SUREFOOT_MEMBERS is not"));
        check("auto", &step("2", &[(OF, "4")]), Ok((1, 2)));
    }

    /// `sbatch --array=7` to fill a hole has one task, which is not member 1 of 1.
    #[test]
    fn a_part_of_an_array_is_not_taken_for_the_fleet() {
        let array = |task, count, min, max| {
            [
                ("SLURM_ARRAY_TASK_ID", task),
                ("SLURM_ARRAY_TASK_COUNT", count),
                ("SLURM_ARRAY_TASK_MIN", min),
                ("SLURM_ARRAY_TASK_MAX", max),
            ]
        };
        check("auto", &array("7", "1", "7", "7"), Err("can't be known"));
        check("auto", &array("5", "3", "1", "5"), Err("can't be known"));
        check("auto", &array("3", "3", "1", "3"), Ok((3, 3)));
    }

    #[test]
    fn others_say_it_in_their_own_variables() {
        check("auto", &[("JOB_COMPLETION_INDEX", "0"), (OF, "3")], Ok((1, 3)));
        check("auto", &[("PSSH_NODENUM", "2"), ("PSSH_NUMNODES", "3")], Ok((3, 3)));
        check("auto", &[("PARALLEL_SEQ", "3"), (OF, "3")], Ok((3, 3)));
        check("auto", &[], Err("no variable"));
        check("auto", &[("JOB_COMPLETION_INDEX", "0")], Err("SUREFOOT_MEMBERS is not"));
        check("auto", &[("PARALLEL_SEQ", "x"), (OF, "3")], Err("no number"));
        check("auto", &[("PARALLEL_SEQ", "4294967295"), (OF, "3")], Err("no number"));
        check("auto", &[("PARALLEL_SEQ", "0"), (OF, "3")], Err("from 1"));
    }
}
