//! A C program by seed: the same files for the same seed and number, on every machine, and the checksum that it must print.
//!
//! The shape is plain application code: files of 3 to 44 functions, most with few, a header each, 25 files a folder and a
//! static library; functions of loops, branches and calls into any other file, two calls deep; a `Makefile` that knows every
//! header a file needs, so that `make -j` may do anything at once. What a function computes is known here, too, so a
//! compiler, linker or filesystem that breaks the program is found out.

use random::Random;
use std::fmt::Write;

/// C source of a file with its header, on average over seeds.
pub const FILE_BYTES_MEAN: u64 = 19_500;

/// Files of a folder, which become one static library.
const PART_FILES: usize = 25;

/// Functions call the next lower of so many levels, so that a call ends.
const LEVELS: usize = 3;

/// Words of the table that functions share.
const TABLE_WORDS: usize = 8;

/// What a function does to `x`, `y` and the table.
#[derive(Debug, Clone, Copy)]
enum Step {
    Mix { factor: u64, shift: u32 },
    Turn { shift: u32 },
    Loop { times: u64, addend: u64 },
    Branch { shift: u32, addend: u64 },
    Switch { addends: [u64; 4] },
    Call { unit: usize, function: usize },
}

/// A program.
pub struct Program {
    seed: u64,
    /// Functions by file; each is its steps.
    units: Vec<Vec<Vec<Step>>>,
}

impl Program {
    /// The program of this seed with so many files beside its main one.
    pub fn new(files: u64, seed: u64) -> Program {
        let mut random = Random::new(seed);
        // The third power: half of the files have 8 functions or fewer, one in twenty more than 38.
        let count = |fraction: f64| LEVELS + (fraction * fraction * fraction * 42.0) as usize;
        let counts: Vec<usize> = (0..files).map(|_| count(random.fraction())).collect();
        let unit = |count: &usize| (0..*count).map(|function| steps(function % LEVELS, &counts, &mut random)).collect();
        Program { seed, units: counts.iter().map(unit).collect() }
    }

    /// Every file: its path below the top and its text.
    pub fn files(&self) -> Vec<(String, String)> {
        let mut files = vec![
            ("Makefile".into(), self.makefile()),
            ("state.h".into(), STATE_HEADER.into()),
            ("main.c".into(), self.main()),
        ];
        for unit in 0..self.units.len() {
            files.push((format!("{}.h", path(unit)), self.header(unit)));
            files.push((format!("{}.c", path(unit)), self.source(unit)));
        }
        files
    }

    /// What the program prints when it is built right.
    pub fn checksum(&self) -> String {
        let (mut table, mut sum) = ([0; TABLE_WORDS], self.seed);
        for (number, (unit, function)) in self.called_by_main().enumerate() {
            let value = self.call(unit, function, &mut table, sum, number as u64);
            sum = sum.wrapping_mul(31).wrapping_add(value);
        }
        format!("{sum:016x}")
    }

    /// The functions that nobody else calls.
    fn called_by_main(&self) -> impl Iterator<Item = (usize, usize)> {
        let of_unit = |(unit, functions): (usize, &Vec<Vec<Step>>)| {
            (LEVELS - 1..functions.len()).step_by(LEVELS).map(move |function| (unit, function))
        };
        self.units.iter().enumerate().flat_map(of_unit)
    }

    /// Does what the C function does.
    fn call(&self, unit: usize, function: usize, table: &mut [u64; TABLE_WORDS], mut x: u64, mut y: u64) -> u64 {
        for step in &self.units[unit][function] {
            match *step {
                Step::Mix { factor, shift } => x = x.wrapping_mul(factor).wrapping_add(y >> shift),
                Step::Turn { shift } => y ^= x.rotate_left(shift),
                Step::Loop { times, addend } => {
                    for i in 0..times {
                        let word = &mut table[(i as usize) % TABLE_WORDS];
                        *word = word.wrapping_add(x ^ y.wrapping_add(i.wrapping_mul(addend)));
                        x = x.wrapping_add(*word >> 7);
                    }
                }
                Step::Branch { shift, addend } if (x >> shift) & 1 == 1 => x = x.wrapping_add(addend),
                Step::Branch { addend, .. } => y = y.wrapping_sub(addend),
                Step::Switch { addends: [a, b, c, d] } => match x & 3 {
                    0 => y = y.wrapping_add(a),
                    1 => y ^= b,
                    2 => x = x.wrapping_sub(c),
                    _ => x ^= d.wrapping_mul(y),
                },
                Step::Call { unit, function } => x = x.wrapping_add(self.call(unit, function, table, y, x)),
            }
        }
        x ^ y
    }

    fn header(&self, unit: usize) -> String {
        let guard = name(unit).to_uppercase();
        let mut text = format!("#ifndef {guard}_H\n#define {guard}_H\n\n#include \"state.h\"\n\n");
        for function in 0..self.units[unit].len() {
            let name = function_name(unit, function);
            let _ = writeln!(text, "uint64_t {name}(struct state *state, uint64_t x, uint64_t y);");
        }
        text.push_str("\n#endif\n");
        text
    }

    fn source(&self, unit: usize) -> String {
        let mut text = String::from("#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\n");
        for other in self.needs(unit) {
            let _ = writeln!(text, "#include \"{}.h\"", path(other));
        }
        for (function, steps) in self.units[unit].iter().enumerate() {
            let name = function_name(unit, function);
            let _ = writeln!(text, "\nuint64_t {name}(struct state *state, uint64_t x, uint64_t y)\n{{");
            for step in steps {
                text.push_str(&step.c());
            }
            text.push_str("    return x ^ y;\n}\n");
        }
        text
    }

    fn main(&self) -> String {
        let mut text = String::from("#include <inttypes.h>\n#include <stdio.h>\n\n");
        for unit in 0..self.units.len() {
            let _ = writeln!(text, "#include \"{}.h\"", path(unit));
        }
        text.push_str("\nint main(void)\n{\n    struct state state = {{0}};\n");
        let _ = writeln!(text, "    uint64_t sum = {}u;\n", self.seed);
        for (number, (unit, function)) in self.called_by_main().enumerate() {
            let name = function_name(unit, function);
            let _ = writeln!(text, "    sum = sum * 31u + {name}(&state, sum, {number}u);");
        }
        text.push_str("    printf(\"%016\" PRIx64 \"\\n\", sum);\n    return 0;\n}\n");
        text
    }

    /// The headers of a file: its own, and those of the functions that it calls.
    fn needs(&self, unit: usize) -> std::collections::BTreeSet<usize> {
        let called = self.units[unit].iter().flatten().filter_map(|step| match step {
            Step::Call { unit, .. } => Some(*unit),
            _ => None,
        });
        called.chain([unit]).collect()
    }

    fn makefile(&self) -> String {
        let mut text = String::from("CC = cc\nAR = ar\nCFLAGS = -O2\n\nall: program\n\n");
        let units: Vec<usize> = (0..self.units.len()).collect();
        let libraries: Vec<String> =
            (0..units.chunks(PART_FILES).len()).map(|part| format!("part_{part:03}/part.a")).collect();
        let libraries = libraries.join(" ");
        // Libraries call each other, so the linker looks through them until nothing is missing.
        let _ = writeln!(
            text,
            "program: main.o {libraries}\n\t$(CC) $(LDFLAGS) -o $@ main.o -Wl,--start-group {libraries} -Wl,--end-group\n"
        );
        let headers: Vec<String> = units.iter().map(|unit| format!("{}.h", path(*unit))).collect();
        let _ = writeln!(text, "main.o: main.c state.h {}\n\t$(CC) $(CFLAGS) -I. -c -o $@ main.c\n", headers.join(" "));
        for (part, units) in units.chunks(PART_FILES).enumerate() {
            let objects: Vec<String> = units.iter().map(|unit| format!("{}.o", path(*unit))).collect();
            let objects = objects.join(" ");
            let _ = writeln!(text, "part_{part:03}/part.a: {objects}\n\t$(AR) rcs $@ {objects}\n");
        }
        for unit in units {
            let (own, headers) = (path(unit), self.needs(unit));
            let headers: Vec<String> = headers.into_iter().map(|other| format!("{}.h", path(other))).collect();
            let headers = headers.join(" ");
            let _ = writeln!(text, "{own}.o: {own}.c state.h {headers}\n\t$(CC) $(CFLAGS) -I. -c -o $@ {own}.c\n");
        }
        let _ = writeln!(text, "clean:\n\trm -f program main.o part_*/*.o part_*/*.a\n\n.PHONY: all clean");
        text
    }
}

const STATE_HEADER: &str = "#ifndef STATE_H
#define STATE_H

#include <stddef.h>
#include <stdint.h>

struct state {
    uint64_t table[8];
};

#endif
";

/// The steps of a function of this level.
fn steps(level: usize, counts: &[usize], random: &mut Random) -> Vec<Step> {
    let count = 4 + random.below(12);
    let mut steps: Vec<Step> = (0..count).map(|_| step(random)).collect();
    if level > 0 {
        for _ in 0..2 {
            let unit = random.below(counts.len() as u64) as usize;
            let of_level = (counts[unit] - (level - 1)).div_ceil(LEVELS);
            let function = level - 1 + LEVELS * random.below(of_level as u64) as usize;
            let at = random.below(steps.len() as u64) as usize;
            steps.insert(at, Step::Call { unit, function });
        }
    }
    steps
}

fn step(random: &mut Random) -> Step {
    match random.below(5) {
        0 => Step::Mix { factor: random.next_u64() | 1, shift: 1 + random.below(63) as u32 },
        1 => Step::Turn { shift: 1 + random.below(63) as u32 },
        2 => Step::Loop { times: 4 + random.below(29), addend: random.next_u64() },
        3 => Step::Branch { shift: random.below(64) as u32, addend: random.next_u64() },
        _ => Step::Switch { addends: std::array::from_fn(|_| random.next_u64()) },
    }
}

impl Step {
    /// The step in C.
    fn c(self) -> String {
        match self {
            Step::Mix { factor, shift } => format!("    x = x * {factor:#x}u + (y >> {shift});\n"),
            Step::Turn { shift } => format!("    y ^= (x << {shift}) | (x >> {});\n", 64 - shift),
            Step::Loop { times, addend } => format!(
                "    for (uint64_t i = 0; i < {times}; i++) {{\n        uint64_t *word = &state->table[i % {TABLE_WORDS}];\n\n        \
                 *word += x ^ (y + i * {addend:#x}u);\n        x += *word >> 7;\n    }}\n"
            ),
            Step::Branch { shift, addend } => format!(
                "    if ((x >> {shift}) & 1)\n        x += {addend:#x}u;\n    else\n        y -= {addend:#x}u;\n"
            ),
            Step::Switch { addends: [a, b, c, d] } => format!(
                "    switch (x & 3) {{\n    case 0:\n        y += {a:#x}u;\n        break;\n    case 1:\n        y ^= {b:#x}u;\n        \
                 break;\n    case 2:\n        x -= {c:#x}u;\n        break;\n    default:\n        x ^= {d:#x}u * y;\n    }}\n"
            ),
            Step::Call { unit, function } => format!("    x += {}(state, y, x);\n", function_name(unit, function)),
        }
    }
}

fn name(unit: usize) -> String {
    format!("unit_{unit:05}")
}

/// Without its ending.
fn path(unit: usize) -> String {
    format!("part_{:03}/{}", unit / PART_FILES, name(unit))
}

fn function_name(unit: usize, function: usize) -> String {
    format!("{}_{function:02}", name(unit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn text(files: u64, seed: u64) -> String {
        Program::new(files, seed).files().into_iter().map(|(path, text)| format!("{path}\n{text}")).collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_program() {
        // Other values mean another load: results before and after can't be compared.
        let checksums = format!("{} {}", crc32fast::hash(text(30, 1).as_bytes()), Program::new(30, 1).checksum());
        expect!["2536477630 51f4dfd66edede4c"].assert_eq(&checksums);
        assert_ne!(Program::new(30, 1).checksum(), Program::new(30, 2).checksum());
    }

    #[test]
    fn a_file_has_the_size_that_the_estimate_counts_with() {
        let mean = (text(2000, 3).len() / 2000) as f64;
        assert!((mean / FILE_BYTES_MEAN as f64 - 1.0).abs() < 0.1, "{mean}");
    }

    #[test]
    fn calls_go_down_by_one_level() {
        let program = Program::new(40, 9);
        for functions in &program.units {
            assert!(functions.len() >= LEVELS);
            for (function, step) in
                functions.iter().enumerate().flat_map(|(f, steps)| steps.iter().map(move |s| (f, s)))
            {
                if let Step::Call { unit, function: called } = step {
                    assert!(*called < program.units[*unit].len());
                    assert_eq!(called % LEVELS + 1, function % LEVELS);
                }
            }
        }
    }
}
