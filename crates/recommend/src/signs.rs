//! Signs in a prompt that it refers to earlier work: more than "last time". A definite description ("the carriers thing",
//! "那个卡顿"), a deed in the past, unfinished work, a comparison ("like we did for X"), a recurring error, people and
//! tickets.
//!
//! Does not decide: what a sign is worth is learned together with how well memory matches (`cargo xtask train cards`).

use regex::{RegexSet, RegexSetBuilder};
use std::sync::LazyLock;

/// Name and pattern, in lower case.
#[rustfmt::skip] // a table
pub const SIGNS: &[(&str, &str)] = &[
    ("time", r"\b(yesterday|last (week|month|time|year|night|autumn|summer|spring|winter|sprint|monday|tuesday|wednesday|thursday|friday)|the other (day|time|week)|(days?|weeks?|months?) ago|a while (ago|back)|back then|back in|in (january|february|march|april|june|july|august|september|october|november|december)|of \d+ (january|february|march|april|may|june|july|august|september|october|november|december)|this (week|morning)|earlier (today|this)|at the time|that time)\b|昨天|前天|上周|上个?月|上次|上回|那次|那天|当时|当初|前几天|前阵|之前|以前|月初|月底|去年|早上|\d+ ?月|[一二三四五六七八九十]+月"),
    ("again", r"\b(again|once more|another (one|case|round|report)|is back|are back|same (problem|issue|bug|error|thing|symptom|story|shit)|reappear\w*|recurr\w*|still (happens|broken)|familiar|déjà)\b|又(出|来|报|开始|是|有|挂|慢|超)|再次|又一次|复发|还是(那个|一样)|老问题|老毛病"),
    ("continue", r"\b(continue (the|with|that|our|on|where)|resume|pick (it |that |this )?up|carry on|where (were|was|did|are) (we|i|you)|left off|where we stopped|finish (the|that|what)|the rest of|remaining|still open|left (open|to do)|next step|follow.?up|unfinished|get back to|back to (the|our|that))\b|接着|继续(做|搞|弄|改|上次|那|之前|昨天|把)|剩下的?|没(做|弄|搞|改|写)完|收尾|做到哪|到哪(了|一步)|还差|还没.{0,6}(的|完)|遗留|往下(做|走)"),
    ("like", r"\b(like (we|you|i|last|the one|that|for|in)|the way (we|you)|same (way|steps|procedure|trick|fix|approach|pattern|remedy|as|manner|check|thing .{0,20}(we|you))|as (we|before|agreed|discussed|decided)|do what (you|we)|in the manner|analog\w*|the same .{0,30}\b(we|you|as|that)|as well as we|just as)\b|像.{1,20}(一样|那样|那么)|跟.{1,20}(一样|同样)|照(着|搬|之前|上次)|按(之前|上次|照|我们|那)|同样的|一样(处理|搞|改|做)|仿照|参考(上次|之前|那)|那套|那种做法|那个(思路|办法|写法|套路)"),
    ("recall", r"\b(remember|recall|remind\w*|what (was|were|did) (it|we|you|the|our)|why did we|why (the hell )?(did|do|have) we|how did (we|you|i|it)|which .{1,20} did we|did (we|you|i) (ever|not|already|end|get|find)|didn'?t we|haven'?t we|we (said|agreed|decided|settled|discussed|talked|concluded|ruled|chose|picked|promised)|you (told|said|explained|suggested|mentioned|found|showed)|i (told|said|asked|mentioned) you|what (exactly )?did (we|you|u)|the (reason|story|rationale|reasoning|numbers|arguments?)|dig (it|them|out|up)|reasoning|our (decision|stance|rule|convention|agreement|arguments?))\b|记得|还记不记得|想起|为什么(当初|当时|我们|要|没|不)|怎么(定|说|处理|解决|弄|改)的|是怎么|咋(弄|定|解决)的|说(过|好|定)|聊过|讨论过|定(的|过|下|好)|商量|你(说|讲|告诉|提|解释|查|找|写|改)(过|的)|结论|理由|来着|谁(定|说)的"),
    ("deed", r"\b(we|you|i|u) (\w+ed|did|chose|wrote|built|made|found|had|went|got|put|took|threw|ran|hit|set|kept|left|gave|were|was|saw|drew|cut|split|dropped|tried)\b|\b(that|which|what) (we|you|i) \b|(做|改|写|加|修|查|搞|弄|建|换|拆|删|配|调|升|迁|选|找|跑|测|试|砍|撤|上)(过|的|了的|好的|完的|掉的|出来的)|我们.{0,8}(的|了|过)"),
    ("definite", r"\b(that|those|the) [\w.-]+( [\w.-]+)? (thing|stuff|mess|issue|problem|incident|disaster|saga|story|outage|crash|bug|migration|upgrade|refactor|rewrite|switch|decision|discussion|session|work|change|fix|plan|idea|setup|tool|script|pr|design|move)\b|\b(that|our|ours) [a-z][\w-]+|那(个|套|次|批|条|件|块|份|版|边|张|段|组|回)|咱(们)?(的|那)|这个.{0,8}(后来|最后|之后)"),
    ("outcome", r"\b(did (it|prod|that|they|we) .{0,20}(work|land|ship|go|get|help)|in the end|end up|ended up|turn(ed)? out|after (we|that|the)|any (news|progress)|status|what (happened|came|became)|how did .{1,30} (look|go|end|turn)|ever (finish|get|fix|test|merge)|result)\b|后来|最后(怎么|是|定|用|选)|怎么样了|结果(呢|怎么|如何)|搞定(没|了吗)|解决(没|了吗)|进展|上线了(没|吗)|合了(没|吗)|弄好(没|了吗)"),
    ("why", r"^(pls |please |hey,? |hi,? |ok,? )?(why|how come|what was|what were|when did|where (is|are|were|did)|who (decided|took|said|asked))\b|为什么|为啥|原因"),
    ("ticket", r"#\d+|\b[a-z]{2,8}-\d{2,6}\b|\badr-?\d+"),
    ("we", r"\b(we|our|us|we'?d|we'?ve)\b|我们|咱"),
    ("you", r"\b(you|your|u)\b|你"),
    ("question", r"\?|？|吗|呢[?？。]?$|什么|怎么|哪"),
    ("new", r"\b(new|create|add (a|an|the|some)|implement|write (a|an|me|the)|set ?up|generate|from scratch|i want (a|an|to)|i need (a|an|to)|i'?d like|make (a|an|the)|rename|bump|show (me|the)|print|compress|format|sort|explain|difference between|what does|what is|what'?s|how (do|does|can|to)|can you|could you|please|kindly|task:|requirement:)\b|新(增|建|写|加)|写(个|一个|一段)|加(个|一个|一下)|实现|生成|帮我|请|改成|解释|区别|怎么(写|用|做|配|实现)|什么是|能不能|重命名|格式化|翻译"),
    ("mechanical", r"\b(last|previous|prior|earlier|first|next|before|again) (line|page|row|item|column|month|attempt|step|button|value|n|\d+|modified|commit|test|element|character|version|month'?s|login|scan|sync|seen|played|selected|successful|name)\b|\b(run|try|click\w*|save|press|build|test|tests|linter) (\w+ )?(it )?again\b|\bcontinue (to|button|its|statement|until|after|on error)\b|上一?(页|行|步|个月|条|级|层)|前一|再(跑|试|来)一|之前的?(页|行|值)|最后一(行|个|条|页)"),
    ("meeting", r"\b(meeting|today|just now|this minute|the customer|product (wants|says|meeting))\b|今天(会|开会|产品)|刚(才|刚)|会上"),
    ("error", r"\b(error|exception|traceback|fails?|failing|crash\w*|broken|500|timeout|stack)\b|报错|失败|崩|超时|异常"),
    ("paste", r"\n.*\n|```|\{|\};|^\s+at "),
];

/// Room for the states of all classes. In the usual 2 MB the automaton gives up, and a slower engine took two thirds of a
/// consolidation. Filled only as far as the text needs.
const DFA_BYTES: usize = 64 << 20;

static SET: LazyLock<RegexSet> = LazyLock::new(|| {
    let patterns = SIGNS.iter().map(|(_, pattern)| ascii_classes(pattern));
    RegexSetBuilder::new(patterns).dfa_size_limit(DFA_BYTES).build().unwrap_or_else(|_| RegexSet::empty()) // the table is constant, and a test compiles it
});

/// The classes of the table with ASCII letters only. `\b` between Latin and Han letters: by default Han counts as part of a
/// word. `\w` and `\d` of all scripts make the set twice as slow to compile, which every prompt pays for.
fn ascii_classes(pattern: &str) -> String {
    let classes = [
        (r"\b", r"(?-u:\b)"),
        (r"[\w", "[a-z0-9_"),
        (r"\w", "[a-z0-9_]"),
        (r"\d", "[0-9]"),
        (r"\s", r"[ \t\r\n]"),
    ];
    classes.iter().fold(pattern.to_string(), |text, (from, to)| text.replace(from, to))
}

/// The signs of a prompt: one value per row of the table, then its length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Signs(Vec<f32>);

/// The number of values.
pub const VALUES: usize = SIGNS.len() + 4;

impl Signs {
    pub fn read(prompt: &str) -> Signs {
        let low = prompt.trim().to_lowercase().replace('’', "'");
        let mut values = vec![0.0; SIGNS.len()];
        for at in &SET.matches(&low) {
            values[at] = 1.0;
        }
        let kinds = ["time", "again", "continue", "like", "recall", "deed", "definite", "outcome"];
        let many = SIGNS
            .iter()
            .zip(&values)
            .filter(|((name, _), value)| kinds.contains(name) && **value > 0.0)
            .count();
        let han = low.chars().filter(|c| matches!(c, '\u{3400}'..='\u{9fff}')).count();
        let words = low.split_whitespace().count() + han / 2;
        values.extend([
            (many as f32 / 4.0).min(1.0),
            f32::from(u8::from(many == 0)),
            (words as f32 / 40.0).min(1.0),
            f32::from(u8::from(han > 0)),
        ]);
        Signs(values)
    }

    /// The values; zeros if no prompt was read.
    pub fn values(&self) -> impl Iterator<Item = f32> {
        let mut own = self.0.iter().copied();
        (0..VALUES).map(move |_| own.next().unwrap_or(0.0))
    }

    /// The names of the values, in order.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SIGNS.iter().map(|(name, _)| *name).chain(["many", "none", "length", "han"])
    }

    /// Whether a search could pay: some sign that the prompt refers to earlier work. Most ordinary prompts have none.
    pub fn may_refer(&self) -> bool {
        self.values().nth(SIGNS.len()).is_some_and(|many| many > 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(prompt: &str, name: &str) -> bool {
        let at = Signs::names().position(|known| known == name).unwrap();
        Signs::read(prompt).values().nth(at).unwrap() > 0.0
    }

    #[test]
    fn every_pattern_compiles() {
        assert_eq!(SET.len(), SIGNS.len());
        assert_eq!(Signs::names().count(), VALUES);
    }

    #[test]
    fn signs_are_found_in_both_languages() {
        for (name, english, chinese) in [
            ("time", "what was it that blew up the other time", "上周那个问题"),
            ("continue", "continue the carriers thing", "接着把导出做完"),
            ("like", "do it like we did for shipments", "像订单列表那样处理"),
            ("recall", "why did we drop celery", "当时怎么定的"),
            ("definite", "the grpc thing", "那个滚动卡顿"),
            ("again", "pods get killed again", "又报超时了"),
            ("outcome", "did we requeue them in the end", "后来怎么样了"),
        ] {
            assert!(has(english, name), "{name}: {english}");
            assert!(has(chinese, name), "{name}: {chinese}");
        }
    }

    #[test]
    fn an_ordinary_prompt_needs_no_search() {
        for prompt in [
            "bump node to 24 in the web dockerfile",
            "加一个健康检查接口",
            "can you sort the imports in this file",
        ] {
            assert!(!Signs::read(prompt).may_refer(), "{prompt}");
        }
    }
}
