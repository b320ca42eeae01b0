//! How much of a long list is loaded. More is requested when the selection comes near its end.
//!
//! Does not know what is listed.

use crate::rows::{Choosable, Rows};
use render::format::{count_of, group_digits};

#[derive(Debug)]
pub(crate) struct Page {
    /// Items that are requested at first: more than a screen shows would delay the first ones.
    first: u64,
    /// The most that a request may ask for.
    most: u64,
    pub(crate) limit: u64,
    /// Items that there are.
    pub(crate) total: u64,
}

impl Page {
    pub(crate) fn new(first: u64, most: u64) -> Page {
        Page { first, most, limit: first, total: 0 }
    }

    /// Another list begins.
    pub(crate) fn restart(&mut self) {
        self.limit = self.first;
    }

    /// Doubles the limit if there is more: all of n items are then read in a number of requests that grows with the logarithm of n.
    /// Fewer items than the limit mean that an answer is still awaited.
    pub(crate) fn extend<T>(&mut self, rows: &Rows<T>) -> bool {
        let shown = rows.len() as u64;
        let has_more = self.limit <= shown && shown < self.total && self.limit < self.most;
        let extends = has_more && rows.is_near_end(self.first as usize / 2);
        if extends {
            self.limit = self.limit.saturating_mul(2).min(self.most);
        }
        extends
    }

    /// `30 of 1,204 sessions`.
    pub(crate) fn describe<T>(&self, rows: &Rows<T>, item: &str) -> String {
        match rows.len() as u64 {
            shown if shown < self.total => {
                format!("{} of {}", group_digits(shown), count_of(self.total, item))
            }
            shown => count_of(shown, item),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::Order;

    fn rows(count: usize) -> Rows<String> {
        let mut rows = Rows::default();
        let order = Order { key: String::as_str, heading: Box::new(|_: &String| None) };
        rows.replace((0..count).map(|n| n.to_string()).collect(), &order);
        rows.select(count);
        rows
    }

    #[test]
    fn a_list_is_extended_once_per_answer_and_not_beyond_the_most() {
        let mut page = Page::new(10, 25);
        page.total = 100;
        assert!(page.extend(&rows(10)));
        assert!(!page.extend(&rows(10)), "the answer is awaited");
        assert!(page.extend(&rows(20)) && page.limit == 25);
        assert!(!page.extend(&rows(25)), "a request may not ask for more");
        assert_eq!(page.describe(&rows(25), "session"), "25 of 100 sessions");
        page.restart();
        page.total = 10;
        assert!(!page.extend(&rows(10)), "there is no more");
    }
}
