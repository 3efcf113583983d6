//! The functions and operators of expressions: names, numbers of arguments, and what each gives.

use crate::distributions;
use crate::expression::{Expression, Find};
use crate::value::Value;
use random::Random;

/// A function, or an operator that takes all its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Equal,
    NotEqual,
    Less,
    AtMost,
    Greater,
    AtLeast,
    BitAnd,
    BitOr,
    BitXor,
    BitNot,
    ShiftLeft,
    ShiftRight,
    Not,
    Is,
    Abs,
    Debug,
    ToDouble,
    Exp,
    Greatest,
    HashFnv1a,
    HashMurmur2,
    ToInteger,
    Least,
    Ln,
    Modulo,
    Permute,
    Pi,
    Power,
    Random,
    RandomExponential,
    RandomGaussian,
    RandomZipfian,
    Sqrt,
    /// Ours, for data: so many letters.
    Letters,
}

/// Functions by the names that users write, with the least and the most arguments.
const NAMED: &[(&str, Function, usize, usize)] = &[
    ("abs", Function::Abs, 1, 1),
    ("debug", Function::Debug, 1, 1),
    ("double", Function::ToDouble, 1, 1),
    ("exp", Function::Exp, 1, 1),
    ("greatest", Function::Greatest, 1, usize::MAX),
    ("hash", Function::HashMurmur2, 1, 2),
    ("hash_fnv1a", Function::HashFnv1a, 1, 2),
    ("hash_murmur2", Function::HashMurmur2, 1, 2),
    ("int", Function::ToInteger, 1, 1),
    ("least", Function::Least, 1, usize::MAX),
    ("letters", Function::Letters, 1, 1),
    ("ln", Function::Ln, 1, 1),
    ("mod", Function::Modulo, 2, 2),
    ("permute", Function::Permute, 2, 3),
    ("pi", Function::Pi, 0, 0),
    ("pow", Function::Power, 2, 2),
    ("power", Function::Power, 2, 2),
    ("random", Function::Random, 2, 2),
    ("random_exponential", Function::RandomExponential, 3, 3),
    ("random_gaussian", Function::RandomGaussian, 3, 3),
    ("random_zipfian", Function::RandomZipfian, 3, 3),
    ("sqrt", Function::Sqrt, 1, 1),
];

/// The variable that hashes and permutations take as their seed where none is given.
pub const DEFAULT_SEED: &str = "default_seed";

/// The most that `letters` gives.
const LETTERS_MAX: i64 = 1 << 20;

impl Function {
    pub fn named(name: &str) -> Option<Function> {
        NAMED.iter().find(|known| known.0.eq_ignore_ascii_case(name)).map(|known| known.1)
    }

    pub fn names() -> Vec<&'static str> {
        NAMED.iter().map(|known| known.0).collect()
    }

    /// Checks the number of arguments, and adds the one that may be left out.
    pub fn complete(self, arguments: &mut Vec<Expression>, find: &mut Find) -> Result<(), String> {
        let (name, _, least, most) =
            NAMED.iter().find(|known| known.1 == self).expect("only named functions are called so");
        if !(*least..=*most).contains(&arguments.len()) {
            let allowed = match (least, most) {
                (least, most) if least == most => format!("{least}"),
                (least, &usize::MAX) => format!("{least} or more"),
                (least, most) => format!("{least} or {most}"),
            };
            return Err(format!("`{name}` takes {allowed} arguments, not {}", arguments.len()));
        }
        if matches!(self, Function::HashFnv1a | Function::HashMurmur2 | Function::Permute) && arguments.len() < *most {
            arguments.push(Expression::Variable(find(DEFAULT_SEED).expect("this variable is always there")));
        }
        Ok(())
    }

    /// What it gives for these arguments; any NULL among them gives NULL, but to IS and `debug`.
    pub fn apply(self, values: &[Value], random: &mut Random) -> Result<Value, String> {
        match self {
            Function::Is => return Ok(Value::Boolean(values[0] == values[1])),
            Function::Debug => {
                eprintln!("debug: {}", values[0]);
                return Ok(values[0].clone());
            }
            _ if values.iter().any(Value::is_null) => return Ok(Value::Null),
            _ => {}
        }
        let integer = |index: usize| values[index].integer();
        let double = |index: usize| values[index].double();
        let draw = |distribution: fn(&mut Random, i64, i64, f64) -> Result<i64, String>, random: &mut Random| {
            distribution(random, integer(0)?, integer(1)?, double(2)?).map(Value::Integer)
        };
        match self {
            Function::Add | Function::Subtract | Function::Multiply | Function::Divide => {
                arithmetic(self, &values[0], &values[1])
            }
            Function::Remainder | Function::Modulo => remainder(integer(0)?, integer(1)?).map(Value::Integer),
            Function::Equal
            | Function::NotEqual
            | Function::Less
            | Function::AtMost
            | Function::Greater
            | Function::AtLeast => compare(self, &values[0], &values[1]).map(Value::Boolean),
            Function::BitAnd => Ok(Value::Integer(integer(0)? & integer(1)?)),
            Function::BitOr => Ok(Value::Integer(integer(0)? | integer(1)?)),
            Function::BitXor => Ok(Value::Integer(integer(0)? ^ integer(1)?)),
            Function::BitNot => Ok(Value::Integer(!integer(0)?)),
            Function::ShiftLeft => Ok(Value::Integer(integer(0)?.wrapping_shl(integer(1)? as u32))),
            Function::ShiftRight => Ok(Value::Integer(integer(0)?.wrapping_shr(integer(1)? as u32))),
            Function::Not => Ok(Value::Boolean(!values[0].boolean()?)),
            Function::Abs => match values[0] {
                Value::Integer(integer) => integer.checked_abs().map(Value::Integer).ok_or_else(|| overflow("abs")),
                _ => Ok(Value::Double(double(0)?.abs())),
            },
            Function::ToDouble => Ok(Value::Double(double(0)?)),
            Function::ToInteger => Ok(Value::Integer(integer(0)?)),
            Function::Exp => Ok(Value::Double(double(0)?.exp())),
            Function::Ln => Ok(Value::Double(double(0)?.ln())),
            Function::Sqrt => Ok(Value::Double(double(0)?.sqrt())),
            Function::Power => Ok(Value::Double(double(0)?.powf(double(1)?))),
            Function::Pi => Ok(Value::Double(std::f64::consts::PI)),
            Function::Greatest | Function::Least => extreme(self == Function::Greatest, values),
            Function::HashFnv1a => Ok(Value::Integer(distributions::hash_fnv1a(integer(0)?, integer(1)?))),
            Function::HashMurmur2 => Ok(Value::Integer(distributions::hash_murmur2(integer(0)?, integer(1)?))),
            Function::Permute => distributions::permute(integer(0)?, integer(1)?, integer(2)?).map(Value::Integer),
            Function::Random => distributions::uniform(random, integer(0)?, integer(1)?).map(Value::Integer),
            Function::RandomExponential => draw(distributions::exponential, random),
            Function::RandomGaussian => draw(distributions::gaussian, random),
            Function::RandomZipfian => draw(distributions::zipfian, random),
            Function::Letters => letters(integer(0)?, random),
            Function::Is | Function::Debug => unreachable!("they are done above"),
        }
    }
}

/// The remainder with the dividend's sign, as SQL and C have it.
fn remainder(dividend: i64, divisor: i64) -> Result<i64, String> {
    if divisor == 0 {
        return Err("division by zero".into());
    }
    // The smallest integer by -1 overflows in the processor, and leaves nothing.
    Ok(dividend.checked_rem(divisor).unwrap_or(0))
}

fn overflow(operator: &str) -> String {
    format!("the result of `{operator}` does not fit into an integer of 64 bits")
}

fn arithmetic(function: Function, left: &Value, right: &Value) -> Result<Value, String> {
    if let (Value::Integer(left), Value::Integer(right)) = (left, right) {
        let (result, name) = match function {
            Function::Add => (left.checked_add(*right), "+"),
            Function::Subtract => (left.checked_sub(*right), "-"),
            Function::Multiply => (left.checked_mul(*right), "*"),
            _ if *right == 0 => return Err("division by zero".into()),
            _ => (left.checked_div(*right), "/"),
        };
        return result.map(Value::Integer).ok_or_else(|| overflow(name));
    }
    let (left, right) = (left.double()?, right.double()?);
    Ok(Value::Double(match function {
        Function::Add => left + right,
        Function::Subtract => left - right,
        Function::Multiply => left * right,
        _ if right == 0.0 => return Err("division by zero".into()),
        _ => left / right,
    }))
}

fn compare(function: Function, left: &Value, right: &Value) -> Result<bool, String> {
    let order = match (left, right) {
        (Value::Integer(left), Value::Integer(right)) => Some(left.cmp(right)),
        _ => left.double()?.partial_cmp(&right.double()?),
    };
    Ok(match function {
        Function::Equal => order.is_some_and(|order| order.is_eq()),
        Function::NotEqual => !order.is_some_and(|order| order.is_eq()),
        Function::Less => order.is_some_and(|order| order.is_lt()),
        Function::AtMost => order.is_some_and(|order| order.is_le()),
        Function::Greater => order.is_some_and(|order| order.is_gt()),
        _ => order.is_some_and(|order| order.is_ge()),
    })
}

/// A double as soon as one of them is one.
fn extreme(is_greatest: bool, values: &[Value]) -> Result<Value, String> {
    if values.iter().all(|value| matches!(value, Value::Integer(_))) {
        let integers = values.iter().map(|value| value.integer().expect("it is one"));
        let found = if is_greatest { integers.max() } else { integers.min() };
        return Ok(Value::Integer(found.expect("it takes one argument at least")));
    }
    let doubles = values.iter().map(Value::double).collect::<Result<Vec<f64>, String>>()?;
    let found = doubles.into_iter().reduce(if is_greatest { f64::max } else { f64::min });
    Ok(Value::Double(found.expect("it takes one argument at least")))
}

fn letters(count: i64, random: &mut Random) -> Result<Value, String> {
    if !(0..=LETTERS_MAX).contains(&count) {
        return Err(format!("`letters` gives 0 to {LETTERS_MAX} of them, not {count}"));
    }
    let letter = |_| char::from(b'a' + random.below(26) as u8);
    Ok(Value::Text((0..count).map(letter).collect::<String>().into()))
}
