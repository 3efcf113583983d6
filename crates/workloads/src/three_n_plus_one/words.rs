//! Numbers as text: plain digits, or words in a language and script for each digit, as the original keeps them.

/// The original's words for 0 to 9.
const WORDS: [&str; 10] = ["zero", "eins", "deux", "tres", "quattro", "пять", "ستة", "सात", "捌", "ஒன்பது"];

/// How numbers are written.
#[derive(Debug, Clone, Copy)]
pub struct Spelling {
    words: bool,
}

impl Spelling {
    /// In words, or in digits.
    pub fn new(words: bool) -> Spelling {
        Spelling { words }
    }

    /// Overwrites `text` with a number.
    pub fn write(self, number: u64, text: &mut String) {
        use std::fmt::Write as _;
        text.clear();
        if !self.words {
            let _ = write!(text, "{number}");
            return;
        }
        let mut digits = [0_u8; 20];
        let mut count = 0;
        let mut rest = number;
        while count == 0 || rest > 0 {
            digits[count] = (rest % 10) as u8;
            rest /= 10;
            count += 1;
        }
        for index in (0..count).rev() {
            text.push_str(WORDS[usize::from(digits[index])]);
            if index > 0 {
                text.push(' ');
            }
        }
    }

    /// The number of a text; none when it is none.
    pub fn read(self, text: &str) -> Option<u64> {
        if !self.words {
            return text.parse().ok();
        }
        text.split(' ').try_fold(0_u64, |number, word| {
            let digit = WORDS.iter().position(|known| *known == word)? as u64;
            number.checked_mul(10)?.checked_add(digit)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn four_hundred_and_nine() {
        let mut text = String::new();
        Spelling::new(true).write(409, &mut text);
        assert_eq!(text, "quattro zero ஒன்பது");
    }

    proptest! {
        #[test]
        fn both_spellings_read_what_they_write(number: u64, words: bool, noise in ".{0,20}") {
            let mut text = String::new();
            let spelling = Spelling::new(words);
            spelling.write(number, &mut text);
            prop_assert_eq!(spelling.read(&text), Some(number));
            // LMDB's keys have 511 bytes at most.
            prop_assert!(text.len() <= 511);
            let _ = spelling.read(&noise);
        }
    }
}
