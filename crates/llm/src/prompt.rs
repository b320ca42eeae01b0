//! What may leave: text whose secrets were masked. There is no other way to make one, and nothing else is taken by a model.
//!
//! Does not know who will read it.

use mask::Masker;

/// What is said to a model, masked. Its fields are private and this is the only way in, so that a text which was not masked
/// is a mistake that does not compile.
#[derive(Clone, Debug)]
pub struct MaskedPrompt {
    system: String,
    text: String,
}

impl MaskedPrompt {
    pub fn mask(masker: &Masker, system: &str, text: &str) -> MaskedPrompt {
        MaskedPrompt { system: masker.text(system).into_owned(), text: masker.text(text).into_owned() }
    }

    pub fn system(&self) -> &str {
        &self.system
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// FNV-1a over both, written out: the same words are the same question, in this process and in the next.
    pub fn fingerprint(&self) -> String {
        let bytes = self.system.bytes().chain([0]).chain(self.text.bytes());
        let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        format!("{:016x}", bytes.fold(0xcbf2_9ce4_8422_2325, mix))
    }

    /// No model counts fewer bytes to a token of Chinese, and English has four: an estimate to reserve by, not to pay by.
    pub fn tokens(&self) -> u64 {
        (self.system.len() + self.text.len()) as u64 / 3 + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_does_not_get_into_a_prompt() {
        for specimen in mask::specimen::secrets(3).iter().filter(|it| it.vendor) {
            let prompt = MaskedPrompt::mask(&Masker::new([7; 32]), "be brief", &specimen.text);
            let left = specimen.secret.iter().find(|piece| prompt.text().contains(*piece));
            assert_eq!(left, None, "{}", specimen.kind);
        }
    }

    #[test]
    fn the_same_words_are_the_same_question() {
        let print = |system, text| MaskedPrompt::mask(&Masker::new([7; 32]), system, text).fingerprint();
        assert_eq!(print("be brief", "x"), print("be brief", "x"));
        assert_ne!(print("be brief", "x"), print("be briefx", ""));
    }
}
