//! Which conversation a line belongs to, and an ID by which its messages can be recognised. Forks up to 0.140
//! write the parent's lines into the new file, with new times and without IDs: the derived ID is a hash of
//! the replayed session and all its text so far, so that a copy has the ID of its original.
//!
//! Does not know where a replay ends in versions whose turns have no IDs.

/// The start value of derived IDs never changes: they are shown to users.
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;

#[derive(Default)]
pub(super) struct Thread {
    own: Vec<u8>,
    hash: u64,
    has_replay: bool,
    pub(super) copied: bool,
}

impl Thread {
    /// Starts the file's own session, and names the one it was forked from.
    pub(super) fn start_session(&mut self, own: &[u8], forked_from: &[u8]) {
        self.own = own.to_vec();
        self.has_replay = !forked_from.is_empty();
        self.hash = fnv1a_mix(FNV_OFFSET, if self.has_replay { forked_from } else { own });
    }

    /// Another session's header inside the file: its lines follow.
    pub(super) fn start_replay(&mut self, id: &[u8]) {
        if id != self.own {
            self.has_replay = true;
            self.hash = fnv1a_mix(FNV_OFFSET, id);
        }
    }

    pub(super) fn start_turn(&mut self, id: &[u8]) {
        if !id.is_empty() {
            self.add_text(id);
            self.copied = self.has_replay
                && uuid_v7_millis(id).zip(uuid_v7_millis(&self.own)).is_some_and(|(turn, own)| turn < own);
        }
    }

    pub(super) fn add_text(&mut self, text: &[u8]) {
        self.hash = fnv1a_mix(self.hash, text);
    }

    /// A derived ID that fits in a row completely.
    pub(super) fn derive_id(&self, prefix: char) -> Vec<u8> {
        format!("{prefix}-{:016x}", self.hash).into_bytes()
    }
}

/// FNV-1a, with a separator so that two texts never hash like one.
fn fnv1a_mix(from: u64, bytes: &[u8]) -> u64 {
    let prime = 0x0000_0100_0000_01b3;
    let step = |h: u64, b: &u8| (h ^ u64::from(*b)).wrapping_mul(prime);
    bytes.iter().chain(&[0xff]).fold(from, step)
}

/// The creation time of a version 7 UUID, in milliseconds.
fn uuid_v7_millis(id: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(id).ok().filter(|t| t.len() == 36 && t.is_ascii())?;
    let is_v7 = text.as_bytes()[14] == b'7';
    let hex = format!("{}{}", &text[..8], &text[9..13]);
    is_v7.then(|| u64::from_str_radix(&hex, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &[u8] = b"01a1dc64-3cc1-7db1-85f8-2f6568870902";
    const NEW: &[u8] = b"01a1dc65-4c23-77c1-8d39-5f45af100de4";

    #[test]
    fn a_replayed_line_has_the_id_of_its_original_and_a_new_one_has_not() {
        let (mut parent, mut fork) = (Thread::default(), Thread::default());
        parent.start_session(OLD, b"");
        fork.start_session(NEW, OLD);
        fork.start_replay(OLD);
        for thread in [&mut parent, &mut fork] {
            thread.start_turn(b"01a1dc64-3ce0-7603-bac4-43c46f2effc3");
            thread.add_text(b"hello");
        }
        assert_eq!(parent.derive_id('m'), fork.derive_id('m'));
        assert!(fork.copied && !parent.copied);
        fork.start_turn(b"01a1dc66-4cde-7f40-9f07-b436e35f9a1f");
        assert_ne!(parent.derive_id('m'), fork.derive_id('m'));
        assert!(!fork.copied);
        assert!(fork.derive_id('m').len() <= 24);
    }

    #[test]
    fn sessions_with_the_same_text_have_different_ids() {
        let (mut a, mut b) = (Thread::default(), Thread::default());
        a.start_session(OLD, b"");
        b.start_session(NEW, b"");
        a.add_text(b"hi");
        b.add_text(b"hi");
        assert_ne!(a.derive_id('m'), b.derive_id('m'));
    }
}
