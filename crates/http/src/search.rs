//! A text looked for in a body that comes piece by piece.

use memchr::memmem;

/// How far the search has come. What is looked for is given with each piece, so that nothing is copied.
#[derive(Debug, Default)]
pub struct Search {
    /// The last bytes of what came: the text may go on in the next piece.
    tail: Vec<u8>,
    is_found: bool,
}

impl Search {
    /// Begins anew.
    pub fn begin(&mut self) {
        self.tail.clear();
        self.is_found = false;
    }

    /// Looks for `text` in what came so far and this piece of it.
    pub fn feed(&mut self, piece: &[u8], text: &[u8]) {
        if self.is_found {
            return;
        }
        let overlap = text.len().saturating_sub(1);
        self.tail.extend_from_slice(&piece[..piece.len().min(overlap)]);
        self.is_found = memmem::find(&self.tail, text).is_some() || memmem::find(piece, text).is_some();
        if piece.len() > overlap {
            self.tail.clear();
            self.tail.extend_from_slice(&piece[piece.len() - overlap..]);
        } else {
            self.tail.drain(..self.tail.len().saturating_sub(overlap));
        }
    }

    /// Whether the text was in what came.
    pub fn is_found(&self) -> bool {
        self.is_found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pieces_do_not_matter(body in proptest::collection::vec(0u8..3, 0..60), text in proptest::collection::vec(0u8..3, 1..7),
                                sizes in proptest::collection::vec(1usize..9, 1..10)) {
            let mut search = Search::default();
            // What an earlier body left behind is no part of this one.
            search.feed(&body, &text);
            search.begin();
            let (mut rest, mut size) = (&body[..], sizes.iter().cycle());
            while !rest.is_empty() {
                let (piece, after) = rest.split_at((*size.next().expect("a cycle")).min(rest.len()));
                search.feed(piece, &text);
                rest = after;
            }
            prop_assert_eq!(search.is_found(), body.windows(text.len()).any(|window| window == text));
        }
    }
}
