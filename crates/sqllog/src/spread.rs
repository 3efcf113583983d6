//! Messages of one logged second, spread evenly over it, where a log has whole seconds: the server did not see each second's statements in one
//! burst at its beginning.

use std::collections::HashMap;

const SECOND_MICROSECONDS: i64 = 1_000_000;

/// What the moments of a log's messages become.
#[derive(Default)]
pub struct Spread {
    /// By second: how many messages it has, and how many of them have their moment.
    seconds: HashMap<i64, (i64, i64)>,
}

impl Spread {
    /// Of all messages of a log, in its order. One that has fractions is left as it is.
    pub fn new(moments: impl Iterator<Item = i64>) -> Spread {
        let mut spread = Spread::default();
        for moment in moments {
            if moment.rem_euclid(SECOND_MICROSECONDS) != 0 {
                return Spread::default();
            }
            spread.seconds.entry(moment).or_default().0 += 1;
        }
        spread
    }

    /// The moment of the next message, that has this one in the log.
    pub fn at(&mut self, logged: i64) -> i64 {
        let Some((messages, given)) = self.seconds.get_mut(&logged) else { return logged };
        let offset = (*given * SECOND_MICROSECONDS / *messages).min(SECOND_MICROSECONDS - 1);
        *given += 1;
        logged.saturating_add(offset)
    }
}
