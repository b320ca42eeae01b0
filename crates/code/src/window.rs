//! The prompt window: the outlines an agent is shown now (pinned, focused and recent types), as many as a token budget allows.
//!
//! Does not choose the pinned or recent types and does not count tokens: the caller passes texts with their costs.

/// The texts about one type, most important first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WindowEntry {
    pub of: u32,
    /// The outline, then the sections of its note (role, lifecycle, limits, advice), each with its cost in tokens.
    pub texts: Vec<(String, usize)>,
}

/// The part of the window that an entry belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Region {
    Pinned,
    Focus,
    Recent,
}

impl Region {
    pub fn name(self) -> &'static str {
        match self {
            Region::Pinned => "Pinned",
            Region::Focus => "Focus",
            Region::Recent => "Recent",
        }
    }
}

/// What is shown of one type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShownEntry {
    pub of: u32,
    pub region: Region,
    /// The number of its texts that are shown.
    pub texts: usize,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Window {
    pub shown: Vec<ShownEntry>,
    pub tokens: usize,
    /// Pinned types that did not fit.
    pub left_out: Vec<u32>,
}

/// The share of the window that pinned types may use, so that they do not crowd out the focus.
const PINNED_SHARE: f64 = 0.6;
/// After the outline, the role is the most valuable text.
const OUTLINE_AND_ROLE: usize = 2;

/// Fills a window. Each type is shown once, in the first region that contains it.
pub fn fill_window(
    budget: usize,
    pinned: &[WindowEntry],
    focus: &[WindowEntry],
    recent: &[WindowEntry],
) -> Window {
    let mut window = Window::default();
    let soft = (budget as f64 * PINNED_SHARE) as usize;
    for entry in pinned {
        if !window.add_entry(entry, Region::Pinned, soft) {
            window.left_out.push(entry.of);
        }
    }
    for (region, entries) in [(Region::Focus, focus), (Region::Recent, recent)] {
        for entry in entries {
            window.add_entry(entry, region, budget);
        }
    }
    window
}

impl Window {
    /// Adds as much of an entry as fits: all texts, the outline and the role, or the outline alone. Returns whether anything fit.
    fn add_entry(&mut self, entry: &WindowEntry, region: Region, budget: usize) -> bool {
        if self.shown.iter().any(|shown| shown.of == entry.of) || self.left_out.contains(&entry.of) {
            return true;
        }
        let price = |n: usize| entry.texts.iter().take(n).map(|(_, tokens)| tokens).sum::<usize>();
        let steps = [entry.texts.len(), OUTLINE_AND_ROLE.min(entry.texts.len()), 1];
        let fits = steps.into_iter().find(|n| *n > 0 && self.tokens + price(*n) <= budget);
        if let Some(texts) = fits.filter(|_| !entry.texts.is_empty()) {
            self.tokens += price(texts);
            self.shown.push(ShownEntry { of: entry.of, region, texts });
        }
        fits.is_some()
    }
}

/// The score of a recently requested type: higher the more recent it is and the more dependents it has, and half as much again if
/// it is in the active pack. `age` is the number of types requested since.
pub fn recency_score(age: usize, used_by: usize, in_pack: bool) -> f64 {
    let weight = if in_pack { 1.5 } else { 1.0 };
    weight * (1.0 + (used_by as f64).sqrt()) / (1.0 + age as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample_entry(of: u32, prices: &[usize]) -> WindowEntry {
        WindowEntry { of, texts: prices.iter().map(|n| (String::new(), *n)).collect() }
    }

    fn shown_entries(window: &Window) -> Vec<(u32, Region, usize)> {
        window.shown.iter().map(|shown| (shown.of, shown.region, shown.texts)).collect()
    }

    #[test]
    fn regions_are_ordered_and_types_are_shown_once() {
        let window = fill_window(
            100,
            &[sample_entry(1, &[10, 5])],
            &[sample_entry(1, &[10]), sample_entry(2, &[10, 5, 5])],
            &[sample_entry(2, &[1]), sample_entry(3, &[10])],
        );
        assert_eq!(
            shown_entries(&window),
            [(1, Region::Pinned, 2), (2, Region::Focus, 3), (3, Region::Recent, 1)]
        );
        assert_eq!(window.tokens, 45);
    }

    #[test]
    fn an_entry_that_does_not_fit_is_shown_in_part() {
        let large = sample_entry(2, &[30, 10, 40, 40]);
        assert_eq!(
            shown_entries(&fill_window(200, &[], std::slice::from_ref(&large), &[])),
            [(2, Region::Focus, 4)]
        );
        assert_eq!(
            shown_entries(&fill_window(60, &[], std::slice::from_ref(&large), &[])),
            [(2, Region::Focus, 2)]
        );
        assert_eq!(
            shown_entries(&fill_window(35, &[], std::slice::from_ref(&large), &[])),
            [(2, Region::Focus, 1)]
        );
        assert_eq!(
            shown_entries(&fill_window(20, &[], &[large.clone(), sample_entry(3, &[15])], &[])),
            [(3, Region::Focus, 1)]
        );
        assert_eq!(fill_window(0, &[], &[large], &[]).shown, []);
    }

    #[test]
    fn pinned_types_do_not_crowd_out_the_focus() {
        let window = fill_window(
            100,
            &[sample_entry(1, &[50]), sample_entry(2, &[50]), sample_entry(3, &[10])],
            &[sample_entry(4, &[40])],
            &[],
        );
        assert_eq!(
            shown_entries(&window),
            [(1, Region::Pinned, 1), (3, Region::Pinned, 1), (4, Region::Focus, 1)]
        );
        assert_eq!(window.left_out, [2]);
    }

    #[test]
    fn recent_types_with_many_dependents_score_higher() {
        assert!(
            recency_score(0, 4, false) > recency_score(1, 4, false)
                && recency_score(0, 9, false) > recency_score(0, 4, false)
        );
        assert!((recency_score(2, 4, true) - 1.5 * recency_score(2, 4, false)).abs() < 1e-9);
    }
}
