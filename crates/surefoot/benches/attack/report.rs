//! What was tried and what was found, as a table.

use std::time::Instant;

/// See the module.
pub struct Report {
    seed: u64,
    parts: Vec<Part>,
}

struct Part {
    name: &'static str,
    tried: usize,
    found: Vec<String>,
    began: Instant,
    seconds: f64,
}

impl Report {
    pub fn new(seed: u64) -> Report {
        Report { seed, parts: Vec::new() }
    }

    pub fn begin(&mut self, name: &'static str) {
        self.end();
        self.parts.push(Part { name, tried: 0, found: Vec::new(), began: Instant::now(), seconds: 0.0 });
    }

    fn end(&mut self) {
        if let Some(part) = self.parts.last_mut() {
            part.seconds = part.began.elapsed().as_secs_f64();
            println!("{}: {} tried, {} found, {:.0} s", part.name, part.tried, part.found.len(), part.seconds);
        }
    }

    pub fn tried(&mut self) {
        self.now().tried += 1;
    }

    pub fn found(&mut self, what: String) {
        println!("FOUND {}: {what}", self.now().name);
        self.now().found.push(what);
    }

    pub fn take_findings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.now().found)
    }

    fn now(&mut self) -> &mut Part {
        self.parts.last_mut().expect("a part began")
    }

    /// Whether everything held, which nothing shows where nothing was tried.
    pub fn print(mut self) -> bool {
        self.end();
        println!("\n{:<12}{:>8}{:>8}{:>10}", "part", "tried", "found", "seconds");
        for part in &self.parts {
            println!("{:<12}{:>8}{:>8}{:>10.0}", part.name, part.tried, part.found.len(), part.seconds);
        }
        for part in &self.parts {
            for found in &part.found {
                println!("  {}: {found}", part.name);
            }
            if part.tried == 0 {
                println!("  {}: nothing was tried", part.name);
            }
        }
        let holds = !self.parts.is_empty() && self.parts.iter().all(|part| part.tried > 0 && part.found.is_empty());
        match holds {
            true => println!("nothing lost, nothing left, no panic"),
            false => println!("it does not hold; again with --seed {}", self.seed),
        }
        holds
    }
}
