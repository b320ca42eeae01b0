//! A list of items with a selection and a window of visible lines; headings between items separate groups.
//!
//! Does not know what the items are. The cost of a frame depends on the visible lines, not on the number of items.

/// A line of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Heading(String),
    Item(usize),
}

#[derive(Debug)]
pub(crate) struct Rows<T> {
    items: Vec<T>,
    lines: Vec<Line>,
    /// The line of each item.
    line_of: Vec<usize>,
    selected: usize,
    /// The first visible line.
    top: usize,
}

impl<T> Default for Rows<T> {
    fn default() -> Rows<T> {
        Rows { items: Vec::new(), lines: Vec::new(), line_of: Vec::new(), selected: 0, top: 0 }
    }
}

/// A list in which a person chooses, whatever its items are.
pub(crate) trait Choosable {
    fn len(&self) -> usize;
    fn index(&self) -> usize;
    fn select(&mut self, index: usize);
    /// Selects the item in a visible line; returns whether there is one.
    fn select_line(&mut self, offset: usize) -> bool;
    /// Moves the window so that the selected item is in it, with the heading above the first item of a group.
    fn fit(&mut self, height: usize);

    fn move_by(&mut self, by: isize) {
        self.select(self.index().saturating_add_signed(by));
    }
}

type Heading<T> = Box<dyn Fn(&T) -> Option<String>>;

/// The identity of an item, and the heading of its group.
pub(crate) struct Order<T> {
    pub(crate) key: fn(&T) -> &str,
    pub(crate) heading: Heading<T>,
}

impl<T> Rows<T> {
    /// Replaces the items. The selection stays on the item with the same key; at the first row, it stays there.
    pub(crate) fn replace(&mut self, items: Vec<T>, order: &Order<T>) {
        let key = self.items.get(self.selected).map(|item| (order.key)(item).to_string());
        let same = key.filter(|_| self.selected > 0);
        let found = same.and_then(|key| items.iter().position(|item| (order.key)(item) == key));
        let last = items.len().saturating_sub(1);
        self.selected = found.unwrap_or(if self.selected > 0 { self.selected.min(last) } else { 0 });
        self.items = items;
        self.arrange(order);
    }

    /// Replaces the items and selects the first.
    pub(crate) fn reset(&mut self, items: Vec<T>, order: &Order<T>) {
        (self.selected, self.top) = (0, 0);
        self.replace(items, order);
    }

    fn arrange(&mut self, order: &Order<T>) {
        self.lines.clear();
        self.line_of.clear();
        let mut current = None;
        for (at, item) in self.items.iter().enumerate() {
            let heading = (order.heading)(item);
            if heading.is_some() && heading != current {
                self.lines.extend(heading.clone().map(Line::Heading));
                current = heading;
            }
            self.line_of.push(self.lines.len());
            self.lines.push(Line::Item(at));
        }
    }

    pub(crate) fn items(&self) -> &[T] {
        &self.items
    }

    pub(crate) fn selected(&self) -> Option<&T> {
        self.items.get(self.selected)
    }

    /// The visible lines.
    pub(crate) fn visible(&self, height: usize) -> &[Line] {
        let end = (self.top + height).min(self.lines.len());
        &self.lines[self.top.min(end)..end]
    }

    pub(crate) fn item(&self, index: usize) -> &T {
        &self.items[index]
    }

    /// Whether the selection is close to the end, so that more items should be loaded.
    pub(crate) fn is_near_end(&self, within: usize) -> bool {
        self.selected + within >= self.items.len()
    }
}

impl<T> Choosable for Rows<T> {
    fn len(&self) -> usize {
        self.items.len()
    }

    fn index(&self) -> usize {
        self.selected
    }

    fn select(&mut self, index: usize) {
        self.selected = index.min(self.items.len().saturating_sub(1));
    }

    fn select_line(&mut self, offset: usize) -> bool {
        let Some(Line::Item(item)) = self.lines.get(self.top + offset) else { return false };
        self.selected = *item;
        true
    }

    fn fit(&mut self, height: usize) {
        let Some(&line) = self.line_of.get(self.selected) else {
            self.top = 0;
            return;
        };
        let is_first = line > 0 && matches!(self.lines[line - 1], Line::Heading(_));
        let upper = if is_first && height > 1 { line - 1 } else { line };
        self.top = self.top.min(upper).max((line + 1).saturating_sub(height.max(1)));
        self.top = self.top.min(self.lines.len().saturating_sub(height));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order() -> Order<String> {
        Order {
            key: String::as_str,
            heading: Box::new(|item| item.split_once('-').map(|(day, _)| day.to_string())),
        }
    }

    fn rows(items: &[&str]) -> Rows<String> {
        let mut rows = Rows::default();
        rows.replace(items.iter().map(ToString::to_string).collect(), &order());
        rows
    }

    #[test]
    fn the_selection_stays_on_its_item_when_items_are_added_above() {
        let mut list = rows(&["b", "c"]);
        list.move_by(1);
        list.replace(vec!["a".into(), "b".into(), "c".into()], &order());
        assert_eq!(list.selected().map(String::as_str), Some("c"));
        list.replace(vec!["a".into()], &order());
        assert_eq!(list.index(), 0, "its item is gone");
    }

    #[test]
    fn the_first_row_stays_selected_when_a_newer_item_arrives() {
        let mut list = rows(&["b", "c"]);
        list.replace(vec!["a".into(), "b".into()], &order());
        assert_eq!(list.selected().map(String::as_str), Some("a"));
    }

    #[test]
    fn groups_have_headings_and_the_selection_is_visible() {
        let mut list = rows(&["1-a", "1-b", "2-c"]);
        list.fit(2);
        assert_eq!(list.visible(2), [Line::Heading("1".into()), Line::Item(0)]);
        list.move_by(2);
        list.fit(2);
        assert_eq!(list.visible(2), [Line::Heading("2".into()), Line::Item(2)]);
        list.move_by(-9);
        list.fit(2);
        assert_eq!(list.visible(2), [Line::Heading("1".into()), Line::Item(0)]);
        assert!(list.select_line(1) && !list.select_line(0), "a heading cannot be selected");
    }

    #[test]
    fn an_empty_list_has_no_selection() {
        let mut list = rows(&[]);
        list.move_by(5);
        list.fit(3);
        assert!(list.selected().is_none() && list.visible(3).is_empty());
    }
}
