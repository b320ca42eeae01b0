//! The needle set: facts of five kinds hidden in a thousand generated developer sessions, with queries to find them.
//!
//! Contains no real transcript: all text is generated, the same on every machine.

use super::rng::Rng;
use super::set::{LabelledQuery, Message, Session, Set};
use search::Part;

const SESSIONS: usize = 1_200;
const NEEDLES: usize = 200;
/// Separates these draws from others with the same seed.
const STREAM: u64 = 0x6e65_6564;

const SUBJECTS: &str = "the parser|the cache layer|our login form|the build script|the scheduler|this migration|the \
retry loop|the connection pool|the billing service|the export job|the search index|the websocket client|the config \
loader|the release branch|the test fixture|the event handler|the rate limiter|the upload endpoint";
const VERBS: &str = "fails on|is slow for|should support|now handles|breaks with|was rewritten for|still ignores|needs a \
test for|times out on|leaks memory with|returns early for|logs too much about|panics on|must not touch";
const OBJECTS: &str = "empty input|nested objects|large files|the second request|unicode names|expired tokens|parallel \
writes|missing columns|the nightly run|old clients|symlinked folders|duplicate keys|the staging cluster|zero rows|very \
long lines|a closed channel|vendor limits|too many connections";
const CLOSINGS: &str = "Can you look at it?|I pushed a fix.|Let's keep it as it is.|The tests pass again.|Please add a \
regression test.|We decided to ship it behind a flag.|I will check the logs.|Done, see the diff.";
const CJK: &str = "我们需要检查这个函数的返回值|缓存没有失效，请重新部署|数据库连接超时了|测试已经通过，可以合并分支|夜间批处理的日志\
太多|请把上限改为可配置|登录页面偶尔白屏|索引重建需要两个小时|限流之后请求变慢|这个问题上周修复过";
const FIRST: &str = "amber basalt cobalt dahlia ember fjord garnet heron indigo juniper kestrel lichen marble nectar \
osprey pewter quartz russet saffron thistle umber violet walnut yarrow";
const SECOND: &str = "anvil beacon cradle dynamo easel furnace gantry hangar inkwell jetty kiln lantern mortar nozzle \
orchard pulley quarry rudder sextant trellis urn vessel winch yoke";
const CJK_FIRST: &str = "青龙 白鹭 松涛 星河 云雀 寒梅 碧潭 赤霞 远山 流萤 霜降 芦苇";
const CJK_SECOND: &str =
    "调度器 归档库 计费网关 灰度通道 限流阀 审计台 回收站 推送桥 校验器 熔断器 登记簿 镜像仓";

pub(crate) fn needle_set(seed: u64) -> Set {
    let mut sessions: Vec<Session> = (0..SESSIONS).map(|nth| generate_session(seed, nth)).collect();
    let queries = (0..NEEDLES).map(|nth| hide_needle(seed, nth, &mut sessions)).collect();
    Set { name: "needles".to_owned(), sessions, queries }
}

fn pick_word<'a>(rng: &mut Rng, among: &'a str, between: char) -> &'a str {
    let among: Vec<&str> = among.split(between).collect();
    among[rng.below(among.len())]
}

fn generate_session(seed: u64, nth: usize) -> Session {
    let mut rng = Rng::new(seed ^ STREAM, nth as u64);
    let begin = 1_700_000_000_000 + nth as i64 * 3_600_000;
    let messages = (0..rng.in_range(6, 40)).map(|turn| {
        let part = [Part::Person, Part::Assistant, Part::Assistant, Part::Tool][turn % 4];
        let text = if part == Part::Tool { generate_log(&mut rng) } else { generate_text(&mut rng) };
        Message { part, at: begin + turn as i64 * 20_000, text }
    });
    Session { title: None, messages: messages.collect() }
}

fn generate_text(rng: &mut Rng) -> String {
    let mut text = String::new();
    for _ in 0..rng.in_range(1, 4) {
        if rng.per_mille(80) {
            text.push_str(pick_word(rng, CJK, '|'));
            text.push('。');
        } else {
            let words = [SUBJECTS, VERBS, OBJECTS].map(|pool| pick_word(rng, pool, '|'));
            text.extend([&words.join(" "), ". ", pick_word(rng, CLOSINGS, '|'), " "]);
        }
    }
    text
}

fn generate_log(rng: &mut Rng) -> String {
    let mut text = String::new();
    for _ in 0..rng.in_range(3, 30) {
        let (subject, object) = (pick_word(rng, SUBJECTS, '|'), pick_word(rng, OBJECTS, '|'));
        let number = rng.in_range(100, 9999);
        let file = subject.replace(' ', "_");
        let number = number.to_string();
        text.extend(["src/", &file, ".rs: error: linker exited with status ", &number, ": ", object, "\n"]);
    }
    text
}

/// Puts the needle into a message of a session; kinds alternate.
fn hide_needle(seed: u64, nth: usize, sessions: &mut [Session]) -> LabelledQuery {
    let mut rng = Rng::new(seed ^ STREAM << 8, nth as u64);
    let (text, query, kind) = generate_needle(&mut rng, nth);
    let at = rng.below(sessions.len());
    let messages = &mut sessions[at].messages;
    let within = rng.below(messages.len());
    let message = &mut messages[within];
    message.text.push('\n');
    message.text.push_str(&text);
    message.text.push('\n');
    message.text.push_str(&generate_text(&mut rng));
    LabelledQuery { query, kind: kind.to_owned(), right: vec![at], ..LabelledQuery::default() }
}

fn generate_needle(rng: &mut Rng, nth: usize) -> (String, String, &'static str) {
    let (a, b) = (pick_word(rng, FIRST, ' '), pick_word(rng, SECOND, ' '));
    let number = rng.in_range(100, 9999);
    let rare: String = (0..4)
        .flat_map(|_| [*rng.pick(b"bcdfghjklmnpqrstvwxz"), *rng.pick(b"aeiou")])
        .map(char::from)
        .collect();
    match nth % 5 {
        0 => (
            format!("The rollout ticket is {rare}{nth} and must not be closed early."),
            format!("{rare}{nth}"),
            "token",
        ),
        1 => (
            format!(
                "We agreed that the {a} {b} service keeps {number} connections because the vendor throttles above that."
            ),
            format!("{a} {b} {number} connections vendor throttles"),
            "phrase",
        ),
        2 => {
            let (first, second) = (pick_word(rng, CJK_FIRST, ' '), pick_word(rng, CJK_SECOND, ' '));
            let text = format!("决定：{first}{second}的上限改为{number}，否则夜间批处理会超时。");
            (text, format!("{second}的上限改为{number}"), "cjk") // starts inside the run
        }
        3 => {
            let name = format!("{}{}Cache{nth}", capitalize(a), capitalize(b));
            (format!("pub struct {name} {{ slots: [u32; {number}] }}"), name, "identifier")
        }
        _ => (
            format!("error: linker `{a}-{b}-ld{nth}` exited with status {number}: undefined symbol {rare}"),
            format!("linker {a}-{b}-ld{nth}"),
            "error",
        ),
    }
}

fn capitalize(word: &str) -> String {
    let mut letters = word.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().collect::<String>() + letters.as_str())
}
