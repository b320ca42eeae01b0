//! Cue classes: what the words of a sentence suggest, in English and Chinese alike. Both languages share a class, and so
//! a weight, which is what lets one language learn from the other.
//!
//! Does not know who says the sentence, nor what follows from a cue: that is learned (`cargo xtask train talk`).

use regex::{Regex, RegexSet, RegexSetBuilder};
use std::sync::LazyLock;

/// The cues of a sentence, one bit per class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cues(u64);

impl Cues {
    pub(crate) fn find(sentence: &str) -> Cues {
        let text = NEUTRAL.replace_all(sentence, "~");
        Cues(SET.matches(&text).iter().fold(0, |bits, at| bits | 1 << at))
    }

    pub(crate) fn has(self, name: &str) -> bool {
        CLASSES.iter().position(|(known, _)| *known == name).is_some_and(|at| self.0 >> at & 1 == 1)
    }

    pub(crate) fn has_any(self, names: &[&str]) -> bool {
        names.iter().any(|name| self.has(name))
    }

    pub(crate) fn with(self, other: Cues) -> Cues {
        Cues(self.0 | other.0)
    }

    /// One value per class, in the order of [`CLASSES`].
    pub(crate) fn bits(self) -> impl Iterator<Item = bool> {
        (0..CLASSES.len()).map(move |at| self.0 >> at & 1 == 1)
    }
}

/// A sentence as the cues expect it: lower case, straight apostrophes, full-width letters and digits as plain ones.
pub(crate) fn fold(sentence: &str) -> String {
    let plain = |c: char| match c {
        '’' => '\'',
        'Ａ'..='Ｚ' | 'ａ'..='ｚ' | '０'..='９' => {
            char::from_u32(c as u32 - 0xfee0).unwrap_or(c) // full-width forms are at a fixed distance
        }
        c => c,
    };
    sentence.trim().chars().map(plain).collect::<String>().to_lowercase()
}

/// Room for the states of all classes. In the usual 2 MB the automaton gives up, and a slower engine took two thirds of a
/// consolidation. Filled only as far as the text needs.
const DFA_BYTES: usize = 64 << 20;

static SET: LazyLock<RegexSet> = LazyLock::new(|| {
    let patterns = CLASSES.iter().map(|(_, pattern)| ascii_boundaries(pattern));
    RegexSetBuilder::new(patterns).dfa_size_limit(DFA_BYTES).build().unwrap_or_else(|_| RegexSet::empty()) // the table is constant, and a test compiles it
});

static NEUTRAL: LazyLock<Regex> = LazyLock::new(|| compile(NEUTRAL_PHRASES));

/// A pattern of one of the tables of this crate. One that does not compile would match nothing; a test compiles all.
pub(crate) fn compile(pattern: &str) -> Regex {
    Regex::new(&ascii_boundaries(pattern)).unwrap_or_else(|_| never())
}

/// `\b` between Latin and Han letters: by default Han counts as part of a word, and "用uv吧" would have no word "uv".
fn ascii_boundaries(pattern: &str) -> String {
    pattern.replace(r"\b", r"(?-u:\b)")
}

fn never() -> Regex {
    #[allow(clippy::unwrap_used)] // a constant without special characters compiles
    Regex::new("\u{0}never").unwrap()
}

/// Phrases that only look like a refusal or a rule.
const NEUTRAL_PHRASES: &str = r"\bno (idea|problem|worries|rush|need|wonder|doubt|thanks|clue)\b|\bnot (sure|yet|now|really|bad|that)\b|\bnever ?mind\b|不好意思|没关系|不知道|不太|不客气|不错|差不多";

/// Name and pattern. `confirm`, `reject`, `ack`, `task` and `verb` look at the beginning of a sentence.
#[rustfmt::skip] // a table
pub(crate) const CLASSES: &[(&str, &str)] = &[
    ("always", r"\b(always|every ?time|everywhere|whenever|each time|any ?time|in general|by default|as a rule|across the board|all (new|our|the|services|tests|jobs|code)|every (new|single|pr|test|service|job|commit|release|migration|change|query|table|endpoint|module|request))\b|一律|永远|总是|统一|凡是|任何|所有|全部|每次|每个|每条|一定要|都要|都得|都走|都用|都放|都写|始终|通通"),
    ("never", r"\b(never|nobody|no one|under no circumstances|not ever|nothing|nowhere)\b|绝对不|绝不|决不|从不|不许|不准|禁止|严禁|不得|千万别|一个字都别|不能|别再|谁都不|坚决不|永不|永远不"),
    ("from_now", r"\b(from now on|from here on|going forward|in (the )?future|from today|for good|henceforth|starting (today|now)|at all times|new (code|tests|ones|endpoints|services)|next time|as of (today|now))\b|以后|今后|往后|从现在起|从今|之后都|新代码|下次|新的(都|一律)"),
    ("must", r"\b(must|has to|have to|needs? to|shall|required?|mandatory|has got to|gotta|ought to|supposed to)\b|必须|务必|得走|得用|得先|只能|只准|只许|要求|需要|应该|一定"),
    ("must_not", r"\b(must not|mustn'?t|may not|can'?t|cannot|won'?t|not allowed|don'?t (ever|use|do|want|touch|put|let|add|need|store|log|mix|rely|call|send|make|commit)|do not|dont|shouldn'?t|isn'?t allowed|forbidden|no more|stop (using|doing|adding|calling))\b|不要|不用|别|不许|不能|不可以|不行|不让|甭|不允许|不该|不碰"),
    ("no_x", r"(^|[.,:;(—–-]\s*|\band |\bso |\bbut |\bwith |\bstill )no [a-z`'-]+|无需|没有例外|零容忍"),
    ("not_x", r"\bnot [a-z`]|,\s*not |\binstead of\b|\brather than\b|\bno longer\b|\bwithout\b|而不是|不是.{1,12}是|不再|[，,；]\s*(不|别)[\p{Han}]|代替|替换|取代|不走|不搞|不做|不用|不留|不进|不开|不加|不改|不写"),
    ("decide", r"\b(decision|decided?|settled?|let'?s (go|use|do|keep|take|stick|stay|not|drop|make|move|put)|go(ing)? (with|for)|we('ll| will|'re)? (go|use|take|keep|stay|stick|move|switch|do|store|put)|it is\b|stick (with|to)|stay (on|with|in)|switch(ed|ing)? (to|back)|mov(e|ing) (to|off|back)|use |back to|drop(ped|ping)? |throw .{1,20} out|replace|choose|pick|take the|i'll take|make it|so:|final)\b|定了|定下|敲定|拍板|就用|就按|就走|就这|改成|改为|改用|换成|换回|换 ?[a-z]|决定|选|采用|那就|还是用|不搞|不做|不换|不留|撤掉|停掉|退回|回退|为准|直接用|用 ?[a-z]"),
    ("keep", r"\b(keep|stays?|remain|leave|hold|pin(ned)?|frozen|freeze)\b|保留|保持|留着|继续用|沿用|固定|锁|不动|别动"),
    ("only", r"\b(only|just|solely|exclusively|at most|at least|no more than|max(imum)?|limit|cap|capped|up to|until|unless|except)\b|只|仅|最多|至少|不超过|上限|以内|为止|除非|除了"),
    ("why", r"\b(because|since|cause[ds]?|reason|due to|otherwise|or (else|all|we|it|the)|so that|that'?s why|that is why|cuz|cos)\b|因为|所以|不然|否则|原因|由于|省得|免得|导致|根因|为了"),
    ("confirm", r"^(yes|yep|yeah|yup|right|exactly|correct|ok(ay)?|k|agreed|sure|good|great|perfect|fine|makes sense|that'?s (it|right|exactly)|true|indeed|ah+|oh+|accepted|confirmed|of course|please do|do it|go ahead|so|bingo|spot on|nice|sounds)\b|^(对|是的|是，|嗯|没错|就是|好|行|可以|同意|确实|果然|ok|哈哈对|原来|哦|中|成|妥|没问题|就这么|有道理)"),
    ("confirm_cause", r"that('?s| is| was)? (exactly )?(it|the (cause|reason|culprit|bug|problem|one)|what|why)|explains|that was it|exactly (it|that)|was the (cause|reason|culprit)|makes sense|i see\b|confirmed|bingo|there we (go|are)|good catch|well spotted|nailed|of course|matches|that fits|adds up|told you|i knew|my (bad|fault)|就是这个|就是它|就是.{1,16}(搞的|的锅|的问题|原因|引起|导致)|的锅|原来(是|如此)|果然|对上了|对得上|没错|破案|对，|对对|确实是|怪不得|难怪|找到了|我(忘|本来|当时|写)|坑"),
    ("reject", r"^(no|nope|nah|not|don'?t|dont|never|stop|god no|wait|hmm+|please no|skip|forget|rather|hell no)\b|^(不|别|算了|不行|不要|不用|不对|没必要|先不|停|打住|免了|等等)|i'?d rather|no way|no thanks"),
    ("ban", r"\b(we don'?t do|we dont|don'?t|dont|do not|never|no)\b.{0,40}\b(in|on|for|to) (this|the|our) (repo|project|code|team|prod|repository|codebase|branch|api|db|database)|不(允许|接受|碰|引)"),
    ("temporary", r"\b(today|tonight|this time|for now|right now|tomorrow|now|first|quick(ly)?|just this once|this once|later|after lunch|yet|not now|monday|friday|next|only this|one-off|temporar(y|ily)|meanwhile)\b|今天|这次|先|暂时|目前|现在|等下|明天|这回|刚才|一会|待会|回头|临时|今晚"),
    ("open", r"\b(later|next (week|month|year|sprint|quarter|release|version)|todo|to do|open|still (missing|open|to do|needs?|waiting|have to|broken|unclear)|remains?|pending|not (yet|today|decided|clear|done)|left|waits?|waiting|postponed?|after (xmas|christmas|the|release|that)|revisit|someday|follow.?up|january|park(ed)?|on hold|blocked|undecided|unclear|out of scope|another (day|time|pr|ticket)|separate (pr|ticket|issue)|nobody knows|ask (him|her|them|legal|ops|finance))\b|没定|未定|待定|搁置|搁着|回头|等.{1,14}(回来|再|完|才|后|回复|确认|定)|还没|以后再|下周|下个月|下个版本|遗留|要补|先放|再说|todo|挂着|排到|之后再|没排期|待确认|没回|另开|单独(提|开)"),
    ("number", r"\d"),
    ("unit", r"\d+\s?(ms|s|sec|seconds?|min(utes?)?|h|hours?|days?|weeks?|months?|kb|mb|gb|tb|%|x|rows?|lines?|px|fps|k|m|hz|bytes?|requests?|retries|attempts|tokens?)\b|\d+ ?(秒|毫秒|分钟|小时|天|周|个月|条|行|次|台|核|元|万|倍|位|页|层|人|号|分|字|个|年)"),
    ("option", r"\b(first|second|third|fourth|last|former|latter|option|number|variant|plan|approach) ?(one|two|three|[a-d1-4])?\b|^[a-d1-4]\b[.,)!]?|第[一二三四1234](个|种|条|套|项)?|方案 ?[一二三四abc123]|前者|后者|(选|用|走|按|就) ?[a-d1-4]\b"),
    ("we", r"\b(we|we'?re|we'?ll|our|us|team)\b|我们|咱们|咱|团队|大家"),
    ("i", r"\b(i|i'?m|i'?ve|i'?d|i'?ll|my|me)\b|我([^们]|$)"),
    ("you", r"\b(you|your|u|ur)\b|你"),
    ("preference", r"\b(i (hate|like|want|prefer|love|don'?t like|can'?t stand|need|expect|insist|refuse|dislike|care)|prefer|rather|annoy|annoying|please (always|never)|show me|tell me|ask me|don'?t ask|style|wording|tone|readable)\b|我(喜欢|讨厌|最烦|要|想|不喜欢|习惯|烦|偏好|宁愿)|最烦|讨厌|别给我|给我看|跟我说|先问我|风格|习惯|好读|看着"),
    ("change", r"\b(changed? (my|our|their) mind|was wrong|take (it|that) back|mistake|not any ?more|no longer|instead|again after|revert|undo|scrap|forget|rip|dead|gone|give up|given up|after all|anymore|supersede[sd]?|replace[sd]?|obsolete|reverse|overturn|turns out we|used to|switch(ing|ed)? back|roll(ing|ed)? back|we were wrong|i was wrong|bad idea|does(n'?t| not) work out|kill(ed)? it|out\b)\b|改主意|不再|作废|推翻|取消|当初|之前(说|定|用)|收回|撤|不要了|废掉|下线|改回|还是|错了|翻案|换掉|弃用|回到|重新(定|选)|原来(的|那)"),
    ("cause", r"\b(because|caused? by|root cause|culprit|found it|the (reason|cause|problem|bug|issue|trouble) (is|was)|turns out|due to|so (the|it|each|every|that|a|two|both|when)|which is why|that'?s why|hence|therefore|there it is|happens (when|because)|since (the|it)|leads? to|comes from|never|which (means|makes|drops|breaks|fails)|instead of|still (uses|reads|points|holds|has)|without (a|the|any)|missing|overwrit(es|ten)|wrong(ly)?|twice|race|stale|leak(s|ed)?|deadlock)\b|因为|根因|原因|所以|导致|引起|于是|找到了|问题(在|出在|是)|由于|结果|才会|就会|清楚了|对上了|造成|没有?(配|写|加|带|设|关|清|释放)|漏了|冲突|覆盖|等于|其实是|罪魁|这就是"),
    ("propose", r"\b(i could|i can|i'?d|we could|you could|shall i|should i|want me to|would you like|do you want|might|may|maybe|perhaps|could also|recommend|suggest|consider|alternatively|options?|i would|propose|either|two ways|three ways)\b|可以|要不要|建议|要我|考虑|也许|或者|推荐|倾向|需要我|打算|是否|方案|要么|两种|三种|还是"),
    ("done", r"\b(done|now|added|removed|fixed|committed|pushed|merged|changed|updated|pass(es|ed)?|migrated|moved|is gone|are gone|implemented|wrote|written|renamed|deployed|in place|tests? pass|green|works)\b|好了|完成|已|改成|加了|删了|提交|推送|通过|过了|记住|写好|换好|搞定|落地|改好|全绿"),
    ("ack", r"^(understood|got it|ok(ay)?|sure|noted|agreed|will do|done|right|added|sorry|good|then|so|fair|makes sense|clear|both|all|written|recorded)\b|^(好|明白|收到|了解|记住|行|可以|嗯|知道|抱歉|同意|改|那|加|懂|清楚|已|记|按)"),
    ("hypothesis", r"\b(what if|if we|if i|suppose|would (it|that|we)|could we|imagine|wonder(ing)?|maybe|perhaps|might|thinking about|someday|lol|haha|joke|joking|kidding|guess|probably|i think|not sure|dunno|no idea|could be|sounds like|in theory|just curious|hypothetically)\b|如果|要是|假如|是不是|会不会|万一|可能|也许|大概|估计|猜|怀疑|好像|感觉|哈哈|呵呵|开玩笑|要不|理论上|随口|假设|能不能"),
    ("quoted", r"\b(says?|said|wrote|writes|according to|claims?|told me|quote|someone|blog|article|hacker news|twitter|slack|the (docs?|readme|ticket|vendor|boss|lead))\b|说(过|的|了|是|：|:)|写着|有人|文章|博客|群里|据说|他们说|老板说|文档"),
    ("chat", r"\b(thanks?|thx|ty|cool|nice|lovely|great|perfect|beautiful|ship it|lgtm|bye|cheers|hi|hello|good (morning|evening|night)|sigh|ugh|sorry|phew|wow|merci|weekend|lunch|coffee)\b|谢|辛苦|牛|舒服|收工|完事|早|就这样|先这样|可以了|不错|漂亮|👍|好的|下班|吃饭|晚安|厉害"),
    ("task", r"^(please |and |now |then |ok,? |so )?(add|fix|run|write|make|create|check|look|find|show|give|open|commit|push|merge|ship|deploy|rename|delete|remove|bump|update|review|explain|print|do|put|go|try|start|continue|test|refactor|implement|draft|send|turn|set|list|read|help|see|can you|could you|pls|need|new|build|wire|port|apply|squash|tag)\b|^(那|再|先|顺便|请|你)?(写|加|改|修|看|查|跑|提|合|删|补|推|发|帮|给|把|换|做|弄|试|接着|继续|打|记|建|升|清|搜|列)"),
    ("verb", r"^(and |so |then |but |ok,? |yes,? |yeah,? |no,? )?(use|keep|take|drop|skip|stay|stick|store|split|move|switch|pin|cap|leave|stop|avoid|prefer|go|let'?s)\b|^(那就|就|还是|直接|统一|都)?(用|走|选|留|砍|拆|换|按|保持|固定|上|放)|就行|即可|得了|吧[。！]?$"),
    ("must_only", r"\b(the only|only (the|via|through|by|in|from|with|on|for|if|when|after))\b|只能|只(在|走|用|放|有|允许|读|写|存|改|删|从|认|对)"),
    ("rule_word", r"\b(rule|policy|convention|standard|guideline|practice|principle|contract|promise[d]?|compliance|audit|legal|regulat\w+|license|freeze|budget|constraint|requirement|law|gdpr|sla|slo|agreement|guarantee|limit)\b|规定|规范|约定|规矩|红线|合规|审计|制度|要求|口径|标准|原则|铁律|等保|监管|规则|底线|预算|约束|协议"),
    ("environment", r"\b(prod(uction)?|staging|jump host|machine|server|cluster|runner|device|customers?|clients?|vendor|finance|ops|lead|boss|legal|security|hardware|browser|firmware|licen[cs]e|runtime|old (phones?|devices?|browsers?|versions?))\b|生产|线上|机器|服务器|客户|运维|财务|产品|老板|法务|安全|集群|硬件|板子|甲方|领导|内网|手机|浏览器|带宽|内存"),
    ("supports", r"\b(supports?|only (has|have|runs?|supports?)|can only|limited to|doesn'?t (have|support|allow)|does not (have|support|allow)|has no|have no|no access|still (on|runs?)|runs? on|maximum|minimum|within|budget of|at .{1,12} per)\b|不支持|只支持|只有|跑在|没有(网|权限|外网)|连不上|装不了|最低|最高|限制"),
    ("identifier", r"`[^`]+`|[a-z0-9]+[_.][a-z0-9_]+|--[a-z]|/[a-z]+/|[a-z]+\(\)"),
    ("remember", r"\b(remember|note|for the record|record|write (it|that|this) (down|into)|one (more|process|last)? ?(note|thing|rule)|keep in mind|btw|by the way|addendum|also|and another|consequence|rationale|important|please note|fyi|heads up)\b|记(住|一条|下|着|得)|顺便|另外|还有|说一句|补充|强调|注意|提醒|重要|写进"),
    ("error", r"\b(error|errors|fail(s|ed|ing|ure)?|crash(es|ed)?|broken|bug|exception|timeout|timed out|500|502|503|oom|panic|hang(s|ing)?|slow|wrong|lost|missing|duplicate[sd]?|flaky|leak|stuck|corrupt(ed)?|garbled)\b|报错|错误|失败|崩|挂了|超时|卡|慢|丢|重复|乱码|不对|异常|出事|告警|死锁|泄漏|打不开|没了"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        assert!(CLASSES.len() <= 64, "the cues of a sentence are one word of bits");
        for (name, pattern) in CLASSES {
            assert!(Regex::new(&ascii_boundaries(pattern)).is_ok(), "{name}");
        }
        assert!(Regex::new(&ascii_boundaries(NEUTRAL_PHRASES)).is_ok());
        assert_eq!(SET.len(), CLASSES.len());
    }

    #[test]
    fn both_languages_have_the_same_cues() {
        for (name, english, chinese) in [
            ("from_now", "from now on tabs", "以后都用 tab"),
            ("decide", "let's go with uv", "那就用uv"),
            ("never", "nobody touches prod", "禁止碰生产"),
            ("change", "i was wrong about arq", "之前定的作废"),
            ("confirm_cause", "yes, that's exactly it", "对，就是这个"),
            ("open", "postponed until after the release", "这个下周再说"),
            ("hypothesis", "what if we used wasm", "要是用 wasm 呢"),
        ] {
            assert!(Cues::find(&fold(english)).has(name), "{name}: {english}");
            assert!(Cues::find(&fold(chinese)).has(name), "{name}: {chinese}");
        }
        assert!(!Cues::find("no idea").has("no_x") && !Cues::find("never mind").has("never"));
    }
}
