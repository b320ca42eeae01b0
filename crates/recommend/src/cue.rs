//! Detects whether a prompt refers back to an earlier session, and to which time. A word like "before" is not enough: the
//! sentence must also name someone who did something then, or a result of it. "The previous line", "the last test" and
//! "the step before the loop" are not references to sessions.
//!
//! Does not know any session.

use crate::reference::{ANY, Cue, Reference, Time};
use crate::{chinese, english, words};

/// Longer prompts, in bytes, contain pasted text, which would be mistaken for references.
const MAX_PROMPT: usize = 2000;
/// If the sentence has fewer content words, the subject is taken from the whole prompt.
const MIN_CONTENT_WORDS: usize = 2;

/// None: the prompt does not refer back. `today` is month and day, needed for "in March".
pub fn find_reference(prompt: &str, today: (i64, i64)) -> Option<Reference> {
    if prompt.len() > MAX_PROMPT {
        return None;
    }
    let (sentence, cue) =
        split_sentences(prompt).find_map(|sentence| Some((sentence, cue_of(sentence, today)?)))?;
    let mut subject = subject_of(sentence);
    if search::content_words(&subject) < MIN_CONTENT_WORDS {
        subject = self::subject_of(prompt);
    }
    let time = cue.time.filter(|time| time.days.1 < ANY);
    (search::content_words(&subject) > 0).then_some(Reference { subject, time, cued: true, plain: cue.plain })
}

/// The reference of a prompt without a cue that [`crate::signs`] hold possible: all that it names.
pub fn suppose_reference(prompt: &str) -> Option<Reference> {
    let subject = subject_of(prompt);
    let (time, cued, plain) = (None, false, false);
    (prompt.len() <= MAX_PROMPT && search::content_words(&subject) > 0).then_some(Reference {
        subject,
        time,
        cued,
        plain,
    })
}

fn cue_of(sentence: &str, today: (i64, i64)) -> Option<Cue> {
    let lower = sentence.to_lowercase().replace('’', "'");
    let other = || {
        let (word, from, to) = words::OTHERS.iter().find(|(word, ..)| lower.contains(word))?;
        Some(Cue { time: Some(Time::new(word, (*from, *to))), plain: true })
    };
    chinese::find_cue(&lower, today).or_else(|| english::find_cue(&lower, today)).or_else(other)
}

/// Splits into sentences; a dot inside a name does not end one.
fn split_sentences(prompt: &str) -> impl Iterator<Item = &str> {
    prompt
        .split_inclusive(['\n', '?', '!', '。', '？', '！', ';', '；'])
        .flat_map(|line| line.split(". "))
        .filter(|sentence| !sentence.trim().is_empty())
}

/// The words to search for.
fn subject_of(text: &str) -> String {
    let text = text.replace('’', "'");
    let text = words::OTHERS.iter().fold(text, |text, (word, ..)| remove_word(&text, word));
    english::subject_words(&chinese::remove_referring_words(&text))
}

/// Replaces each occurrence of a word by a space, ignoring case.
fn remove_word(text: &str, word: &str) -> String {
    let lower = text.to_lowercase();
    // If a letter changes its length in lower case, byte offsets no longer match.
    if lower.len() != text.len() || !lower.contains(word) {
        return text.to_string();
    }
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (at, _) in lower.match_indices(word) {
        out.push_str(&text[done..at]);
        out.push(' ');
        done = at + word.len();
    }
    out + &text[done..]
}

#[cfg(test)]
mod tests {
    use super::*;

    const TODAY: (i64, i64) = (11, 15);

    #[test]
    fn prompts_that_refer_back() {
        for (prompt, plain) in [
            ("What did we decide about the socket last time?", true),
            ("as we discussed, cap the retries of the vendor client", true),
            ("pull up the plan from last week for the ledger migration", true),
            ("the pool size we changed yesterday, why 30?", true),
            ("pick up where we left off with the parquet drift", true),
            ("what was the reason we dropped dual writes three weeks ago", true),
            ("the codemod we wrote for the button props", false),
            ("上次那个虚拟列表的方案", true),
            ("帮我看下上次那个数据库备份的方案", true),
            ("我们之前讨论的限流怎么做的", true),
            ("上周修的那个时区 bug 是什么原因", true),
            ("之前写的迁移脚本放哪了", false),
            ("那个证书续期的方案再发我看看", false),
            ("Wie besprochen: bau den Parser ein", true),
            ("前回のキャッシュの件", true),
        ] {
            let read = find_reference(prompt, TODAY);
            assert_eq!(read.map(|reference| reference.plain), Some(plain), "{prompt}");
        }
    }

    #[test]
    fn prompts_that_only_look_like_references() {
        for prompt in [
            "Fix the parser",
            "write a test for the last line",
            "the previous line is wrong",
            "add a check before the loop",
            "run the last test again",
            "as before the function must return early",
            "restore the previous version of the file",
            "revert the last commit",
            "the last time the job ran it took an hour",
            "show me yesterday's logs",
            "the last time the session store ran there was log noise",
            "filter for orders created last month",
            "expire the previous session when a user logs in again",
            "remember the scroll position",
            "before we start, read the README",
            "I deployed it yesterday and it crashed",
            "把这个函数改成异步",
            "之前的循环改成迭代器",
            "循环之前先判空",
            "上一步的输出传给下一步",
            "撤销上次提交",
            "上次运行的结果保存到文件",
            "提交之前跑一遍测试",
            "昨天的日志按小时统计",
            "上个月的订单导出成 csv",
        ] {
            assert_eq!(find_reference(prompt, TODAY), None, "{prompt}");
        }
    }

    #[test]
    fn the_subject_excludes_referring_words() {
        for (prompt, subject) in [
            (
                "What did we decide about the `proxy-body-size` last week?",
                "what did we about the proxy-body-size",
            ),
            ("上次那个 websocket 重连的方案", "websocket 重连"),
            (
                "Fine. As we discussed last time. Now mend useLiveSocket.ts and the banner",
                "fine as we now mend useLiveSocket.ts and the banner",
            ),
        ] {
            let read = find_reference(prompt, TODAY).unwrap().subject;
            let words: Vec<&str> = read.split_whitespace().collect();
            assert_eq!(words.join(" ").to_lowercase(), subject.to_lowercase(), "{prompt}");
        }
    }

    #[test]
    fn named_times_narrow_the_search() {
        for (prompt, time) in [
            ("the decision from last week about retries", Some(("last week", 1.0, 15.0))),
            ("what did we say about retry semantics last week", Some(("last week", 1.0, 15.0))),
            ("as we discussed last week, cap the retries", Some(("last week", 1.0, 15.0))),
            ("what we decided three weeks ago about retries", Some(("three weeks ago", 16.0, 26.0))),
            ("the plan we made in September for retries", Some(("in september", 41.0, 80.0))),
            ("上周聊的重试", Some(("上周", 1.0, 15.0))),
            ("9月份聊的重试", Some(("9月", 41.0, 80.0))),
            ("上次聊的重试", None),
            ("as we discussed, cap the retries of the vendor client", None),
            ("what did we decide about retries last time", None),
        ] {
            let read = find_reference(prompt, TODAY).unwrap().time;
            assert_eq!(read, time.map(|(words, from, to)| Time::new(words, (from, to))), "{prompt}");
        }
    }
}
