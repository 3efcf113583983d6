//! Parameters of a statement as PostgreSQL logs them: `$1 = 'it''s', $2 = NULL`.

/// Each in its order; none: NULL. Reading ends where the text is something else.
pub fn read(text: &str) -> impl Iterator<Item = Option<String>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (_, value) = rest.strip_prefix('$')?.split_once(" = ")?;
        if let Some(after) = value.strip_prefix("NULL") {
            rest = after.strip_prefix(", ").unwrap_or("");
            return Some(None);
        }
        let mut quoted = value.strip_prefix('\'')?;
        let mut whole = String::new();
        loop {
            let end = quoted.find('\'')?;
            whole.push_str(&quoted[..end]);
            quoted = &quoted[end + 1..];
            match quoted.strip_prefix('\'') {
                Some(after) => {
                    whole.push('\'');
                    quoted = after;
                }
                None => break,
            }
        }
        rest = quoted.strip_prefix(", ").unwrap_or("");
        Some(Some(whole))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_was_written_is_read(values in proptest::collection::vec(proptest::option::of(".*"), 0..6)) {
            let written = |(number, value): (usize, &Option<String>)| match value {
                None => format!("${} = NULL", number + 1),
                Some(value) => format!("${} = '{}'", number + 1, value.replace('\'', "''")),
            };
            let text = values.iter().enumerate().map(written).collect::<Vec<_>>().join(", ");
            prop_assert_eq!(read(&text).collect::<Vec<_>>(), values);
        }
    }
}
