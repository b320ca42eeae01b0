//! Recognises the parts of a prompt that someone else wrote although nothing marks them as a quotation: an email, a
//! chat, a log, a document, code. A decision stated there is not the user's and is not kept as one.
//!
//! Knows shapes, not styles: a single pasted sentence looks like a typed one.

use crate::decision::is_decision;
use crate::phrases::{
    AMBIGUOUS_CODE_MARKS, ATTRIBUTION_ENDINGS, BARE_KINDS, CHAT_REPLIES, CODE_MARKS, CONVERSATION_KINDS,
    FAMILY_NAMES, FIRST_PERSON, FOREIGN_KINDS, FORWARDING_LINES, GREETINGS, HAN_OPENERS, INTRODUCING_WORDS,
    MAIL_HEADERS, OPENERS, OWN_BEGINNINGS, OWN_LABELS, SPEAKERS,
};
use crate::prose::{is_fence, split_sentences};

/// No one types more than this into a prompt; of a longer one only the first and the last paragraph count as the
/// user's.
const MAX_LINES: usize = 40;
const MAX_CHARS: usize = 4_000;
/// Two mail headers within this many lines make a mail.
const MAIL_HEADER_LINES: usize = 4;

/// The prompt with pasted lines emptied.
pub(crate) fn own_lines(text: &str) -> String {
    let (lines, fences) = blank_fenced_lines(text);
    let mut is_own: Vec<bool> = vec![true; lines.len()];
    for part in foreign_sections(&lines, &fences) {
        is_own[part].fill(false);
    }
    if is_long(&lines) {
        is_own[first_paragraph_end(&lines)..last_paragraph_start(&lines)].fill(false);
    }
    let (talk, diff) = (find_speakers(&lines), lines.iter().any(|line| is_diff_head(line)));
    for (at, line) in lines.iter().enumerate() {
        let speaks = split_speaker(line).is_some_and(|(name, _)| talk.contains(&name));
        let changed = diff && line.starts_with(['+', '-']);
        is_own[at] &=
            !speaks && !changed && !is_stamped(line) && !is_data(line) && !is_code_comment(&lines, at);
    }
    let kept = lines.iter().zip(is_own).map(|(line, own)| if own { *line } else { "" });
    kept.collect::<Vec<_>>().join("\n")
}

/// The lines, with those of fenced blocks empty, and whether each is inside a block: fenced text is neither a mail nor
/// a chat.
fn blank_fenced_lines(text: &str) -> (Vec<&str>, Vec<bool>) {
    let mut inside = false;
    let of_line = |line| {
        let fence = is_fence(line);
        inside ^= fence;
        if fence || inside { ("", true) } else { (line, false) }
    };
    text.lines().map(of_line).unzip()
}

// ---- sections that run to the end

/// Ranges of text by other people: a mail, a commit log or a page runs to the end; text announced by a line such as
/// "here is the output:" runs to the end of the next block and no further.
fn foreign_sections(lines: &[&str], fences: &[bool]) -> Vec<std::ops::Range<usize>> {
    let (mut parts, mut from) = (Vec::new(), 0);
    while let Some(at) =
        (from..lines.len()).find(|at| begins_foreign_section(&lines[*at..]) || is_introduced(lines, *at))
    {
        let end = if begins_foreign_section(&lines[at..]) {
            foreign_section_end(lines, at, is_request)
        } else {
            let block = fences[at..].iter().position(|fenced| *fenced).map(|many| at + many);
            let resumes = if is_conversation(lines[at - 1]) { is_request } else { is_own_text };
            block.unwrap_or_else(|| foreign_section_end(lines, at, resumes))
        };
        parts.push(at..end);
        from = end.max(at + 1);
    }
    parts
}

fn begins_foreign_section(lines: &[&str]) -> bool {
    is_mail(lines) || is_commit(lines[0].trim()) || is_foreign(lines[0])
}

fn is_introduced(lines: &[&str], at: usize) -> bool {
    let next = lines[at..].iter().find(|line| !line.trim().is_empty());
    at > 0 && introduces_foreign_text(lines[at - 1], next.is_some_and(|line| is_item(line)))
}

/// Two headers; `From: MySQL`, `To: Postgres` alone count only with an address or a greeting.
fn is_mail(lines: &[&str]) -> bool {
    let low = |line: &&str| line.trim().to_lowercase();
    let header = |line: &String| MAIL_HEADERS.iter().any(|head| line.starts_with(head));
    let heads: Vec<String> = lines.iter().take(MAIL_HEADER_LINES).map(low).filter(header).collect();
    let ways = ["from:", "to:", "von:", "an:"];
    let is_clear =
        heads.iter().any(|head| head.contains('@') || !ways.iter().any(|way| head.starts_with(way)));
    header(&low(&lines[0])) && heads.len() > 1 && (is_clear || lines.iter().any(|line| is_greeting(line)))
}

/// "Hi Bob,", "Best regards", "祝好".
fn is_greeting(line: &str) -> bool {
    let low = line.trim().trim_end_matches([',', '，', '!', '！', ':', '：', '.']).to_lowercase();
    let few = low.split_whitespace().count() <= 3;
    few && GREETINGS.iter().any(|word| {
        low.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', ',']))
    })
}

fn is_foreign(line: &str) -> bool {
    let low = line.trim().to_lowercase();
    is_passed_on(&low) || is_attributed(&low) || is_commented(&low)
}

/// On a line of its own: "keep the original message" is a request.
fn is_passed_on(low: &str) -> bool {
    let bare = low.trim_matches(|c: char| "-_=*> :：".contains(c));
    let marked = low.starts_with(['-', '_', '=', '*']) || low.ends_with([':', '：']);
    FORWARDING_LINES.iter().any(|sign| bare == *sign || marked && bare.starts_with(sign))
}

/// "On Mon, Nov 2, 2026, Anna wrote:", not "as I wrote:".
fn is_attributed(low: &str) -> bool {
    ATTRIBUTION_ENDINGS.iter().filter_map(|sign| low.strip_suffix(sign)).any(|before| {
        let who = before.split_whitespace().next_back().unwrap_or("");
        !who.is_empty() && !FIRST_PERSON.contains(&who)
    })
}

/// "anna commented 3 days ago", "bob opened this issue on Nov 3": as a web page shows it, not "I commented 3 tests
/// out".
fn is_commented(low: &str) -> bool {
    let dated = |rest: &str| rest.contains(" ago") || rest.contains("yesterday") || is_on_a_day(rest);
    let commented = low.split_once(" commented ").is_some_and(|(_, rest)| dated(rest));
    let opened = low.contains(" opened this issue");
    let oneself = low.split_whitespace().next().is_some_and(|who| FIRST_PERSON.contains(&who));
    (commented || opened) && !oneself && low.split_whitespace().count() <= 9
}

fn is_on_a_day(rest: &str) -> bool {
    rest.strip_prefix("on ").is_some_and(|day| day.contains(|c: char| c.is_ascii_digit()))
}

/// "Here are the notes:", "Log:", "会议记录如下：". A heading alone before a list is the user's own.
fn introduces_foreign_text(line: &str, list: bool) -> bool {
    let low = line.trim().to_lowercase();
    let last = split_sentences(&low).last().copied().unwrap_or_default();
    let has = |words: &[&str]| words.iter().any(|word| contains_word(last, word));
    let short = last.split_whitespace().count() <= 3 && last.chars().count() <= 24;
    let bare = short && !list && has(BARE_KINDS);
    last.ends_with([':', '：']) && (bare || has(FOREIGN_KINDS) && has(INTRODUCING_WORDS))
}

fn is_conversation(line: &str) -> bool {
    let low = line.to_lowercase();
    CONVERSATION_KINDS.iter().any(|word| contains_word(&low, word))
}

/// `- …`, `* …`, `1. …`.
fn is_item(line: &str) -> bool {
    let line = line.trim_start();
    let behind = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = behind.len() < line.len() && behind.starts_with(['.', ')', '、']);
    numbered || ["- ", "* ", "+ ", "• "].iter().any(|mark| line.starts_with(mark))
}

/// Whether a word occurs in a sentence, as a whole word if its language has spaces.
fn contains_word(text: &str, word: &str) -> bool {
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

/// The end of the section that begins at `from`: the last paragraph belongs to the user if `sounds_own` accepts it and
/// other text precedes it.
fn foreign_section_end(lines: &[&str], from: usize, sounds_own: fn(&str) -> bool) -> usize {
    let at = last_paragraph_start(lines);
    let behind = lines.get(from..at).is_some_and(|part| part.iter().any(|line| !line.trim().is_empty()));
    if behind && lines.get(at).is_some_and(|line| sounds_own(line)) { at } else { lines.len() }
}

/// "Please …", "can you …", "请…": a request to the reader.
fn is_request(line: &str) -> bool {
    let low = line.trim().to_lowercase();
    OPENERS.iter().filter(|opener| opener.ends_with(' ')).any(|opener| low.starts_with(opener))
        || HAN_OPENERS.iter().any(|opener| low.starts_with(opener))
}

/// The same, or "from now on …", "我们决定…", which no log contains.
fn is_own_text(line: &str) -> bool {
    let low = line.trim().to_lowercase();
    is_request(line) || OWN_BEGINNINGS.iter().any(|opener| low.starts_with(opener))
}

// ---- a document

fn is_long(lines: &[&str]) -> bool {
    let letters: usize = lines.iter().map(|line| line.chars().count()).sum();
    lines.iter().filter(|line| !line.trim().is_empty()).count() > MAX_LINES || letters > MAX_CHARS
}

/// Where the first paragraph ends.
fn first_paragraph_end(lines: &[&str]) -> usize {
    let begin = lines.iter().position(|line| !line.trim().is_empty()).unwrap_or(0);
    lines[begin..].iter().position(|line| line.trim().is_empty()).map_or(lines.len(), |end| begin + end)
}

/// The start of the last paragraph; the end of the text if there is only one paragraph.
fn last_paragraph_start(lines: &[&str]) -> usize {
    let end = lines.iter().rposition(|line| !line.trim().is_empty()).map_or(0, |at| at + 1);
    lines[..end].iter().rposition(|line| line.trim().is_empty()).map_or(lines.len(), |at| at + 1)
}

// ---- a chat

/// Names before a colon that repeat and alternate, if they are people's: `Search: …`, `Mail: …`, `Search: …` are the
/// user's own headings.
fn find_speakers<'t>(lines: &[&'t str]) -> Vec<&'t str> {
    let all: Vec<(&str, &str)> = lines.iter().filter_map(|line| split_speaker(line)).collect();
    let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
    let again = names.iter().any(|name| names.iter().filter(|other| *other == name).count() > 1);
    let others = names.iter().any(|name| *name != names[0]);
    if again && others && are_people(&all, &names) { names } else { Vec::new() }
}

/// They have people's names, ask and answer, address each other, or take three turns without a decision.
fn are_people(all: &[(&str, &str)], names: &[&str]) -> bool {
    let idle = all.iter().filter(|(_, text)| !is_decision(text)).count();
    let named =
        |(who, text): &(&str, &str)| names.iter().any(|name| name != who && contains_word(text, name));
    let called = |name: &&str| {
        let family = name.starts_with(FAMILY_NAMES) || name.ends_with(['总', '哥', '姐']);
        SPEAKERS.contains(&name.to_lowercase().as_str()) || family && (2..=3).contains(&name.chars().count())
    };
    idle >= 3 || names.iter().any(called) || all.iter().any(|one| named(one) || is_turn(one.1))
}

/// A question, an answer to one, or a statement about oneself: "I looked at it", not "I want 50 rows".
fn is_turn(text: &str) -> bool {
    let low = text.trim().to_lowercase();
    let mut words = low.split(|c: char| c.is_whitespace() || ",.!，。！".contains(c));
    let (first, second) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    let is_about_self =
        ["i", "i'll", "i'm", "i've"].contains(&first) && !["want", "need", "prefer"].contains(&second);
    let is_about_self_in_han = low.starts_with(['我', '你', '那']) && !is_decision(text);
    low.ends_with(['?', '？', '吗', '呢'])
        || CHAT_REPLIES.contains(&first)
        || is_about_self && !is_decision(text)
        || is_about_self_in_han
}

fn split_speaker(line: &str) -> Option<(&str, &str)> {
    let (name, text) = line.trim().split_once([':', '：'])?;
    let is_name = name.chars().all(|c| c.is_alphabetic() || " .@_-".contains(c))
        && !OWN_LABELS.contains(&name.to_lowercase().as_str());
    let fits = (1..=24).contains(&name.chars().count()) && name.split_whitespace().count() <= 2;
    (is_name && fits && !text.trim().is_empty() && !text.starts_with("//")).then_some((name, text))
}

// ---- lines

/// `10:22 Anna`, `[10:22] …`, `Nov 15 10:00:01 host`, `15/11/2026 …`, `a1b2c3d Fix it`: timestamps and hashes that
/// programs put before a line.
fn is_stamped(line: &str) -> bool {
    let bare = line.trim().trim_start_matches(['[', '(', '-', '*', ' ']);
    let shape: String = bare.chars().take(10).map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    let clock = shape.starts_with("00:00") || shape.starts_with("0:00 ");
    let date = ["00/00/0000", "0000/00/00", "00.00.0000"].iter().any(|form| shape.starts_with(form));
    clock || date || is_syslog(bare) || is_hashed(bare) || is_chat_line(bare)
}

/// `Anna 10:22 …`, `运维-阿坤 03:20 …`, `【值班群】`: as chat programs copy a conversation.
fn is_chat_line(line: &str) -> bool {
    let heading = line.starts_with('【') && line.trim_end().ends_with('】');
    let Some((name, rest)) = line.split_once(' ') else { return heading };
    let time: String =
        rest.trim_start().chars().take(5).map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    let named = name.chars().count() <= 12 && name.chars().all(|c| c.is_alphabetic() || "-_·@".contains(c));
    heading || named && (time.starts_with("00:00") || time.starts_with("0:00"))
}

fn is_syslog(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let month = words.next().is_some_and(|word| word.len() == 3 && word.is_ascii());
    let day = words.next().is_some_and(|word| word.len() <= 2 && word.chars().all(|c| c.is_ascii_digit()));
    month && day && words.next().is_some_and(|time| time.matches(':').count() == 2)
}

/// As `git log --oneline` prints it: a word of at least seven hexadecimal digits that contains a decimal digit.
fn is_hashed(line: &str) -> bool {
    let word = line.split_whitespace().next().unwrap_or("");
    (7..=40).contains(&word.len())
        && word.chars().all(|c| c.is_ascii_digit() || ('a'..='f').contains(&c))
        && word.contains(|c: char| c.is_ascii_digit())
}

/// A JSON field, an XML element or a log field.
fn is_data(line: &str) -> bool {
    let line = line.trim();
    let field = line.starts_with('"') && (line.contains("\": ") || line.contains("\":"));
    let element = line.starts_with('<') && line.ends_with('>') && line.contains("</");
    let logged = ["[info", "[warn", "[error", "[debug", "[trace", "level=", "time=", "ts=", "msg="];
    let low = line.to_lowercase();
    field || element || logged.iter().any(|begin| low.starts_with(begin))
}

/// A code comment: a line that begins like one, next to a line of code. Two list items are not code.
fn is_code_comment(lines: &[&str], at: usize) -> bool {
    let remark =
        |line: &str| ["#", "*", "--", "//", ";", "\"\"\""].iter().any(|sign| line.trim().starts_with(sign));
    let beside = [at.checked_sub(1), Some(at + 1)].into_iter().flatten().filter_map(|at| lines.get(at));
    remark(lines[at]) && beside.into_iter().any(|line| !remark(line) && is_code(line))
}

fn is_code(line: &str) -> bool {
    let line = line.trim_end();
    let inner = line.trim_start();
    let ends = line.ends_with([';', '{', '}']) || (line.ends_with("):") || line.ends_with(") ->"));
    let marked = |marks: &[&str]| marks.iter().any(|mark| inner.starts_with(mark));
    let few = inner.split_whitespace().count() <= 3 && !line.ends_with('.');
    ends || marked(CODE_MARKS) || marked(AMBIGUOUS_CODE_MARKS) && (few || inner.contains(['=', '(', '{']))
}

fn is_diff_head(line: &str) -> bool {
    line.starts_with("@@ ") || line.starts_with("diff --git ")
}

#[cfg(test)]
mod tests {
    use crate::digest::{Digest, DigestMessage};
    use crate::facts::extract_facts;
    use record::{Role, Stamp};

    fn kept_facts(text: &str) -> Vec<String> {
        let prompt = DigestMessage { id: "m".into(), role: Role::User, at: Stamp::NONE, text: text.into() };
        extract_facts(&crate::talk::Talk::new(&Digest { prompts: vec![prompt], ..Digest::default() }))
            .into_iter()
            .map(|noted| noted.text)
            .collect()
    }

    #[test]
    fn other_peoples_text_is_not_the_users_decision() {
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
            "bob commented on Nov 3, 2026\nWe decided to use Oracle.",
            "Begin forwarded message:\n\nWe decided to use Oracle.",
            "小王写道：\n我们决定用 Oracle。",
            "小王写道：我们决定用 Oracle。",
            "From: Anna\nTo: Bob\n\nHi Bob,\n\nWe decided to use Oracle.\n\nBest,\nAnna",
            "From: a@x.example\nTo: b@x.example\n\nSee this:\n```\nx\n```\nWe decided to use Oracle.",
            "Here is the mail:\n\nHi,\n\nWe decided to use Oracle.",
            "Anna: I looked at it\nBob: we decided to use Oracle\nAnna: I will tell them",
            "Alice: 我看了\nBob: 我们决定用 Oracle\nAlice: 那就这样",
            "张伟：看了一下\n李娜：我们决定用 Oracle\n张伟：就这样",
            "User: which store?\nAssistant: We decided to use Oracle.\nUser: thanks",
            "Search: hello Mail\nMail: we decided to use Oracle\nSearch: great work",
            "Logs:\nwe always use the cache\nwe never retry",
            "According to Anna, we decided to use Oracle.",
            "据说，我们决定用 Oracle。",
            "The README says we use npm, but it is old.",
        ] {
            assert_eq!(kept_facts(text), [""; 0], "{text}");
        }
        let document =
            format!("Read this.\n\n{}\n\nThanks", "Always use Oracle.\nWe never retry.\n".repeat(30));
        assert_eq!(kept_facts(&document), [""; 0], "a document");
    }

    /// Each was lost because it resembles a pasted shape.
    #[test]
    fn text_that_resembles_a_paste_is_the_users_own() {
        for text in [
            "Here is the output:\n```\nerror\n```\nFrom now on always run cargo check first.",
            "报错如下：\n```\nx\n```\n以后都先跑 cargo check 再提交。",
            "这是日志：\n```\nx\n```\n\n我们决定锁定工具链版本。",
            "Look:\n```yaml\nfrom: a@x.example\nto: b@x.example\n```\nWe decided to keep UUID keys.",
            "```\ncommit 0123456789abcdef\nAuthor: Anna\n```\nWe decided to keep UUID keys.",
            "Here is the log:\nstarted\nstopped\n```\nx\n```\nWe decided to keep UUID keys.",
            "From now on always keep the original message when you wrap an error.",
            "I commented 3 tests out. From now on always run the full suite.",
            "I commented on PR 3. From now on always run the full suite.",
            "As I wrote: always use tabs for indentation.",
            "As I wrote:\nAlways use tabs for indentation.",
            "The README says we use npm, but from now on always use pnpm.",
            "他说要用 MongoDB，但我们决定还是用 PostgreSQL。",
            "According to the docs this is fine, we decided to keep tokio.",
            "People said we should switch; we decided to stay with Rust.",
            "Notes:\n- always use pnpm",
            "Notes:\nAlways use pnpm",
            "Logs:\n- Always use JSON lines",
            "文档：\n- 以后都写中文注释",
            "# Always use tabs\nlet me know when it is done",
            "# Always use tabs\nclass names are written in capitals here",
            "From: MySQL\nTo: Postgres\n\nWe decided to keep UUID keys.",
            "Here is the log:\nstarted\nstopped\n\nFrom now on, write tests first.",
            "Here is the output:\nstarted\n\nWe decided to keep UUID keys.",
            "日志如下：\n启动\n停止\n\n从现在开始先写测试。",
            "1. Always use pnpm",
            "(1) Always use pnpm",
            "Pager: I want 50 rows\nMenu: we decided to keep it short\nPager: wrap lines",
            "Do this:\n1) Always use pnpm\n2) fix it",
        ] {
            assert_eq!(kept_facts(text).len(), 1, "{text}: {:?}", kept_facts(text));
        }
        assert_eq!(kept_facts("1. Always use pnpm\n2. Never use npm"), ["Always use pnpm", "Never use npm"]);
        assert_eq!(
            kept_facts("* Always use tabs;\n* Never use unwrap;"),
            ["Always use tabs", "Never use unwrap"]
        );
        for (text, first) in [
            (
                "Database: we decided to keep Postgres.\nCache: use Redis.\nDatabase: never use triggers.",
                "Database: we decided to keep Postgres",
            ),
            ("前端：统一用 pnpm\n后端：以后都用 Rust\n前端：不要再用 jQuery", "前端：统一用 pnpm"),
            ("提交信息：以后都用中文\n注释：统一用英文\n提交信息：不要再加表情", "提交信息：以后都用中文"),
            (
                "Pager: we always use 50 rows\nMenu: keep it short\nPager: we never wrap",
                "Pager: we always use 50 rows",
            ),
        ] {
            let kept = kept_facts(text);
            assert!(kept.first().is_some_and(|kept| kept.starts_with(first)), "{text}: {kept:?}");
        }
    }

    #[test]
    fn the_users_wishes_are_kept_as_facts() {
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
                &["Rule: always use tabs. Rule: never use blanks. Note: we decided to keep both"],
            ),
            ("约定：接口统一用 snake_case", &["约定：接口统一用 snake_case"]),
            ("From now on, answer in English", &["From now on, answer in English"]),
            (
                "I decided: \"orders\" is the table's name, never \"order\"",
                &["I decided: \"orders\" is the table's name, never \"order\""],
            ),
            ("It fails:\n    at f (a.js:1)\nDon't use f any more", &["Don't use f any more"]),
        ] {
            assert_eq!(kept_facts(text), facts, "{text}");
        }
        let long = format!(
            "Always use tabs in Makefiles.\n\n{}\n\nFrom now on, write tests first.",
            "A line.\n".repeat(50)
        );
        assert_eq!(kept_facts(&long), ["Always use tabs in Makefiles", "From now on, write tests first"]);
    }
}
