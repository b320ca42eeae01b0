//! Estimates the probability that a session found for a prompt is the one it refers to. Calibrated: of a hundred cards at
//! 0.9, about ninety are right.
//!
//! Does not know the sessions: its input is evidence from the search and the prompt.

/// The evidence for a suggestion.
#[derive(Clone, Copy, Debug, Default)]
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
}

pub const INPUTS: usize = 14;

/// The weights of the logistic model. Fitted by `cargo xtask quality recommend --seed 101 --histories 5 --fit` on the training
/// half of the prompts; evaluation uses other seeds.
const WEIGHTS: [f32; INPUTS] =
    [-8.906, 0.451, -3.496, -0.850, -0.280, 2.898, 0.470, 3.112, 2.820, 0.843, 5.748, 1.037, 9.260, -1.760];

/// Upper bound for information content, in nats: seven nats distinguish a thousand sessions, and this is twice that.
const MAX_INFORMATION: f32 = 14.0;

/// Upper bound for the confidence: what a prompt refers to is never certain.
const MAX_CONFIDENCE: f32 = 0.99;

impl Evidence {
    /// The inputs of the model. `information` is the information content of the matched words, in nats: a full match of
    /// common words has little.
    pub fn inputs(&self) -> [f32; INPUTS] {
        let search::Evidence {
            covered, together, score, words, named, named_unweighted: counted, mass, ..
        } = self.of;
        let information = (covered * mass / MAX_INFORMATION).min(1.0);
        let flag = |is: bool| f32::from(u8::from(is));
        [
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
        ]
    }

    pub fn confidence(&self) -> f32 {
        let sum: f32 = self.inputs().iter().zip(WEIGHTS).map(|(input, weight)| input * weight).sum();
        (1.0 / (1.0 + (-sum).exp())).min(MAX_CONFIDENCE)
    }
}
