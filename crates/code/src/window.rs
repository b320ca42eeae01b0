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

const TITLE: &str = "# Prompt window\n\n";

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

fn region_heading(region: Region) -> String {
    format!("## {}\n\n", region.name())
}

impl Window {
    /// The title and all headings.
    pub fn frame() -> String {
        let headings = [Region::Pinned, Region::Focus, Region::Recent].map(region_heading);
        TITLE.to_owned() + &headings.concat()
    }

    /// The window as text; `entries` has all that are shown.
    pub fn render(&self, entries: &[&WindowEntry]) -> String {
        let mut text = TITLE.to_owned();
        let mut region = None;
        for shown in &self.shown {
            if region != Some(shown.region) {
                region = Some(shown.region);
                text.push_str(&region_heading(shown.region));
            }
            let entry = entries.iter().find(|entry| entry.of == shown.of);
            for (part, _) in entry.into_iter().flat_map(|entry| entry.texts.iter().take(shown.texts)) {
                text.push_str(part);
            }
            text.push('\n');
        }
        text
    }

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
