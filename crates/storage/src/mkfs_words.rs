//! The words of a mkfs command line. Pure.

/// Values of an option in a command line: `-O x`, `-Ox`, `--features x`, `--features=x`.
pub(crate) fn values(words: &[String], names: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        for name in names {
            if word == name {
                found.extend(rest.next().cloned());
                break;
            }
            let Some(value) = word.strip_prefix(name) else { continue };
            match value.strip_prefix('=') {
                Some(value) if name.starts_with("--") => found.push(value.into()),
                _ if !name.starts_with("--") => found.push(value.into()),
                _ => {}
            }
        }
    }
    found
}

/// All uses of an option joined into one, at the place of the first; in a list the later entry wins.
pub(crate) fn merged(words: Vec<String>, option: &str) -> Vec<String> {
    let joined = values(&words, &[option]).join(",");
    if joined.is_empty() {
        return words;
    }
    let mut kept = Vec::new();
    let mut first = true;
    let mut rest = words.into_iter();
    while let Some(word) = rest.next() {
        if !word.starts_with(option) {
            kept.push(word);
            continue;
        }
        if word == option {
            rest.next();
        }
        if std::mem::take(&mut first) {
            kept.extend([option.to_string(), joined.clone()]);
        }
    }
    kept
}

/// Features asked of mkfs: `extents`, `^has_journal`.
pub(crate) fn features(words: &[String]) -> Vec<String> {
    let lists = values(words, &["-O", "-R", "--features", "--runtime-features"]);
    lists.iter().flat_map(|list| list.split(',')).filter(|word| !word.is_empty()).map(str::to_string).collect()
}

/// A name, or what else it is called.
pub(crate) fn renamed(name: &str, names: &[(&str, &str)]) -> String {
    names.iter().find(|(from, _)| *from == name).map_or(name, |(_, to)| to).to_string()
}

/// What one option of each asks for: the option as asked, the name of the fact, the value.
pub(crate) fn wanted(asked: &[String], options: &[(&[&str], &str)]) -> Vec<(String, String, String)> {
    let each = options.iter().filter_map(|(names, fact)| {
        let value = values(asked, names).pop()?;
        Some((format!("{} {value}", names[0]), (*fact).to_string(), value))
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_in_all_their_spellings() {
        let words =
            ["-O", "a,b", "-Oc", "--features=d", "--features", "e", "-f", "--csum", "xxhash"].map(str::to_string);
        assert_eq!(values(&words, &["-O", "--features"]), ["a,b", "c", "d", "e"]);
        assert_eq!(values(&words, &["--csum"]), ["xxhash"]);
    }
}
