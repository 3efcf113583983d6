//! A fleet's report as a page: the answer, who is ahead on which host, and the machines.

use super::FleetReport;
use crate::chart::hosts;
use crate::document::{Block, Chart, Column, Columns, Document, Fit, Layout, Table, head, page, word_cell, word_head};
use crate::full::of_study;
use crate::number::date;
use analysis::fleet::{Fleet, FleetHost};

/// How the figures come about.
const METHOD: &str = "A host is a block of rounds: what is compared are ratios within rounds, each of which lies on one host. Where four hosts or \
    more were measured they are taken as a sample of machines of their kind, and the interval is over hosts: random effects, the spread between \
    hosts by Paule and Mandel, the interval by Hartung and Knapp with hosts − 1 degrees of freedom, which is the plain t over hosts where all \
    have equally many rounds. Fewer hosts are these hosts only, and their interval is by how rounds \
    stray on each. Verdicts have Holm's correction over the scenarios.";

impl FleetReport {
    /// The page.
    pub fn html(&self) -> String {
        page(&self.document())
    }

    /// What stands on it.
    pub(crate) fn document(&self) -> Document {
        let study = &self.study;
        let Fleet { hosts, members, .. } = &self.fleet;
        let title = Block::Title {
            above: format!("surefoot study {} · {} · a fleet", study.name, date(study.created)),
            title: if study.question.is_empty() { study.name.clone() } else { study.question.clone() },
            below: format!("{} of {members} members on {} hosts", members - self.missing(), hosts.len()),
        };
        let answer = self.fleet.parts.iter().flat_map(|part| self.of_part(part));
        let answer = Block::Answer(answer.chain(self.lists()).collect());
        let pictures = self.fleet.parts.iter().enumerate().flat_map(|(index, part)| {
            let picture = hosts::draw(&format!("hosts-{index}"), part, hosts)?;
            let under = if part.levels.is_empty() { String::new() } else { format!(" with {}", super::under(part)) };
            let heading = Block::Heading(2, format!("{}{under}: who is ahead on which host", part.workload));
            let caption = "The filled mark is who is ahead on a host, of those that may be picked.";
            Some([heading, Block::Charts(Layout::Below, vec![Chart::new(picture, caption)])])
        });
        let blocks = [title, answer].into_iter().chain(pictures.flatten()).chain([
            Block::Heading(2, "The machines".into()),
            Block::Table(self.machines()),
            Block::Note(METHOD.into()),
        ]);
        of_study(study, blocks.collect())
    }

    fn missing(&self) -> u32 {
        let is_missing = |hole: &&analysis::fleet::Hole| matches!(hole, analysis::fleet::Hole::Missing(_));
        self.fleet.holes.iter().filter(is_missing).count() as u32
    }

    fn machines(&self) -> Table {
        let members = |host: &FleetHost| host.members.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let fact = |host: &FleetHost, names: &[&str]| {
            let facts = &self.fleet.kinds[host.kind].facts;
            names.iter().filter_map(|name| facts.get(*name).cloned()).collect::<Vec<_>>().join(", ")
        };
        let table = Columns::of("machines", &self.fleet.hosts)
            .column(Column { fit: Fit::Labels, ..word_head("host") }, |host| word_cell(&host.host.name))
            .column(head("members"), |host| word_cell(&members(host)))
            .column(head("kind"), |host| word_cell(&(host.kind + 1).to_string()))
            .words("CPU", |host| fact(host, &["cpus", "cpu_model"]))
            .words("memory", |host| fact(host, &["memory"]))
            .words("kernel", |host| fact(host, &["kernel"]))
            .words("disk", |host| fact(host, &["device_model", "device_size"]))
            .words("machine", |host| fact(host, &["hypervisor", "hardware"]))
            .words("firmware", |host| fact(host, &["firmware"]));
        table.table().without_empty_columns()
    }
}
