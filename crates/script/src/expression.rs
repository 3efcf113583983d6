//! Expressions of `\set`, `\if` and `\elif`: text to a tree. Operators and their order are the manual's ("Built-In Operators").

use crate::functions::Function;
use crate::value::Value;

/// An expression, checked.
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    /// A constant.
    Constant(Value),
    /// A variable, by its place.
    Variable(usize),
    /// A function or operator that takes all its arguments.
    Call(Function, Vec<Expression>),
    /// Both, the second only when the first is true.
    And(Box<(Expression, Expression)>),
    /// One of both, the second only when the first is false.
    Or(Box<(Expression, Expression)>),
    /// Conditions with their values, and the value when none is true.
    Case(Vec<(Expression, Expression)>, Box<Expression>),
}

/// What is wrong, at this byte of the text.
pub type Wrong = (usize, String);

/// Finds a variable's place by its name; none: nobody sets it.
pub type Find<'a> = dyn FnMut(&str) -> Option<usize> + 'a;

/// Nested deeper, an expression is refused: nobody writes such a one, and reading it takes stack.
const DEPTH_MAX: usize = 100;

/// Reads an expression.
///
/// # Errors
/// When it is none.
pub fn parse(text: &str, find: &mut Find) -> Result<Expression, Wrong> {
    let tokens = tokens(text)?;
    let mut parser = Parser { tokens: &tokens, end: text.len(), at: 0, depth: 0, find };
    let expression = parser.operators(0)?;
    match parser.peek() {
        None => Ok(expression),
        Some(token) => Err((parser.place(), format!("{} does not belong here", token.shown()))),
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Token<'t> {
    Number(&'t str),
    Variable(&'t str),
    Text(&'t str),
    /// A name or a word like CASE.
    Word(&'t str),
    Symbol(&'static str),
}

impl Token<'_> {
    fn shown(&self) -> String {
        match self {
            Token::Number(text) | Token::Word(text) => format!("`{text}`"),
            Token::Variable(name) => format!("`:{name}`"),
            Token::Text(text) => format!("'{text}'"),
            Token::Symbol(text) => format!("`{text}`"),
        }
    }
}

/// Longer ones first.
const SYMBOLS: &[&str] =
    &["<<", ">>", "<=", ">=", "<>", "!=", "+", "-", "*", "/", "%", "=", "<", ">", "|", "#", "&", "~", "(", ")", ","];

fn tokens(text: &str) -> Result<Vec<(usize, Token<'_>)>, Wrong> {
    let (mut tokens, mut at) = (Vec::new(), 0);
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let after = |length: usize| rest[length..].chars().next();
        let (token, length) = if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        } else if first.is_ascii_digit() || first == '.' && after(1).is_some_and(|c| c.is_ascii_digit()) {
            let length = number_length(rest);
            (Token::Number(&rest[..length]), length)
        } else if first == ':' && after(1).is_some_and(begins_name) {
            let length = 1 + name_length(&rest[1..]);
            (Token::Variable(&rest[1..length]), length)
        } else if first == '\'' {
            let inner = rest[1..].find('\'').ok_or_else(|| (at, "a text ends with its second '".to_string()))?;
            (Token::Text(&rest[1..=inner]), inner + 2)
        } else if begins_name(first) {
            let length = name_length(rest);
            (Token::Word(&rest[..length]), length)
        } else if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            (Token::Symbol(symbol), symbol.len())
        } else {
            return Err((at, format!("`{first}` is no part of an expression")));
        };
        tokens.push((at, token));
        at += length;
    }
    Ok(tokens)
}

/// Whether a variable's name may begin so: not with a digit, so that `12:30` is none.
pub fn begins_name(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || !c.is_ascii()
}

/// Whether a text is a variable's name.
pub fn is_name(text: &str) -> bool {
    text.starts_with(begins_name) && name_length(text) == text.len()
}

/// Bytes of the name at a text's start.
pub fn name_length(text: &str) -> usize {
    text.find(|c: char| !begins_name(c) && !c.is_ascii_digit()).unwrap_or(text.len())
}

fn number_length(text: &str) -> usize {
    let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let mut length = digits(text);
    if text[length..].starts_with('.') {
        length += 1 + digits(&text[length + 1..]);
    }
    if text[length..].starts_with(['e', 'E']) {
        let sign = usize::from(text[length + 1..].starts_with(['+', '-']));
        let exponent = digits(&text[length + 1 + sign..]);
        if exponent > 0 {
            length += 1 + sign + exponent;
        }
    }
    length
}

/// Operators between two operands, from the loosest level to the tightest.
const LEVELS: &[&[(&str, Operator)]] = &[
    &[("or", Operator::Or)],
    &[("and", Operator::And)],
    // NOT, IS, ISNULL and NOTNULL stand here: see `negated` and `tested`.
    &[],
    &[
        ("=", Operator::Function(Function::Equal)),
        ("<>", Operator::Function(Function::NotEqual)),
        ("!=", Operator::Function(Function::NotEqual)),
        ("<=", Operator::Function(Function::AtMost)),
        (">=", Operator::Function(Function::AtLeast)),
        ("<", Operator::Function(Function::Less)),
        (">", Operator::Function(Function::Greater)),
    ],
    &[
        ("|", Operator::Function(Function::BitOr)),
        ("#", Operator::Function(Function::BitXor)),
        ("&", Operator::Function(Function::BitAnd)),
        ("<<", Operator::Function(Function::ShiftLeft)),
        (">>", Operator::Function(Function::ShiftRight)),
    ],
    &[("+", Operator::Function(Function::Add)), ("-", Operator::Function(Function::Subtract))],
    &[
        ("*", Operator::Function(Function::Multiply)),
        ("/", Operator::Function(Function::Divide)),
        ("%", Operator::Function(Function::Remainder)),
    ],
];

/// The level of NOT and IS.
const TESTS: usize = 2;
/// The level of `+` and `-`.
const SUMS: usize = 5;

#[derive(Debug, Clone, Copy)]
enum Operator {
    And,
    Or,
    Function(Function),
}

struct Parser<'p, 't, 'f> {
    tokens: &'p [(usize, Token<'t>)],
    /// Bytes of the text.
    end: usize,
    at: usize,
    depth: usize,
    find: &'p mut Find<'f>,
}

impl<'t> Parser<'_, 't, '_> {
    fn peek(&self) -> Option<&Token<'t>> {
        self.tokens.get(self.at).map(|(_, token)| token)
    }

    fn place(&self) -> usize {
        self.tokens.get(self.at).map_or(self.end, |(place, _)| *place)
    }

    /// Takes this symbol or word, if it is next.
    fn take(&mut self, wanted: &str) -> bool {
        let is_it = match self.peek() {
            Some(Token::Symbol(symbol)) => *symbol == wanted,
            Some(Token::Word(word)) => word.eq_ignore_ascii_case(wanted),
            _ => false,
        };
        self.at += usize::from(is_it);
        is_it
    }

    fn need(&mut self, wanted: &str) -> Result<(), Wrong> {
        if self.take(wanted) {
            return Ok(());
        }
        let found = self.peek().map_or("the end".to_string(), Token::shown);
        Err((self.place(), format!("`{wanted}` is expected, and {found} found")))
    }

    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Wrong>) -> Result<T, Wrong> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err((self.place(), format!("the expression is nested more than {DEPTH_MAX} levels deep")));
        }
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Operators of this level and of tighter ones.
    fn operators(&mut self, level: usize) -> Result<Expression, Wrong> {
        if level == TESTS {
            return self.negated();
        }
        let Some(operators) = LEVELS.get(level) else { return self.signed() };
        let mut left = self.operators(level + 1)?;
        while let Some((_, operator)) = operators.iter().find(|(symbol, _)| self.take(symbol)) {
            let right = self.operators(level + 1)?;
            left = match operator {
                Operator::And => Expression::And(Box::new((left, right))),
                Operator::Or => Expression::Or(Box::new((left, right))),
                Operator::Function(function) => Expression::Call(*function, vec![left, right]),
            };
        }
        Ok(left)
    }

    fn negated(&mut self) -> Result<Expression, Wrong> {
        if self.take("not") {
            let inner = self.deeper(Self::negated)?;
            return Ok(Expression::Call(Function::Not, vec![inner]));
        }
        let inner = self.operators(TESTS + 1)?;
        self.tested(inner)
    }

    /// `IS [NOT] NULL | TRUE | FALSE`, ISNULL, NOTNULL.
    fn tested(&mut self, inner: Expression) -> Result<Expression, Wrong> {
        let (is_not, constant) = if self.take("isnull") {
            (false, Value::Null)
        } else if self.take("notnull") {
            (true, Value::Null)
        } else if self.take("is") {
            let is_not = self.take("not");
            let words = [("null", Value::Null), ("true", Value::Boolean(true)), ("false", Value::Boolean(false))];
            let found = words.into_iter().find(|(word, _)| self.take(word));
            let none = || (self.place(), "NULL, TRUE or FALSE is expected after IS".to_string());
            (is_not, found.ok_or_else(none)?.1)
        } else {
            return Ok(inner);
        };
        let is = Expression::Call(Function::Is, vec![inner, Expression::Constant(constant)]);
        Ok(if is_not { Expression::Call(Function::Not, vec![is]) } else { is })
    }

    fn signed(&mut self) -> Result<Expression, Wrong> {
        if self.take("~") {
            // pgbench's grammar (exprparse.y): as loose as the operators of bits, so that sums belong to it.
            let inner = self.deeper(|parser| parser.operators(SUMS))?;
            return Ok(Expression::Call(Function::BitNot, vec![inner]));
        }
        if self.take("+") {
            return self.deeper(Self::signed);
        }
        if self.take("-") {
            // The smallest integer has no positive counterpart.
            if self.peek() == Some(&Token::Number("9223372036854775808")) {
                self.at += 1;
                return Ok(Expression::Constant(Value::Integer(i64::MIN)));
            }
            let inner = self.deeper(Self::signed)?;
            return Ok(Expression::Call(Function::Subtract, vec![Expression::Constant(Value::Integer(0)), inner]));
        }
        self.operand()
    }

    fn operand(&mut self) -> Result<Expression, Wrong> {
        let place = self.place();
        let Some(token) = self.peek().cloned() else { return Err((place, "the expression has no end".into())) };
        self.at += 1;
        match token {
            Token::Number(text) => number(text).map(Expression::Constant).map_err(|problem| (place, problem)),
            Token::Text(text) => Ok(Expression::Constant(Value::Text(text.into()))),
            Token::Variable(name) => (self.find)(name)
                .map(Expression::Variable)
                .ok_or_else(|| (place, format!("nothing sets the variable `{name}`"))),
            Token::Symbol("(") => {
                let inner = self.deeper(|parser| parser.operators(0))?;
                self.need(")")?;
                Ok(inner)
            }
            Token::Word(word) => self.word(word, place),
            Token::Symbol(_) => Err((place, format!("{} does not belong here", token.shown()))),
        }
    }

    fn word(&mut self, word: &str, place: usize) -> Result<Expression, Wrong> {
        match word.to_ascii_lowercase().as_str() {
            "null" => return Ok(Expression::Constant(Value::Null)),
            "true" => return Ok(Expression::Constant(Value::Boolean(true))),
            "false" => return Ok(Expression::Constant(Value::Boolean(false))),
            "case" => return self.deeper(Self::case),
            _ => {}
        }
        let function = Function::named(word).ok_or_else(|| {
            (place, format!("there is no function `{word}`; there are {}", Function::names().join(", ")))
        })?;
        self.need("(")?;
        let mut arguments = Vec::new();
        if !self.take(")") {
            loop {
                arguments.push(self.deeper(|parser| parser.operators(0))?);
                if self.take(")") {
                    break;
                }
                self.need(",")?;
            }
        }
        function.complete(&mut arguments, self.find).map_err(|problem| (place, problem))?;
        Ok(Expression::Call(function, arguments))
    }

    fn case(&mut self) -> Result<Expression, Wrong> {
        let mut whens = Vec::new();
        self.need("when")?;
        loop {
            let condition = self.operators(0)?;
            self.need("then")?;
            whens.push((condition, self.operators(0)?));
            if !self.take("when") {
                break;
            }
        }
        let otherwise = if self.take("else") { self.operators(0)? } else { Expression::Constant(Value::Null) };
        self.need("end")?;
        Ok(Expression::Case(whens, Box::new(otherwise)))
    }
}

fn number(text: &str) -> Result<Value, String> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().map(Value::Integer).map_err(|_| format!("{text} does not fit into an integer of 64 bits"));
    }
    let double = text.parse().ok().filter(|double: &f64| double.is_finite());
    double.map(Value::Double).ok_or_else(|| format!("{text} does not fit into a double"))
}
