//! A bench without a machine: clock, disk and load by seed, so that whole studies, their faults and their resumes
//! replay in milliseconds.

use crash::plan::TrialSpec;
use lab::bench::{Bench, End, Ends, Error, Sink};
use observe::metric::{Direction, Metric};
use observe::record::{Failure, Record, Run};
use random::SplitMix64;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

/// What each trial's load tells of its errors.
const ASKED: Metric = Metric::new("asked", "1", Direction::Neither);
const ERRORS: Metric = Metric::new("errors", "1", Direction::Less);

/// A machine that is made up.
#[derive(Debug, Clone, Default)]
pub struct Simulated {
    /// Seed of noise and faults.
    pub seed: u64,
    /// True speed of each scenario, by a word that its label contains; 1,000 for the others.
    pub speeds: Vec<(String, f64)>,
    /// What a word in a label does to the speed: each factor of those that it contains.
    pub effects: Vec<(String, f64)>,
    /// Share of what is asked for that goes wrong, by a word in the label; the others' loads count no errors.
    pub errors: Vec<(String, f64)>,
    /// Standard deviation of a trial on the log scale.
    pub noise: f64,
    /// Standard deviation of a run within its trial, on the log scale.
    pub run_noise: f64,
    /// Seconds that each run takes by the simulated clock, beside what its trial takes; 0: its trial's are its own.
    pub run_seconds: f64,
    /// Linear drift per trial on the log scale: a machine that gets slower has a negative one.
    pub drift: f64,
    /// Standard deviation, on the log scale, of what disturbs all trials alike that are up at the same time.
    pub spell: f64,
    /// Share of trials that fail.
    pub failures: f64,
    /// Scenarios whose label contains this word fail in this round.
    pub fails_in: Option<(String, u32)>,
    /// Whether those that fail do so behind their runs, as where their data turn out to be wrong.
    pub fails_late: bool,
    /// Share of trials in which the first measured run stalls, of scenarios whose label contains a word.
    pub stalls: (String, f64),
    /// The user interrupts after this many trials.
    pub interrupt_after: Option<u32>,
    /// The metric that its runs yield.
    pub metric: String,
    /// Seconds a trial takes by the simulated clock.
    pub trial_seconds: f64,
    clock: f64,
    trials: u32,
    /// Trials at the time when those that are up were begun.
    begun: u32,
}

impl Simulated {
    /// A quiet machine on which every scenario is the same.
    pub fn new(seed: u64, metric: &str) -> Simulated {
        let (metric, clock) = (metric.to_string(), 1_000_000_000.0);
        Simulated { seed, noise: 0.03, metric, trial_seconds: 10.0, clock, ..Simulated::default() }
    }

    /// How many trials it was asked for.
    pub fn trials(&self) -> u32 {
        self.trials
    }

    /// A uniform number in (0, 1) that depends on seed, scenario, round and purpose only: the same trial done again
    /// after a resume yields the same figure.
    fn uniform(&self, spec: &TrialSpec, purpose: u64) -> f64 {
        // Who is in several groups of a round has a figure in each.
        let position = if self.spell > 0.0 { u64::from(spec.position) } else { 0 };
        let mut state = self.seed ^ position ^ (u64::from(spec.round) << 32) ^ (purpose << 56);
        for byte in spec.scenario.bytes() {
            state = SplitMix64::new(state ^ u64::from(byte)).next_u64();
        }
        SplitMix64::new(state).fraction() + f64::EPSILON
    }

    /// What disturbs the trials that are up now.
    fn disturbance(&self) -> f64 {
        let mut random = SplitMix64::new(SplitMix64::new(self.seed ^ u64::from(self.begun)).next_u64());
        let radius = (-2.0 * (1.0 - random.fraction()).ln()).sqrt();
        self.spell * radius * (std::f64::consts::TAU * random.fraction()).cos()
    }

    /// Normally distributed, with mean 0 and standard deviation 1, from two purposes.
    fn normal(&self, spec: &TrialSpec, purposes: [u64; 2]) -> f64 {
        let [radius, angle] = purposes.map(|purpose| self.uniform(spec, purpose));
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }

    fn value(&self, spec: &TrialSpec, run: u32) -> f64 {
        let speed = self.speeds.iter().find(|(word, _)| spec.scenario.contains(word.as_str()));
        let of_run = if self.run_noise > 0.0 {
            let purpose = 5 + 2 * u64::from(run);
            self.run_noise * self.normal(spec, [purpose, purpose + 1])
        } else {
            0.0
        };
        let drift = self.drift * f64::from(self.trials);
        let effects = self.effects.iter().filter(|(word, _)| spec.scenario.contains(word.as_str()));
        let speed = speed.map_or(1000.0, |(_, speed)| *speed) * effects.map(|(_, effect)| effect).product::<f64>();
        speed * (self.noise * self.normal(spec, [1, 2]) + of_run + drift + self.disturbance()).exp()
    }

    fn trial(&mut self, spec: &TrialSpec, interrupted: &AtomicBool, sink: &mut dyn FnMut(Record)) -> End {
        if self.interrupt_after == Some(self.trials) {
            interrupted.store(true, Ordering::Relaxed);
            return End::Interrupted;
        }
        self.trials += 1;
        self.clock += self.trial_seconds;
        sink(Record::Step { name: "mkfs".into(), seconds: 0.1 });
        let fails =
            self.fails_in.as_ref().is_some_and(|(word, round)| spec.scenario.contains(word) && spec.round == *round);
        let fails = fails || self.uniform(spec, 3) < self.failures;
        let failed = || {
            let causes = vec!["a simulated failure".into()];
            End::Failed(Failure { step: "run".into(), causes, ..Failure::default() })
        };
        if fails && !self.fails_late {
            return failed();
        }
        let stalls = spec.scenario.contains(&self.stalls.0) && self.uniform(spec, 4) < self.stalls.1;
        for run in 0..spec.warm_up_runs + spec.runs {
            let value = if stalls && run == spec.warm_up_runs { 0.0 } else { self.value(spec, run) };
            let metric = Metric::named(self.metric.clone(), "1/s".into(), Direction::More);
            let share =
                self.errors.iter().find(|(word, _)| spec.scenario.contains(word.as_str())).map(|(_, share)| share);
            let counted = share.map(|share| [ASKED.at(1000.0), ERRORS.at(1000.0 * share)]);
            sink(Record::Run(Run {
                run,
                warm_up: run < spec.warm_up_runs,
                started: self.clock,
                seconds: if self.run_seconds > 0.0 { self.run_seconds } else { self.trial_seconds },
                metrics: counted.into_iter().flatten().chain([metric.at(value)]).collect(),
                ..Run::default()
            }));
            self.clock += self.run_seconds;
        }
        if fails { failed() } else { End::Finished }
    }
}

impl Bench for Simulated {
    fn run(&mut self, spec: &TrialSpec, interrupted: &AtomicBool, sink: &mut dyn FnMut(Record)) -> Result<End, Error> {
        self.begun = self.trials;
        Ok(self.trial(spec, interrupted, sink))
    }

    fn run_by_turns(&mut self, specs: &[TrialSpec], _order: &[usize], interrupted: &AtomicBool, sink: Sink) -> Ends {
        self.begun = self.trials;
        let one = |(index, spec): (usize, &TrialSpec)| self.trial(spec, interrupted, &mut |record| sink(index, record));
        Ok(specs.iter().enumerate().map(one).collect())
    }

    fn now(&self) -> f64 {
        self.clock
    }

    fn machine(&self) -> BTreeMap<String, String> {
        BTreeMap::from([("cpu".to_string(), "simulated".to_string())])
    }
}
