//! Estimates the probability that a session found for a prompt is the one it refers to. Calibrated: of a hundred cards at
//! 0.9, about ninety are right.
//!
//! Does not know the sessions: its input is evidence from the search and the prompt.

use crate::signs::Signs;
use std::sync::LazyLock;

/// The evidence for a suggestion.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    pub of: search::Evidence,
    /// The lead over the next candidate, as a share of the score.
    pub margin: f32,
    /// The session belongs to the current project.
    pub here: bool,
    /// The session is within the time that the prompt names.
    pub dated: bool,
    /// Several sessions match equally well, and this is the latest.
    pub again: bool,
    /// The prompt explicitly refers back.
    pub plain: bool,
    /// The prompt refers back by one of the rules of [`crate::cue`], explicitly or not.
    pub cued: bool,
    /// What else in the prompt suggests earlier work.
    pub signs: Signs,
    /// Days since the session ended.
    pub age: f32,
}

/// The weights of the logistic model, `name weight` per line. Trained by `cargo xtask train cards` on the sets of talk and on
/// the tuning half of the generated histories; evaluation uses other seeds.
const WEIGHTS: &str = include_str!("weights.txt");

static MODEL: LazyLock<Vec<f32>> = LazyLock::new(|| {
    let values = WEIGHTS.lines().filter_map(|line| line.split_once(' '));
    values.map(|(_, value)| value.parse().unwrap_or(0.0)).collect()
});

/// The names of the inputs that do not come from [`Signs`].
#[rustfmt::skip] // a table
const NAMES: &[&str] = &[
    "bias", "margin", "covered", "together", "named", "score", "information", "words", "here", "dated", "margin_covered",
    "plain", "counted", "again", "cued", "recent", "named_here", "cued_covered", "information_margin", "signs_named",
];

pub fn input_names() -> Vec<&'static str> {
    NAMES.iter().copied().chain(Signs::names()).collect()
}

/// Upper bound for information content, in nats: seven nats distinguish a thousand sessions, and this is twice that.
const MAX_INFORMATION: f32 = 14.0;

/// Upper bound for the confidence: what a prompt refers to is never certain.
const MAX_CONFIDENCE: f32 = 0.99;

impl Evidence {
    /// The inputs of the model. `information` is the information content of the matched words, in nats: a full match of
    /// common words has little.
    pub fn inputs(&self) -> Vec<f32> {
        let search::Evidence {
            covered, together, score, words, named, named_unweighted: counted, mass, ..
        } = self.of;
        let information = (covered * mass / MAX_INFORMATION).min(1.0);
        let flag = |is: bool| f32::from(u8::from(is));
        let many = self.signs.values().nth(crate::signs::SIGNS.len()).unwrap_or(0.0);
        let own = [
            1.0,
            self.margin,
            covered,
            together,
            named,
            score,
            information,
            words,
            flag(self.here),
            flag(self.dated),
            self.margin * covered,
            flag(self.plain),
            counted,
            flag(self.again),
            flag(self.cued),
            (-self.age / RECENT_DAYS).exp(),
            named * flag(self.here),
            covered * flag(self.cued),
            information * self.margin,
            many * named,
        ];
        own.into_iter().chain(self.signs.values()).collect()
    }

    pub fn confidence(&self) -> f32 {
        let sum: f32 = self.inputs().iter().zip(MODEL.iter()).map(|(input, weight)| input * weight).sum();
        (1.0 / (1.0 + (-sum).exp())).min(MAX_CONFIDENCE)
    }
}

/// After as many days, what was done recently counts a third.
const RECENT_DAYS: f32 = 21.0;

#[cfg(test)]
mod tests {
    use super::*;

    /// A weight for each input, under its name: an input added without training again would shift all that follow.
    #[test]
    fn the_weights_belong_to_the_inputs() {
        let named: Vec<&str> = WEIGHTS.lines().filter_map(|line| Some(line.split_once(' ')?.0)).collect();
        assert_eq!(named, input_names());
        assert_eq!(Evidence::default().inputs().len(), named.len());
    }
}
