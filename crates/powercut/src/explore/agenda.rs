//! Which point is next: by turns one of all points, each once in a round, and one of those at which content that was on the disk is
//! being changed in place.
//!
//! Most points are flushes of a log that only grows, and there are hundreds of them; pages are torn at the few where a database
//! or a filesystem writes over what it has. In rounds over all points alone, a budget ends before anything of these was left out.

use std::collections::VecDeque;

/// Images in a row at one point with changes in place: the first shows what a recovery reads, the others leave something out.
const IN_A_ROW: u32 = 24;

/// The order of points.
#[derive(Debug)]
pub(super) struct Agenda {
    rounds: VecDeque<usize>,
    changing: VecDeque<usize>,
    /// Images in a row at the first of `changing`.
    in_a_row: u32,
    /// Whether it is the turn of `changing`.
    turn: bool,
}

impl Agenda {
    /// Of points by how many units are changed in place at each.
    pub(super) fn new(changed: &[usize]) -> Agenda {
        let rounds = spread(changed.len());
        let mut changing: Vec<usize> = rounds.iter().copied().filter(|point| changed[*point] > 0).collect();
        changing.sort_by_key(|point| std::cmp::Reverse(changed[*point]));
        Agenda { rounds: rounds.into(), changing: changing.into(), in_a_row: 0, turn: true }
    }

    /// Where to try an image; none: there is nothing left. What came of it is to be told.
    pub(super) fn next(&mut self) -> Option<usize> {
        self.turn = !self.turn && !self.changing.is_empty() || self.rounds.is_empty();
        let queue = if self.turn { &self.changing } else { &self.rounds };
        queue.front().copied()
    }

    /// Whether there was an image left to try where the last one was asked for.
    pub(super) fn tried(&mut self, was_something_left: bool) {
        let queue = if self.turn { &mut self.changing } else { &mut self.rounds };
        if self.turn {
            self.in_a_row += 1;
            if was_something_left && self.in_a_row < IN_A_ROW {
                return;
            }
            self.in_a_row = 0;
        }
        let point = queue.pop_front();
        if was_something_left {
            queue.extend(point);
        }
    }
}

/// The numbers below `count` so that the first few are spread over all of them, the last first: a search that ends in its first
/// round has looked everywhere. Multiples of the golden ratio (Weyl's sequence), from the end.
fn spread(count: usize) -> Vec<usize> {
    let mut all: Vec<usize> = (0..count).collect();
    all.sort_by_key(|index| ((count - 1 - index) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(changed: &[usize], lasts: &[usize]) -> Vec<usize> {
        let mut left = lasts.to_vec();
        let mut agenda = Agenda::new(changed);
        let mut order = Vec::new();
        while let Some(point) = agenda.next() {
            agenda.tried(left[point] > 0);
            if left[point] > 0 {
                left[point] -= 1;
                order.push(point);
            }
        }
        assert!(left.iter().all(|left| *left == 0), "{left:?}");
        order
    }

    #[test]
    fn all_points_come_until_nothing_is_left() {
        assert_eq!(order(&[0, 0, 0], &[1, 2, 1]).len(), 4);
        assert!(order(&[], &[]).is_empty());
        assert_eq!(order(&[5], &[100]).len(), 100);
    }

    #[test]
    fn points_with_changes_in_place_have_every_second_turn_and_stay_on() {
        let order = order(&[0, 0, 7, 0, 3], &[50; 5]);
        let of_second_turn: Vec<usize> = order.iter().copied().skip(1).step_by(2).take(30).collect();
        assert_eq!(of_second_turn[..24], [2; 24]);
        assert_eq!(of_second_turn[24..], [4; 6]);
        let first: Vec<usize> = order.iter().copied().step_by(2).take(5).collect();
        let mut each = first.clone();
        each.sort_unstable();
        assert_eq!(each, [0, 1, 2, 3, 4], "{first:?}");
    }
}
