//! What of a prompt somebody else wrote though nothing marks it as a quotation: a mail, a chat, a log, a document, code.
//! A decision that stands there is theirs, or was taken elsewhere, and is not kept as the person's own.
//!
//! Knows shapes, not styles: a single sentence that was copied looks like one that was typed.

use crate::prose::sentences;
use crate::words::{
    CODE_MARKS, FOREIGN_FROM, FOREIGN_KINDS, HAN_OPENERS, HEADERS, OPENERS, OWN_LABELS, SHOWN,
};

/// Nobody types so much into a prompt; of what is longer only the first and the last paragraph count as the person's.
const MOST_LINES: usize = 40;
const MOST_LETTERS: usize = 4_000;
/// Within so many lines two headers of a mail make one.
const HEAD: usize = 4;

/// The lines of a prompt without those that were pasted.
pub(crate) fn own(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut is_own: Vec<bool> = vec![true; lines.len()];
    if let Some(from) = foreign_from(&lines) {
        is_own[from..last_paragraph(&lines, from)].fill(false);
    }
    if is_long(&lines) {
        is_own[first_paragraph(&lines)..last_paragraph_at(&lines)].fill(false);
    }
    let (talk, diff) = (speakers(&lines), lines.iter().any(|line| is_diff_head(line)));
    for (at, line) in lines.iter().enumerate() {
        let speaks = speaker(line).is_some_and(|name| talk.contains(&name));
        let changed = diff && line.starts_with(['+', '-']);
        is_own[at] &= !speaks && !changed && !is_stamped(line) && !is_data(line) && !is_remark(&lines, at);
    }
    let kept = lines.iter().zip(is_own).map(|(line, own)| if own { *line } else { "" });
    kept.collect::<Vec<_>>().join("\n")
}

// ---- what goes on to the end

/// Where somebody else's words begin: with a mail, a log of commits or a page, or behind a line that says so.
fn foreign_from(lines: &[&str]) -> Option<usize> {
    let begins =
        |at: &usize| is_mail(&lines[*at..]) || is_commit(lines[*at].trim()) || is_foreign(lines[*at]);
    let behind = |at: &usize| *at > 0 && introduces(lines[*at - 1]);
    (0..lines.len()).find(|at| begins(at) || behind(at))
}

fn is_mail(lines: &[&str]) -> bool {
    let header = |line: &str| HEADERS.iter().any(|head| line.trim().to_lowercase().starts_with(head));
    header(lines[0]) && lines.iter().take(HEAD).filter(|line| header(line)).count() > 1
}

fn is_foreign(line: &str) -> bool {
    let low = line.to_lowercase();
    FOREIGN_FROM.iter().any(|sign| low.contains(sign))
}

/// "Here are the notes:", "Log:", "会议记录如下：".
fn introduces(line: &str) -> bool {
    let low = line.trim().to_lowercase();
    let last = sentences(&low).last().copied().unwrap_or_default();
    let has = |words: &[&str]| words.iter().any(|word| stands(last, word));
    let short = last.split_whitespace().count() <= 3 && last.chars().count() <= 24;
    last.ends_with([':', '：']) && has(FOREIGN_KINDS) && (short || has(SHOWN))
}

/// Whether a word stands in a sentence, by itself where its language has blanks.
fn stands(text: &str, word: &str) -> bool {
    let apart = |c: Option<char>| c.is_none_or(|c| !c.is_ascii_alphanumeric());
    text.match_indices(word).any(|(at, _)| {
        !word.is_ascii()
            || apart(text[..at].chars().next_back()) && apart(text[at + word.len()..].chars().next())
    })
}

/// `commit 0123…`, as git prints it.
fn is_commit(line: &str) -> bool {
    let hash = line.strip_prefix("commit ").unwrap_or("").split_whitespace().next().unwrap_or("");
    hash.len() >= 7 && hash.chars().all(|c| c.is_ascii_hexdigit())
}

/// Up to where it goes on: the last paragraph is the person's again if it speaks to the agent.
fn last_paragraph(lines: &[&str], from: usize) -> usize {
    let at = last_paragraph_at(lines);
    if at > from && lines.get(at).is_some_and(|line| addresses(line)) { at } else { lines.len() }
}

/// "Please …", "can you …", "请…": said to whoever is to do something.
fn addresses(line: &str) -> bool {
    let low = line.trim().to_lowercase();
    OPENERS.iter().filter(|opener| opener.ends_with(' ')).any(|opener| low.starts_with(opener))
        || HAN_OPENERS.iter().any(|opener| low.starts_with(opener))
}

// ---- a document

fn is_long(lines: &[&str]) -> bool {
    let letters: usize = lines.iter().map(|line| line.chars().count()).sum();
    lines.iter().filter(|line| !line.trim().is_empty()).count() > MOST_LINES || letters > MOST_LETTERS
}

/// Where the first paragraph ends.
fn first_paragraph(lines: &[&str]) -> usize {
    let begin = lines.iter().position(|line| !line.trim().is_empty()).unwrap_or(0);
    lines[begin..].iter().position(|line| line.trim().is_empty()).map_or(lines.len(), |end| begin + end)
}

/// Where the last one begins; behind the first, and at the very end where there is but one.
fn last_paragraph_at(lines: &[&str]) -> usize {
    let end = lines.iter().rposition(|line| !line.trim().is_empty()).map_or(0, |at| at + 1);
    lines[..end].iter().rposition(|line| line.trim().is_empty()).map_or(lines.len(), |at| at + 1)
}

// ---- a chat

/// Names that stand before a colon again and again, in turn with others. `Backend: …`, `Frontend: …` each once are a list.
fn speakers<'t>(lines: &[&'t str]) -> Vec<&'t str> {
    let all: Vec<&str> = lines.iter().filter_map(|line| speaker(line)).collect();
    let talks = all.iter().any(|name| all.iter().filter(|other| *other == name).count() > 1)
        && all.iter().any(|name| *name != all[0]);
    if talks { all } else { Vec::new() }
}

fn speaker(line: &str) -> Option<&str> {
    let (name, said) = line.trim().split_once([':', '：'])?;
    let is_name = name.chars().all(|c| c.is_alphabetic() || " .@_-".contains(c))
        && !OWN_LABELS.contains(&name.to_lowercase().as_str());
    let fits = (1..=24).contains(&name.chars().count()) && name.split_whitespace().count() <= 2;
    (is_name && fits && !said.trim().is_empty() && !said.starts_with("//")).then_some(name)
}

// ---- lines

/// `10:22 Anna`, `[10:22] …`, `Nov 15 10:00:01 host`, `15/11/2026 …`, `a1b2c3d Fix it`: what clocks and programs put
/// before a line.
fn is_stamped(line: &str) -> bool {
    let bare = line.trim().trim_start_matches(['[', '(', '-', '*', ' ']);
    let shape: String = bare.chars().take(10).map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    let clock = shape.starts_with("00:00") || shape.starts_with("0:00 ");
    let date = ["00/00/0000", "0000/00/00", "00.00.0000"].iter().any(|form| shape.starts_with(form));
    clock || date || is_syslog(bare) || is_hashed(bare)
}

fn is_syslog(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let month = words.next().is_some_and(|word| word.len() == 3 && word.is_ascii());
    let day = words.next().is_some_and(|word| word.len() <= 2 && word.chars().all(|c| c.is_ascii_digit()));
    month && day && words.next().is_some_and(|time| time.matches(':').count() == 2)
}

/// As `git log --oneline` prints it: a word of seven hexadecimal digits or more, with a number in it.
fn is_hashed(line: &str) -> bool {
    let word = line.split_whitespace().next().unwrap_or("");
    (7..=40).contains(&word.len())
        && word.chars().all(|c| c.is_ascii_digit() || ('a'..='f').contains(&c))
        && word.contains(|c: char| c.is_ascii_digit())
}

/// A field of JSON, an element, a field of a log.
fn is_data(line: &str) -> bool {
    let line = line.trim();
    let field = line.starts_with('"') && (line.contains("\": ") || line.contains("\":"));
    let element = line.starts_with('<') && line.ends_with('>') && line.contains("</");
    let logged = ["[info", "[warn", "[error", "[debug", "[trace", "level=", "time=", "ts=", "msg="];
    let low = line.to_lowercase();
    field || element || logged.iter().any(|begin| low.starts_with(begin))
}

/// A remark in code: a line that begins like one, beside a line of code.
fn is_remark(lines: &[&str], at: usize) -> bool {
    let remark =
        |line: &str| ["#", "*", "--", "//", ";", "\"\"\""].iter().any(|sign| line.trim().starts_with(sign));
    let beside = [at.checked_sub(1), Some(at + 1)].into_iter().flatten().filter_map(|at| lines.get(at));
    remark(lines[at]) && beside.into_iter().any(|line| is_code(line))
}

fn is_code(line: &str) -> bool {
    let line = line.trim_end();
    let inner = line.trim_start();
    let ends = line.ends_with([';', '{', '}']) || (line.ends_with("):") || line.ends_with(") ->"));
    ends || CODE_MARKS.iter().any(|mark| inner.starts_with(mark))
}

fn is_diff_head(line: &str) -> bool {
    line.starts_with("@@ ") || line.starts_with("diff --git ")
}

#[cfg(test)]
mod tests {
    use crate::digest::{Digest, Said};
    use crate::facts::facts;
    use record::{Role, Stamp};

    fn kept(text: &str) -> Vec<String> {
        let said = Said { id: "m".into(), role: Role::User, at: Stamp::NONE, text: text.into() };
        facts(&Digest { prompts: vec![said], ..Digest::default() })
            .into_iter()
            .map(|noted| noted.text)
            .collect()
    }

    #[test]
    fn what_others_wrote_is_not_the_persons_decision() {
        for text in [
            "From: Anna <a@x.example>\nTo: all\nSubject: Stores\n\nHi all,\n\nwe decided to use Oracle.\n\nBest,\nAnna",
            "发件人：小王\n主题：数据库\n\n我们决定用 Oracle 存订单。\n\n祝好\n小王",
            "what do you think of it?\nOn Mon, Nov 2, 2026, Anna wrote:\nWe decided to use Oracle.",
            "---------- Forwarded message ---------\nWe decided to use Oracle.",
            "Here are the meeting notes:\n\nWe decided to use Oracle.\nAlways use stored procedures.",
            "以下是会议记录：\n我们决定用 Oracle。\n以后都用存储过程。",
            "日志如下：\n统一用 oracle 驱动",
            "Anna: shall we?\nBob: we decided to use Oracle\nAnna: fine",
            "小王：怎么办\n小李：我们决定用 Oracle\n小王：好",
            "10:22 Anna\n10:23 we decided to use Oracle",
            "[10:22] bob: from now on use Oracle",
            "Nov 15 10:00:01 host app[3]: we never retry on this path",
            "15/11/2026 we decided to use Oracle",
            "level=info msg=\"we always use the cache\" n=3",
            "[INFO] we always use the cache",
            "a1b2c3d We decided to use Oracle\nb2c3d4e Always use stored procedures",
            "commit 0123456789abcdef0123456789abcdef01234567\nAuthor: Anna\n\n    We decided to use Oracle.",
            "diff --git a/x b/x\n@@ -1 +1 @@\n-Always use tabs\n+Always use blanks",
            "def f(x):\n# always use the lock here\n    return x",
            "int f() {\n * We decided to keep this for compatibility.\n}",
            "{\n\"note\": \"Always use tabs\",\n\"n\": 1\n}",
            "<ul>\n<li>We decided to use Oracle</li>\n</ul>",
            "Anna said \"we decided to use Oracle\" and left",
            "他说「我们决定用 Oracle」，你怎么看",
            "The README says we always use Oracle.",
            "文档说我们决定用 Oracle",
            "anna commented 3 days ago\nWe decided to use Oracle.",
        ] {
            assert_eq!(kept(text), [""; 0], "{text}");
        }
        let document =
            format!("Read this.\n\n{}\n\nThanks", "Always use Oracle.\nWe never retry.\n".repeat(30));
        assert_eq!(kept(&document), [""; 0], "a document");
    }

    #[test]
    fn what_the_person_wants_stays_a_fact() {
        for (text, facts) in [
            ("We decided to use Postgres.", &["We decided to use Postgres"][..]),
            ("我们决定用 Postgres。以后都用中文回复", &["我们决定用 Postgres", "以后都用中文回复"]),
            (
                "## Rules\n- Always use tabs\n- Never use spaces in Makefiles\n\n## Task\nFix it",
                &["Always use tabs", "Never use spaces in Makefiles"],
            ),
            (
                "Backend: we always use Rust\nFrontend: we always use TypeScript\nStore: never use Oracle",
                &["Backend: we always use Rust", "Frontend: we always use TypeScript"],
            ),
            (
                "Here is the log:\n[INFO] we always use the cache\n\nPlease fix it. From now on, write tests first.",
                &["From now on, write tests first"],
            ),
            (
                "会议记录如下：\n我们决定用 Oracle\n\n请修一下。以后都用中文写提交说明",
                &["以后都用中文写提交说明"],
            ),
            (
                "From now on, write tests first. See the mail:\nFrom: a@x.example\nSubject: x\n\nAlways use Oracle",
                &["From now on, write tests first"],
            ),
            ("Rules for the logs:\n- Always use JSON in them", &["Always use JSON in them"]),
            ("规则如下：\n以后都用中文回复", &["以后都用中文回复"]),
            ("Note: always use UTC in the database", &["Note: always use UTC in the database"]),
            (
                "Rule: always use tabs\nRule: never use blanks\nNote: we decided to keep both",
                &["Note: we decided to keep both"],
            ),
            ("约定：接口统一用 snake_case", &["约定：接口统一用 snake_case"]),
            ("From now on, answer in English", &["From now on, answer in English"]),
            (
                "I decided: \"orders\" is the table's name, never \"order\"",
                &["I decided: \"orders\" is the table's name, never \"order\""],
            ),
            ("It fails:\n    at f (a.js:1)\nDon't use f any more", &["Don't use f any more"]),
        ] {
            assert_eq!(kept(text), facts, "{text}");
        }
        let long = format!(
            "Always use tabs in Makefiles.\n\n{}\n\nFrom now on, write tests first.",
            "A line.\n".repeat(50)
        );
        assert_eq!(kept(&long), ["Always use tabs in Makefiles", "From now on, write tests first"]);
    }
}
