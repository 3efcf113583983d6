//! surefoot: which filesystem, mount options and settings should this server stand on?
//!
//! A table of contents: `cli.rs` has the words, `verbs/` a file for each, `failure.rs` the messages and exit statuses.

mod catalogue;
mod cli;
mod failure;
mod interrupt;
mod knowledge;
mod live;
mod paper;
mod screen;
mod source;
mod verbs;

use clap::Parser as _;
use cli::{Command, Surefoot};
use std::process::ExitCode;

fn main() -> ExitCode {
    interrupt::hear_of_children();
    let command = Surefoot::parse().command;
    interrupt::quiet_on_closed_pipe(&command);
    let result = match command {
        Command::Run(args) => verbs::run::run(&args),
        Command::Resume(args) => verbs::run::resume(&args),
        Command::Plan(args) => verbs::plan::run(&args),
        Command::Fleet(args) => verbs::fleet::run(&args),
        Command::Merge(args) => verbs::merge::run(&args),
        Command::Report(args) => verbs::report::run(&args),
        Command::LoadAgent(args) => verbs::load_agent::run(&args),
        Command::Replay(args) => verbs::replay::run(&args),
        Command::Powercut(args) => verbs::powercut::run(&args),
        Command::Faults(args) => verbs::faults::run(&args),
        Command::Compare(args) => verbs::compare::run(&args),
        Command::History(args) => verbs::history::run(&args),
        Command::Serve(args) => verbs::serve::run(&args),
        Command::Status(args) => verbs::status::run(&args),
        Command::Doctor(args) => verbs::doctor::run(&args),
        Command::List(args) => verbs::list::run(&args),
        Command::Init(args) => verbs::init::run(&args),
        Command::Schema { of } => verbs::schema::run(of),
        Command::SelfTest(args) => verbs::run::run(&args),
        Command::Clean { work } => verbs::clean::run(work.as_deref()),
        Command::Completions { shell } => verbs::shell::completions(shell),
        Command::Man { folder } => verbs::shell::man(&folder),
        Command::Trial(args) => verbs::trial::run(&args),
        #[cfg(target_os = "linux")]
        Command::Guest(args) => verbs::guest::run(&args),
        #[cfg(target_os = "linux")]
        Command::GuestInit { .. } => verbs::guest::init(),
        #[cfg(target_os = "linux")]
        Command::Disk { options } => verbs::disk::run(&options),
        Command::Worker(args) => verbs::worker::run(&args),
    };
    match result {
        Ok(status) => status.into(),
        Err(failure) => failure.report(),
    }
}
