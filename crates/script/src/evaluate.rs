//! What an expression comes to.

use crate::expression::Expression;
use crate::value::Value;
use random::Random;

/// What gives a variable's value; none: it was never set.
pub type Values<'a> = dyn Fn(usize) -> Option<&'a Value> + 'a;

/// Most functions have no more arguments than this.
const FEW: usize = 3;

/// The expression's value.
///
/// # Errors
/// When a variable was never set, or a function can't take its arguments.
pub fn evaluate<'a>(expression: &Expression, values: &Values<'a>, random: &mut Random) -> Result<Value, String> {
    let mut of = |expression: &Expression| evaluate(expression, values, random);
    match expression {
        Expression::Constant(value) => Ok(value.clone()),
        Expression::Variable(place) => values(*place).ok_or("a variable is used before anything sets it")?.plain(),
        Expression::And(both) => {
            let first = of(&both.0)?;
            if first.is_null() || !first.boolean()? { Ok(first) } else { logical(of(&both.1)?) }
        }
        Expression::Or(both) => {
            let first = of(&both.0)?;
            if first.is_null() || first.boolean()? { Ok(first) } else { logical(of(&both.1)?) }
        }
        Expression::Case(whens, otherwise) => {
            for (condition, value) in whens {
                if of(condition)?.truth()? {
                    return of(value);
                }
            }
            of(otherwise)
        }
        Expression::Call(function, arguments) if arguments.len() <= FEW => {
            let mut few = [const { Value::Null }; FEW];
            for (place, argument) in few.iter_mut().zip(arguments) {
                *place = of(argument)?;
            }
            function.apply(&few[..arguments.len()], random)
        }
        Expression::Call(function, arguments) => {
            let all = arguments.iter().map(of).collect::<Result<Vec<Value>, String>>()?;
            function.apply(&all, random)
        }
    }
}

fn logical(value: Value) -> Result<Value, String> {
    if value.is_null() { Ok(value) } else { value.boolean().map(Value::Boolean) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::parse;

    /// Values of PostgreSQL's manual ("Built-In Operators", "Built-In Functions") and of its tests, 001_pgbench_with_server.pl.
    #[test]
    fn expressions_come_to_what_the_manual_says() {
        for (text, expected) in [
            ("5 or 3 = 3 and 1 > 2", "boolean expected"),
            ("TRUE OR FALSE", "true"),
            ("TRUE AND FALSE", "false"),
            ("NOT FALSE", "true"),
            ("1 IS NOT NULL", "true"),
            ("1 ISNULL", "false"),
            ("1 NOTNULL", "true"),
            ("5 = 4", "false"),
            ("5 <> 4", "true"),
            ("5 != 5", "false"),
            ("5 <= 4", "false"),
            ("1 | 2", "3"),
            ("1 # 3", "2"),
            ("1 & 3", "1"),
            ("~ 1", "-2"),
            ("1 << 2", "4"),
            ("8 >> 2", "2"),
            ("5 + 4", "9"),
            ("3 - 2.0", "1.0"),
            ("5 * 4", "20"),
            ("5 / 3", "1"),
            ("5 / 3.0", "1.6666666666666667"),
            ("3 % 2", "1"),
            ("- 2.0", "-2.0"),
            ("abs(-17)", "17"),
            ("double(5432)", "5432.0"),
            ("greatest(5, 4, 3, 2)", "5"),
            ("greatest(6, 6, 7.2, 6)", "7.2"),
            ("int(5.4 + 3.8)", "9"),
            ("least(5, 4, 3, 2.1)", "2.1"),
            ("mod(54, 32)", "22"),
            ("pi()", "3.141592653589793"),
            ("pow(2.0, 10)", "1024.0"),
            ("sqrt(2.0)", "1.4142135623730951"),
            ("exp(1.0)", "2.718281828459045"),
            ("ln(2.718281828459045)", "1.0"),
            ("1 + 2 * 3", "7"),
            ("-2 + 3", "1"),
            ("11 - 5 - 2", "4"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("-9223372036854775808 % -1", "0"),
            ("case when 1 > 2 then 3 when 1 then 4 else 5 end", "4"),
            ("CASE WHEN NULL THEN 1 END", "NULL"),
            ("NULL AND TRUE", "NULL"),
            ("1 + NULL", "NULL"),
            ("not 1 = 2 and 2 = 2", "true"),
            ("1 < 2 is true", "true"),
            ("7 % 0", "division by zero"),
            ("1 / 0", "division by zero"),
            ("9223372036854775807 + 1", "the result of `+` does not fit into an integer of 64 bits"),
            ("1 + true", "a number is expected, and the boolean true found"),
            ("false and 1 / 0 = 1", "false"),
        ] {
            check(text, expected);
        }
    }

    #[test]
    fn expressions_come_to_what_pgbench_says() {
        // Version 15.18, `\\set x debug(…)`; its words for what it refuses are others.
        for (text, expected) in [
            ("int(2.5)", "2"),
            ("-5 % 3", "-2"),
            ("-5 / 3", "-1"),
            ("1 << 65", "2"),
            ("-1 >> 1", "-1"),
            ("1 = 1.0", "true"),
            ("not null", "NULL"),
            ("null is null", "true"),
            ("greatest(1, 2.0)", "2.0"),
            ("sqrt(-1)", "NaN"),
            ("ln(0)", "-inf"),
            ("~5 & 3 | 8 # 1", "11"),
            ("2 + 3 << 1", "10"),
            ("true = true", "a number is expected, and the boolean true found"),
        ] {
            check(text, expected);
        }
    }

    fn check(text: &str, expected: &str) {
        let mut find = |_: &str| None;
        let tree = parse(text, &mut find).expect(text);
        let found = evaluate(&tree, &|_| None, &mut Random::new(1));
        let found = found.map_or_else(|problem| problem, |value| value.to_string());
        if expected == "boolean expected" {
            assert!(found.starts_with("a boolean is expected"), "{text}: {found}");
        } else {
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_expression_is_refused_at_its_place() {
        let mut find = |name: &str| (name == "set").then_some(0);
        let mut problem = |text: &str| parse(text, &mut find).expect_err(text);
        assert_eq!(problem("1 + :unset").0, 4);
        assert_eq!(problem("1 +").0, 3);
        assert_eq!(problem("(1 + 2").1, "`)` is expected, and the end found");
        assert_eq!(problem("1 2").1, "`2` does not belong here");
        assert!(problem("randm(1, 2)").1.starts_with("there is no function `randm`; there are abs, debug"));
        assert_eq!(problem("random(1)").1, "`random` takes 2 arguments, not 1");
        assert_eq!(problem("1 ? 2"), (2, "`?` is no part of an expression".into()));
        assert_eq!(problem("1e999").1, "1e999 does not fit into a double");
        assert!(problem(&"(".repeat(10_000)).1.contains("nested"));
        assert!(problem(&"- ".repeat(10_000)).1.contains("nested"));
        assert!(problem(&"not ".repeat(10_000)).1.contains("nested"));
    }
}
