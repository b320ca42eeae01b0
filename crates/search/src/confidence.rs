//! Estimates the probability that the first chat is the one that was meant: of a hundred answers with confidence 0.8,
//! about eighty are right.
//!
//! Does not know the chats, only features of the ranking.

/// Features of a ranking, each about 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Evidence {
    /// The lead of the first chat over the second, as a share of its score.
    pub margin: f32,
    /// The share of the query's rarity that the first chat contains anywhere, and in its best message.
    pub covered: f32,
    pub together: f32,
    /// The first chat's score as a share of the maximum for the query.
    pub score: f32,
    /// The number of query words: one is 0, eight or more are 1.
    pub words: f32,
    /// The share of all chats that match at all.
    pub spread: f32,
    /// The share of the query's rarity in the first chat's title and prompts: what the chat is about, rather than what
    /// it mentions.
    pub named: f32,
    /// The same with equal weight for every word: two characters from two Chinese words form a pair that is rare and
    /// meaningless.
    pub named_unweighted: f32,
    /// The total rarity of the query in nats: seven distinguish a thousand chats. Not limited to 0 to 1.
    pub mass: f32,
}

/// The weights of the logistic model, fitted by `cargo xtask quality --sets DIR --fit` on `LoCoMo`, the needles and the sets
/// of talk, which have queries without an answer. With fewer words the same margin is less certain.
const WEIGHTS: [f32; INPUTS] =
    [-1.857, 0.601, -2.678, 0.823, 4.239, 1.847, 0.825, 3.823, 1.913, -1.135, 0.510, -3.391];
const INPUTS: usize = 12;

impl Evidence {
    /// The inputs of the model: a constant, the features, and products that distinguish a clear answer from the best of
    /// poor ones.
    pub fn inputs(&self) -> [f32; INPUTS] {
        let Evidence {
            margin,
            covered,
            together,
            score,
            words,
            spread,
            named,
            named_unweighted: counted,
            ..
        } = *self;
        let missing = (1.0 - covered).max(0.0) * (1.0 - counted).max(0.0);
        [
            1.0,
            margin,
            covered,
            together,
            score,
            words,
            spread,
            margin * covered,
            margin.sqrt(),
            named,
            counted,
            missing,
        ]
    }

    pub(crate) fn confidence(&self) -> f32 {
        let sum: f32 = self.inputs().iter().zip(WEIGHTS).map(|(input, weight)| input * weight).sum();
        1.0 / (1.0 + (-sum).exp())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clear_answer_is_surer_than_a_close_one() {
        let evidence = |margin, covered, together, score, words, spread| Evidence {
            margin,
            covered,
            together,
            score,
            words,
            spread,
            ..Evidence::default()
        };
        let clear = evidence(0.7, 1.0, 1.0, 0.6, 0.3, 0.01);
        let close = evidence(0.01, 0.4, 0.2, 0.2, 0.9, 0.9);
        assert!(clear.confidence() > 0.9, "{}", clear.confidence());
        assert!(close.confidence() < 0.6, "{}", close.confidence());
    }
}
