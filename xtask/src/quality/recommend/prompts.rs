//! The prompts: some written by hand, others generated from templates, each with the session it refers to, if any.
//!
//! Does not know what is recommended.

use super::history::{
    History, NOW, Session, Subject, Subjects, chinese_subjects, english_subjects, unrelated_cwd,
};
use crate::quality::locomo::MONTHS;
use crate::quality::rng::Rng;
use std::path::PathBuf;

const REFERRING_BY_HAND: &str = include_str!("meant.tsv");
const ORDINARY_BY_HAND: &str = include_str!("ordinary.tsv");
const STREAM: u64 = 0x7072_6f6d;
/// Number of generated prompts of each kind.
const REFERRING_COUNT: usize = 170;
const ORDINARY_COUNT: usize = 170;
const NEVER_DISCUSSED_COUNT: usize = 45;
const UNKNOWN_PART_COUNT: usize = 45;

pub(super) struct Prompt {
    pub(super) text: String,
    pub(super) kind: String,
    /// The session that is meant.
    pub(super) target: Option<String>,
    pub(super) cwd: PathBuf,
}

impl Prompt {
    /// Whether the prompt belongs to the tuning half. Decided by its text alone, so that adding prompts moves none.
    pub(super) fn is_for_tuning(&self) -> bool {
        let sum = self.text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
            (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        (sum >> 17) & 1 == 0
    }
}

const REFERRING_TEMPLATES: &[&str] = &[
    "what did we decide about {t} in the {p} last time?",
    "as we discussed, {t} of the {p} should be handled like that everywhere",
    "remember when we dealt with {t} in the {p}? how did it end",
    "pull up the conversation where we worked on the {p} and its {t}",
    "why did we go with {d} for the {p}?",
    "continue where we left off with {t} in the {p}",
    "the fix we made for {t} in the {p} {w}, apply it here",
    "{w} we talked about the {p}, what about the {t}?",
    "how did we solve {t} for the {p} {w}",
    "do it the way we did for the {p} and its {t}",
    "where did we land on {t} in the {p}, was it {d}?",
];
const ZH_REFERRING_TEMPLATES: &[&str] = &[
    "上次{p}{t}的方案是什么",
    "我们之前讨论的{p}{t}，最后怎么定的",
    "还记得{p}{t}那次吗，怎么解决的",
    "接着上次{p}{t}的工作继续",
    "{w}聊的{p}{t}，帮我看下结论",
    "之前{p}为什么选了 {d}",
    "当时{p}的{t}我们是怎么处理的",
    "{w}修的{p}{t}，同样改到这里",
    "上回说的{p}{t}的思路再讲一遍",
    "那个{p}{t}的方案再发我看看",
];
const ORDINARY_TEMPLATES: &[&str] = &[
    "fix {t} in the {p}",
    "write tests for the {p}, especially {t}",
    "add a check before the loop in the {p}",
    "restore the previous version of the {p} and look at {t}",
    "the last release broke the {p}: {t}",
    "run the last test of the {p} again, the one about {t}",
    "the {p} worked before the upgrade, now there is {t}",
    "show yesterday's log lines of the {p} about {t}",
    "keep the previous value in the {p} when there is {t}",
    "revert the last commit that touched {t} in the {p}",
    "how often did the {p} report {t} last week?",
    "before we touch the {p}, list every place with {t}",
    "once the {p} is up, measure {t} again",
    "I deployed the {p} yesterday and now there is {t}",
    "compare {t} of the {p} with last month's numbers",
    "we already have {t} in the {p}, document it",
    "explain how the {p} handles {t}",
    "the last time the {p} ran there was {t}",
];
const ZH_ORDINARY_TEMPLATES: &[&str] = &[
    "处理一下{p}的{t}",
    "给{p}写测试，重点是{t}",
    "{p}循环之前加一个判断，避免{t}",
    "把{p}恢复到上一个版本，看看{t}",
    "上次发布把{p}弄坏了，出现{t}",
    "{p}升级之前没有{t}，现在有了",
    "昨天{p}的日志里有没有{t}",
    "撤销上次提交里对{p}{t}的改动",
    "上周{p}的{t}出现了多少次",
    "部署之前检查{p}的{t}",
    "解释一下{p}是怎么处理{t}的",
    "{p}上次运行的时候有{t}",
    "把{p}之前的代码删掉，解决{t}",
    "{p}的{t}和上个月的数据对比一下",
];
/// Parts of systems that no session is about.
const UNKNOWN_PARTS: &[&str] = &[
    "ray tracer",
    "midi sequencer",
    "chess engine",
    "recipe planner",
    "satellite tracker",
    "loan calculator",
    "poker bot",
    "weather widget",
    "barcode scanner",
    "karaoke mixer",
    "genome aligner",
    "parking meter",
];
const ZH_UNKNOWN_PARTS: &[&str] = &[
    "光线追踪",
    "围棋引擎",
    "菜谱推荐",
    "卫星轨道",
    "房贷计算",
    "天气小组件",
    "扫码枪",
    "停车计时",
    "基因比对",
    "点歌台",
];

pub(super) fn all_prompts(history: &History, seed: u64) -> Result<Vec<Prompt>, String> {
    let mut prompts = written_prompts(history)?;
    let mut rng = Rng::new(seed ^ STREAM, 0);
    let made: Vec<&Session> = history.sessions.iter().filter(|session| session.subject.is_some()).collect();
    for _ in 0..REFERRING_COUNT {
        let meant = latest_of_subject(rng.pick::<&Session>(&made), &made);
        prompts.push(referring_prompt(meant, &mut rng));
    }
    let any: Vec<Subject> = made.iter().filter_map(|session| session.subject).collect();
    for _ in 0..ORDINARY_COUNT {
        let about = *rng.pick(&any);
        let text = fill_template(
            if about.chinese { ZH_ORDINARY_TEMPLATES } else { ORDINARY_TEMPLATES },
            about,
            "",
            &mut rng,
        );
        let cwd = PathBuf::from(&rng.pick(&made).project);
        prompts.push(Prompt { text, kind: kind_name("ordinary", about), target: None, cwd });
    }
    for _ in 0..NEVER_DISCUSSED_COUNT {
        let about = *rng.pick(&history.unused);
        let text = fill_template(
            if about.chinese { ZH_REFERRING_TEMPLATES } else { REFERRING_TEMPLATES },
            about,
            pick_time(&mut rng, about),
            &mut rng,
        );
        let cwd = PathBuf::from(&rng.pick(&made).project);
        prompts.push(Prompt { text, kind: kind_name("never discussed", about), target: None, cwd });
    }
    for _ in 0..UNKNOWN_PART_COUNT {
        prompts.push(unknown_part_prompt(*rng.pick(&any), &mut rng));
    }
    prompts.sort_by(|a, b| a.text.cmp(&b.text));
    prompts.dedup_by(|a, b| a.text == b.text);
    Ok(prompts)
}

fn kind_name(what: &str, about: Subject) -> String {
    format!("{what} {}", if about.chinese { "zh" } else { "en" })
}

/// A time expression for something that never happened.
fn pick_time(rng: &mut Rng, about: Subject) -> &'static str {
    let times = if about.chinese {
        ["上周", "上个月", "前几天"]
    } else {
        ["last week", "last month", "the other day"]
    };
    times[rng.below(times.len())]
}

/// The latest session about the same subject: that is the one a user would mean.
fn latest_of_subject<'h>(session: &'h Session, made: &[&'h Session]) -> &'h Session {
    let pair = |session: &Session| session.subject.map(|about| (about.chinese, about.part, about.trouble));
    let same = made.iter().filter(|other| pair(other) == pair(session));
    same.max_by_key(|other| other.at).copied().unwrap_or(session)
}

fn referring_prompt(session: &Session, rng: &mut Rng) -> Prompt {
    let about = session.subject.unwrap_or(Subject { chinese: false, part: 0, trouble: 0, name: "" });
    let when = time_phrase(session, about.chinese);
    let text = fill_template(
        if about.chinese { ZH_REFERRING_TEMPLATES } else { REFERRING_TEMPLATES },
        about,
        &when,
        rng,
    );
    let cwd = if rng.per_mille(700) { PathBuf::from(&session.project) } else { unrelated_cwd() };
    Prompt { text, kind: kind_name("made up", about), target: Some(session.id.clone()), cwd }
}

/// The session's time, as a user would say it today.
fn time_phrase(session: &Session, chinese: bool) -> String {
    let days = (NOW - session.at) / 86_400_000;
    let month: usize = record::Stamp(session.at).to_string()[5..7].parse().unwrap_or(1);
    match (days, chinese) {
        (0..=1, false) => "yesterday".to_string(),
        (0..=1, true) => "昨天".to_string(),
        (2..=13, false) => "last week".to_string(),
        (2..=13, true) => "上周".to_string(),
        (14..=55, false) => "last month".to_string(),
        (14..=55, true) => "上个月".to_string(),
        (_, false) => format!("in {}", MONTHS[month - 1]),
        (_, true) => format!("{month}月份"),
    }
}

/// Fills a template, with synonyms in a quarter of the cases.
fn fill_template(templates: &[&str], about: Subject, when: &str, rng: &mut Rng) -> String {
    let subjects: Subjects = if about.chinese { chinese_subjects() } else { english_subjects() };
    let called =
        |pair: (&'static str, &'static str), rng: &mut Rng| if rng.per_mille(250) { pair.1 } else { pair.0 };
    let (part, trouble) =
        (called(subjects.parts[about.part], rng), called(subjects.troubles[about.trouble], rng));
    let text = rng.pick(templates).replace("{p}", part).replace("{t}", trouble);
    text.replace("{d}", about.name).replace("{w}", when)
}

fn unknown_part_prompt(about: Subject, rng: &mut Rng) -> Prompt {
    let subjects = if about.chinese { chinese_subjects() } else { english_subjects() };
    let part = rng.pick(if about.chinese { ZH_UNKNOWN_PARTS } else { UNKNOWN_PARTS });
    let when = pick_time(rng, about);
    let template = rng.pick(if about.chinese { ZH_REFERRING_TEMPLATES } else { REFERRING_TEMPLATES });
    let text = template.replace("{p}", part).replace("{t}", subjects.troubles[about.trouble].0);
    let text = text.replace("{d}", about.name).replace("{w}", when);
    Prompt { text, kind: kind_name("unknown part", about), target: None, cwd: unrelated_cwd() }
}

fn written_prompts(history: &History) -> Result<Vec<Prompt>, String> {
    let lines = |file: &'static str| file.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let language = |text: &str| if text.is_ascii() { "en" } else { "zh" };
    let mut prompts = Vec::new();
    for line in lines(REFERRING_BY_HAND) {
        let [id, place, text] = line.split('\t').collect::<Vec<_>>()[..] else {
            return Err(format!("expected three columns: {line}"));
        };
        let session = history.sessions.iter().find(|session| session.id == id);
        let session = session.ok_or_else(|| format!("unknown session {id}"))?;
        let cwd = if place == "here" { PathBuf::from(&session.project) } else { unrelated_cwd() };
        let kind = format!("by hand {}", language(text));
        prompts.push(Prompt { text: text.to_string(), kind, target: Some(id.to_string()), cwd });
    }
    for (nth, line) in lines(ORDINARY_BY_HAND).enumerate() {
        let (sort, text) = line.split_once('\t').ok_or_else(|| format!("expected two columns: {line}"))?;
        let cwd = PathBuf::from(&history.sessions[nth % history.sessions.len()].project);
        let kind = format!("by hand: {sort} {}", language(text));
        prompts.push(Prompt { text: text.to_string(), kind, target: None, cwd });
    }
    Ok(prompts)
}
