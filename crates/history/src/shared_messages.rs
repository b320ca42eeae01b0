//! Joins several sessions: their messages by time, and those they share (same role, same text up to case and whitespace).
//!
//! Does not know where messages come from. Linear in the size of the text: each message is looked up once.

use api::gather_chats::{ChatMessage, NarrativeEntry, Reference, SharedMessage};
use rustc_hash::{FxHashMap, FxHashSet};

/// Returns the messages that occur in at least two sessions, ordered by first occurrence.
pub fn shared_messages(chats: &[Vec<ChatMessage>]) -> Vec<SharedMessage> {
    let mut places: FxHashMap<(&str, String), usize> = FxHashMap::default();
    let mut groups: Vec<SharedMessage> = Vec::new();
    for (chat_idx, messages) in chats.iter().enumerate() {
        for (index, message) in messages.iter().enumerate() {
            let text = normalise_text(&message.content);
            if text.is_empty() {
                continue;
            }
            let group = *places.entry((&message.role, text)).or_insert(groups.len());
            if group == groups.len() {
                let (role, content) = (message.role.clone(), message.content.clone());
                groups.push(SharedMessage { role, content, refs: Vec::new() });
            }
            let message_id_prefix = id_prefix(&message.message_id).to_string();
            groups[group].refs.push(Reference { chat_idx, index, message_id_prefix });
        }
    }
    groups.retain(is_in_several_chats);
    groups
}

/// Merges messages by time. Messages of one session keep their order even if their timestamps do not.
pub fn interleave_by_time(chats: Vec<Vec<ChatMessage>>) -> Vec<NarrativeEntry> {
    let mut all = Vec::new();
    for (chat_idx, messages) in chats.into_iter().enumerate() {
        let mut latest = i64::MIN;
        for (index, message) in messages.into_iter().enumerate() {
            latest = latest.max(message.created_at.unwrap_or(latest));
            all.push((latest, NarrativeEntry { chat_idx, index, message }));
        }
    }
    all.sort_by_key(|(at, entry)| (*at, entry.chat_idx, entry.index));
    all.into_iter().map(|(_, entry)| entry).collect()
}

/// The first eight characters that tell IDs apart: those after a label that all share, as in `msg_01XFDUDYJg`.
fn id_prefix(id: &str) -> &str {
    let label = id.find('_').map_or(0, |at| at + 1);
    let end = id[label..].char_indices().nth(8).map_or(id.len(), |(at, _)| label + at);
    &id[..end]
}

fn is_in_several_chats(shared: &SharedMessage) -> bool {
    shared.refs.iter().map(|at| at.chat_idx).collect::<FxHashSet<_>>().len() > 1
}

/// Lower-cases the text, collapses whitespace to single spaces and trims both ends.
fn normalise_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.extend(word.chars().flat_map(char::to_lowercase));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn make_chat(texts: &[(&str, &str)]) -> Vec<ChatMessage> {
        let message = |(n, (role, content)): (usize, &(&str, &str))| ChatMessage {
            message_id: format!("message-{n}"),
            role: (*role).to_string(),
            content: (*content).to_string(),
            ..ChatMessage::default()
        };
        texts.iter().enumerate().map(message).collect()
    }

    fn three_chats() -> Vec<Vec<ChatMessage>> {
        vec![
            make_chat(&[
                ("user", "Fix  the\nSOCKET"),
                ("assistant", "Done."),
                ("user", ""),
                ("user", "alone"),
            ]),
            make_chat(&[("user", "fix the socket "), ("user", "fix the socket"), ("assistant", "ÄRGER")]),
            make_chat(&[
                ("assistant", "fix the socket"),
                ("user", ""),
                ("assistant", "ärger"),
                ("user", "done."),
            ]),
        ]
    }

    #[test]
    fn sessions_are_interleaved_by_time_and_keep_their_own_order() {
        let at = |times: &[Option<i64>]| -> Vec<ChatMessage> {
            times.iter().map(|at| ChatMessage { created_at: *at, ..ChatMessage::default() }).collect()
        };
        let messages =
            interleave_by_time(vec![at(&[Some(1), Some(9), Some(4), None]), at(&[None, Some(5), Some(9)])]);
        let order: Vec<_> = messages.iter().map(|t| (t.chat_idx, t.index)).collect();
        assert_eq!(order, [(1, 0), (0, 0), (1, 1), (0, 1), (0, 2), (0, 3), (1, 2)]);
    }

    #[test]
    fn equal_text_of_the_same_role_is_shared() {
        let shared = shared_messages(&three_chats());
        let groups: Vec<_> = shared
            .iter()
            .map(|s| (s.content.as_str(), s.refs.iter().map(|r| (r.chat_idx, r.index)).collect::<Vec<_>>()))
            .collect();
        assert_eq!(
            groups,
            [("Fix  the\nSOCKET", vec![(0, 0), (1, 0), (1, 1)]), ("ÄRGER", vec![(1, 2), (2, 2)]),]
        );
        assert_eq!(shared[0].refs[0].message_id_prefix, "message-");
    }

    #[test]
    fn a_prefix_goes_past_the_label_that_all_ids_share() {
        let cases = [
            ("msg_01XFDUDYJgAACzvnptvVoYEL", "msg_01XFDUDY"),
            ("505e9438-b658", "505e9438"),
            ("msg_é", "msg_é"),
            ("", ""),
        ];
        for (id, prefix) in cases {
            assert_eq!(id_prefix(id), prefix);
        }
    }

    #[test]
    fn a_repetition_within_one_session_is_not_shared() {
        assert!(
            shared_messages(&[make_chat(&[("user", "a"), ("user", "a")]), make_chat(&[("user", "b")])])
                .is_empty()
        );
    }

    /// Two hundred thousand messages: a quadratic comparison would not finish.
    #[test]
    fn long_sessions_are_aligned_in_linear_time() {
        let long = |shift: usize| -> Vec<ChatMessage> {
            let role = || "user".to_string();
            let text = |n: usize| format!("message {}", n + shift);
            (0..100_000)
                .map(|n| ChatMessage { role: role(), content: text(n), ..ChatMessage::default() })
                .collect()
        };
        let shared = shared_messages(&[long(0), long(50_000)]);
        assert_eq!(shared.len(), 50_000);
        assert_eq!((shared[0].refs[0].index, shared[0].refs[1].index), (50_000, 0));
    }

    /// The groups are the same for every order of the input sessions.
    #[test]
    fn the_order_of_the_sessions_does_not_matter() {
        let groups = |order: [usize; 3]| -> BTreeSet<BTreeSet<(usize, usize)>> {
            let chats: Vec<_> = order.iter().map(|n| three_chats()[*n].clone()).collect();
            let place = |r: &Reference| (order[r.chat_idx], r.index);
            shared_messages(&chats).iter().map(|s| s.refs.iter().map(place).collect()).collect()
        };
        for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            assert_eq!(groups(order), groups([0, 1, 2]), "{order:?}");
        }
    }
}
