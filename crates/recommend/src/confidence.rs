//! How likely is the conversation that was found the one that is referred to? Of a hundred cards said to be 0.9, about
//! ninety are right.
//!
//! Does not know the conversations: it is handed what the search shows of itself and what the prompt says.

/// What is known when a card is considered.
#[derive(Clone, Copy, Debug, Default)]
pub struct Evidence {
    pub of: search::Evidence,
    /// How far it is ahead of the next that could be meant, as a share of its score.
    pub margin: f32,
    /// It is of the project that the person works in.
    pub here: bool,
    /// It is of the time that the prompt names.
    pub dated: bool,
    /// Others fit as well, and it is the latest of them.
    pub again: bool,
    /// The prompt plainly refers back.
    pub plain: bool,
}

pub const INPUTS: usize = 14;

/// The logistic model. Fitted by `cargo xtask quality recommend --seed 101 --histories 5 --fit` over the half of the prompts
/// that is tuned by; other seeds are asked when it is judged.
const WEIGHTS: [f32; INPUTS] =
    [-8.906, 0.451, -3.496, -0.850, -0.280, 2.898, 0.470, 3.112, 2.820, 0.843, 5.748, 1.037, 9.260, -1.760];

/// Rarity beyond this tells nothing more: a thousand conversations are told apart by seven nats, twice over.
const PLENTY: f32 = 14.0;

/// Nobody is certain what somebody else means.
const SUREST: f32 = 0.99;

impl Evidence {
    /// What the model multiplies. `told` is how much of what was said was found, in nats: a full match of common words
    /// is none.
    pub fn inputs(&self) -> [f32; INPUTS] {
        let search::Evidence { covered, together, score, words, named, counted, mass, .. } = self.of;
        let told = (covered * mass / PLENTY).min(1.0);
        let flag = |is: bool| f32::from(u8::from(is));
        [
            1.0,
            self.margin,
            covered,
            together,
            named,
            score,
            told,
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
        (1.0 / (1.0 + (-sum).exp())).min(SUREST)
    }
}
