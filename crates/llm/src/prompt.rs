//! Masked prompts: the only type a model accepts, and masking is the only way to construct one.
//!
//! Does not know which model reads it.

use mask::Masker;

/// A prompt with its secrets masked. Its fields are private and [`MaskedPrompt::mask`] is the only constructor, so passing
/// unmasked text does not compile.
#[derive(Clone, Debug)]
pub struct MaskedPrompt {
    system: String,
    text: String,
}

impl MaskedPrompt {
    pub fn mask(masker: &Masker, system: &str, text: &str) -> MaskedPrompt {
        MaskedPrompt {
            system: masker.mask_text(system).into_owned(),
            text: masker.mask_text(text).into_owned(),
        }
    }

    pub fn system(&self) -> &str {
        &self.system
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// FNV-1a over both parts, written out: equal prompts have equal fingerprints across processes.
    pub fn fingerprint(&self) -> String {
        let bytes = self.system.bytes().chain([0]).chain(self.text.bytes());
        let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        format!("{:016x}", bytes.fold(0xcbf2_9ce4_8422_2325, mix))
    }

    /// Estimates the tokens, for reserving, not for paying. A token of English has about four bytes; even for Chinese no model
    /// needs more than one token for three.
    pub fn estimate_tokens(&self) -> u64 {
        (self.system.len() + self.text.len()) as u64 / 3 + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_never_reaches_a_prompt() {
        for specimen in mask::specimen::generate_secrets(3).iter().filter(|it| it.vendor) {
            let prompt = MaskedPrompt::mask(&Masker::new([7; 32]), "be brief", &specimen.text);
            let left = specimen.secret.iter().find(|piece| prompt.text().contains(*piece));
            assert_eq!(left, None, "{}", specimen.kind);
        }
    }

    #[test]
    fn equal_prompts_have_equal_fingerprints() {
        let print = |system, text| MaskedPrompt::mask(&Masker::new([7; 32]), system, text).fingerprint();
        assert_eq!(print("be brief", "x"), print("be brief", "x"));
        assert_ne!(print("be brief", "x"), print("be briefx", ""));
    }
}
