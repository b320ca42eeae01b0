//! Suggestions for the step after a search: read a session, widen or narrow the search, or stop. Computed from the
//! request and the response alone, so that every interface returns the same.
//!
//! Does not know how sessions are ranked. Never suggests the search that was just run: a wider search never leads back
//! to a narrower one, so following the suggestions terminates.

use crate::gather_chats::GatherChats;
use crate::operation::Request;
use crate::search::{
    ChatFound, Expand, Guidance, Match, NextAction, Part, Precision, SearchConversations, SearchFound, State,
    TimeWindow,
};
use std::collections::BTreeMap;

/// From this confidence on, the first session is taken to be the intended one.
pub const SURE: f64 = 0.75;
/// Below this confidence, reading it is suggested only if no better search is left.
pub const LIKELY: f64 = 0.45;
/// The maximum number of suggestions; readers ignore longer lists.
const SUGGESTED: usize = 3;
/// Sessions to read at once: more would fill an agent's context.
const READ: usize = 2;

impl SearchFound {
    /// Fills in the fields that follow from the others: the IDs and the guidance.
    #[must_use]
    pub fn with_guidance(
        mut self,
        ask: &SearchConversations,
        expanded: BTreeMap<String, Vec<String>>,
    ) -> SearchFound {
        self.iterations_used = ask.iteration;
        self.top_chat_ids = self.results.iter().map(|chat| chat.chat_id.clone()).collect();
        if ask.include_guidance {
            let mut guidance = guidance_for(ask, &self);
            guidance.state.expanded_terms = expanded;
            self.guidance = Some(guidance);
        }
        self
    }
}

/// The confidence as a word.
pub fn confidence_word(confidence: f64) -> &'static str {
    if confidence >= SURE {
        "sure"
    } else if confidence >= LIKELY {
        "likely"
    } else {
        "perhaps"
    }
}

pub fn guidance_for(ask: &SearchConversations, found: &SearchFound) -> Guidance {
    let wider: Vec<NextAction> = WIDER.iter().filter_map(|step| step.action(ask)).collect();
    let mut next_actions = Vec::new();
    if found.results.is_empty() {
        next_actions.extend(session_id(ask).map(suggest_showing));
        next_actions.extend(wider.iter().cloned());
    } else if found.confidence >= SURE {
        next_actions.push(suggest_reading(found));
    } else if found.confidence >= LIKELY {
        next_actions.push(suggest_reading(found));
        next_actions.extend(suggest_narrower(ask, found).or_else(|| wider.first().cloned()));
    } else {
        next_actions.extend(suggest_narrower(ask, found));
        next_actions.extend(wider.iter().cloned());
        next_actions.truncate(SUGGESTED - 1);
        next_actions.push(suggest_reading(found));
    }
    next_actions.truncate(SUGGESTED);
    Guidance {
        stop_if: stop_if(found, wider.is_empty()),
        next_actions,
        state: State { excludes: ask.exclude_terms.clone(), iteration: ask.iteration, ..State::default() },
    }
}

// ---- when to stop

fn stop_if(found: &SearchFound, all_tried: bool) -> String {
    let Some(first) = found.results.first() else {
        return if all_tried {
            "now: nothing was found in any of the ways there are to search; ask in other words, or it was never said"
                .to_string()
        } else {
            "the suggested searches find nothing either: then it was not said in these words".to_string()
        };
    };
    let name = describe_session(first);
    match confidence_word(found.confidence) {
        "sure" => format!("{name} answers the question: it stands out from the rest"),
        "likely" => format!("{name} or one of the next is what was meant; read before searching again"),
        _ if all_tried => format!("{name} is not what was meant: every way to search has been tried"),
        _ => format!("a passage below says what was meant; {name} is only the best guess"),
    }
}

fn describe_session(chat: &ChatFound) -> String {
    format!("session {}", crate::terminal_text::short_id(&chat.chat_id))
}

// ---- what to do next

fn suggest_reading(found: &SearchFound) -> NextAction {
    let many = if found.confidence >= SURE { 1 } else { READ };
    let chat_ids: Vec<String> = found.results.iter().take(many).map(|chat| chat.chat_id.clone()).collect();
    let why = match (chat_ids.len(), confidence_word(found.confidence)) {
        (_, "perhaps") => "see whether the best guess is what was meant",
        (1, _) => "read it",
        _ => "read the conversations that may be meant, side by side",
    };
    let ask = GatherChats { chat_ids, ..GatherChats::default() };
    NextAction { tool: "gather_chats".to_string(), args: ask.non_default_params(), why: why.to_string() }
}

/// The search text, if it can only be the ID of a session or the begin of one.
fn session_id(ask: &SearchConversations) -> Option<&str> {
    let [text] = &ask.intent_query.0[..] else { return None };
    let text = text.trim();
    let is_id = text.len() >= 8
        && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
        && text.bytes().any(|byte| byte.is_ascii_digit());
    is_id.then_some(text)
}

fn suggest_showing(id: &str) -> NextAction {
    let ask = GatherChats { chat_ids: vec![id.to_string()], ..GatherChats::default() };
    let why = "this is the ID of a session rather than words".to_string();
    NextAction { tool: "gather_chats".to_string(), args: ask.non_default_params(), why }
}

/// Requires all words if a match on any of them found too many sessions. Only if the search was not widened before.
fn suggest_narrower(ask: &SearchConversations, found: &SearchFound) -> Option<NextAction> {
    let several_words = ask.intent_query.0.iter().any(|text| text.split_whitespace().nth(1).is_some());
    let too_many = found.results.len() >= ask.limit_chats as usize;
    let as_asked = ask.precision_mode == Precision::Basic && ask.expand == Expand::Off;
    if !too_many || !as_asked || !several_words || ask.matching == Match::All {
        return None;
    }
    let next = SearchConversations { matching: Match::All, ..next_attempt(ask) };
    Some(suggest_search(&next, "many partial matches; require all words"))
}

/// One way to widen a search: whether it is still untried, the change, and the reason.
struct Step {
    open: fn(&SearchConversations) -> bool,
    change: fn(&mut SearchConversations),
    why: &'static str,
}

impl Step {
    fn action(&self, ask: &SearchConversations) -> Option<NextAction> {
        (self.open)(ask).then(|| {
            let mut next = next_attempt(ask);
            (self.change)(&mut next);
            suggest_search(&next, self.why)
        })
    }
}

/// Most promising first: the same words elsewhere before other words.
const WIDER: &[Step] = &[
    Step {
        open: |ask| ask.project.is_some() || !ask.source.is_empty(),
        change: |ask| (ask.project, ask.source) = (None, Vec::new()),
        why: "drop the project or agent filter",
    },
    Step {
        open: |ask| ask.time_window != TimeWindow::default(),
        change: |ask| ask.time_window = TimeWindow::default(),
        why: "nothing in this period; drop --since",
    },
    Step {
        open: |ask| ask.precision_mode == Precision::Basic,
        change: |ask| ask.precision_mode = Precision::Fuzzy,
        why: "try fuzzy matching",
    },
    Step {
        open: |ask| ask.expand == Expand::Off,
        change: |ask| ask.expand = Expand::Auto,
        why: "include related words",
    },
    // Only after another way was tried: nothing after this suggests `all` again.
    Step {
        open: |ask| {
            ask.matching == Match::All && (ask.precision_mode, ask.expand) != (Precision::Basic, Expand::Off)
        },
        change: |ask| ask.matching = Match::Any,
        why: "some of the words may not have been said",
    },
    Step {
        open: |ask| ask.scope != Part::Both || !ask.role_filter.is_empty() || !ask.include_tools_in_search,
        change: |ask| {
            (ask.scope, ask.include_tools_in_search) = (Part::Both, true);
            ask.role_filter.clear();
        },
        why: "it may stand elsewhere in a conversation",
    },
    Step {
        open: |ask| !ask.exclude_terms.is_empty(),
        change: |ask| ask.exclude_terms.clear(),
        why: "the words that were excluded may stand beside it",
    },
];

fn next_attempt(ask: &SearchConversations) -> SearchConversations {
    SearchConversations { iteration: ask.iteration.saturating_add(1), ..ask.clone() }
}

fn suggest_search(next: &SearchConversations, why: &str) -> NextAction {
    NextAction {
        tool: "search_conversations".to_string(),
        args: next.non_default_params(),
        why: why.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::Intent;
    use std::collections::BTreeSet;

    fn sample_response(chats: usize, confidence: f64) -> SearchFound {
        let chat = |n: usize| ChatFound {
            chat_id: format!("chat-{n}"),
            title: format!("Title {n}"),
            ..ChatFound::default()
        };
        SearchFound { confidence, results: (0..chats).map(chat).collect(), ..SearchFound::default() }
    }

    fn sample_requests() -> Vec<SearchConversations> {
        let plain = SearchConversations {
            intent_query: Intent(vec!["lost socket".to_string()]),
            ..SearchConversations::default()
        };
        vec![
            plain.clone(),
            SearchConversations { intent_query: Intent(vec!["a".into(), "b".into()]), ..plain.clone() },
            SearchConversations { matching: Match::All, ..plain.clone() },
            SearchConversations {
                time_window: TimeWindow::Word("7d".into()),
                project: Some("/srv/demo".into()),
                source: vec!["codex".into()],
                scope: Part::Title,
                role_filter: vec!["user".into()],
                exclude_terms: vec!["test".into()],
                matching: Match::All,
                limit_chats: 3,
                ..plain.clone()
            },
            SearchConversations {
                time_window: TimeWindow::Span { start: Some(5), end: None },
                precision_mode: Precision::Fuzzy,
                expand: Expand::Auto,
                ..plain
            },
        ]
    }

    fn sample_responses() -> Vec<SearchFound> {
        vec![
            sample_response(0, 0.0),
            sample_response(1, 0.9),
            sample_response(2, 0.5),
            sample_response(1, 0.1),
            sample_response(10, 0.6),
            sample_response(10, 0.2),
        ]
    }

    /// Each suggestion can be run unchanged and differs from the request.
    #[test]
    fn every_suggestion_is_a_valid_new_call() {
        for ask in sample_requests() {
            for answer in sample_responses() {
                let guidance = guidance_for(&ask, &answer);
                assert!(!guidance.stop_if.is_empty());
                assert!(guidance.next_actions.len() <= SUGGESTED);
                assert!(answer.results.is_empty() || !guidance.next_actions.is_empty());
                for action in guidance.next_actions {
                    match action.tool.as_str() {
                        "search_conversations" => {
                            let next = SearchConversations::read(&action.args).unwrap();
                            assert_eq!(next.iteration, ask.iteration + 1);
                            assert_ne!(SearchConversations { iteration: ask.iteration, ..next }, ask);
                        }
                        "gather_chats" => {
                            let next = GatherChats::read(&action.args).unwrap();
                            assert!(
                                next.chat_ids
                                    .iter()
                                    .all(|id| answer.results.iter().any(|c| c.chat_id == *id))
                            );
                        }
                        other => panic!("unknown operation {other}"),
                    }
                }
            }
        }
    }

    /// For every response and every suggestion followed, no search is suggested twice on a path.
    #[test]
    fn following_the_suggestions_terminates() {
        fn follow_suggestions(
            ask: &SearchConversations,
            path: &mut Vec<String>,
            done: &mut BTreeSet<String>,
        ) {
            let state = format!("{:?}", SearchConversations { iteration: 1, ..ask.clone() });
            assert!(!path.contains(&state), "suggested twice: {state}");
            if !done.insert(state.clone()) {
                return;
            }
            path.push(state);
            for answer in sample_responses() {
                for action in guidance_for(ask, &answer).next_actions {
                    if action.tool == "search_conversations" {
                        follow_suggestions(&SearchConversations::read(&action.args).unwrap(), path, done);
                    }
                }
            }
            path.pop();
        }
        for ask in sample_requests() {
            follow_suggestions(&ask, &mut Vec::new(), &mut BTreeSet::new());
        }
    }

    #[test]
    fn suggestions_depend_on_the_response() {
        let tools = |ask: &SearchConversations, answer: &SearchFound| {
            guidance_for(ask, answer).next_actions.into_iter().map(|a| a.tool).collect::<Vec<_>>()
        };
        let ask = &sample_requests()[0];
        assert_eq!(tools(ask, &sample_response(1, 0.9)), ["gather_chats"]);
        assert_eq!(tools(ask, &sample_response(0, 0.0)), ["search_conversations", "search_conversations"]);
        assert_eq!(guidance_for(ask, &sample_response(10, 0.2)).next_actions[0].args["match"], "all");
        let narrow = SearchConversations { project: Some("/srv/demo".into()), ..ask.clone() };
        assert!(
            guidance_for(&narrow, &sample_response(0, 0.0)).next_actions[0].args.get("project").is_none()
        );
        let widest =
            SearchConversations { time_window: TimeWindow::default(), ..sample_requests()[4].clone() };
        assert!(tools(&widest, &sample_response(0, 0.0)).is_empty());
        assert!(guidance_for(&widest, &sample_response(0, 0.0)).stop_if.starts_with("now"));
    }
}
