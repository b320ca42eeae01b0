//! The history that prompts refer to: the hand-written sessions of the talk set among hundreds of generated ones.
//! Those are about neighbouring subjects: twenty-six parts of a system with twenty-two troubles each, in English and
//! in Chinese; some pairs occur more than once and some never, and each session mentions its neighbours.
//!
//! Does not know the prompts.

use crate::quality::rng::Rng;
use crate::repository;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// 2026-11-15T12:00:00Z.
pub(super) const NOW: i64 = 1_794_744_000_000;
const DAY: i64 = 86_400_000;
const SESSIONS: usize = 1_000;
const STREAM: u64 = 0x7265_636f;
/// Age of the oldest session in days.
const OLDEST: usize = 300;

/// Subjects, each with a synonym.
pub(super) struct Subjects {
    pub(super) parts: Vec<(&'static str, &'static str)>,
    pub(super) troubles: Vec<(&'static str, &'static str)>,
    pub(super) chinese: bool,
}

fn parse_pairs(list: &'static str) -> Vec<(&'static str, &'static str)> {
    list.split(';').filter_map(|pair| pair.trim().split_once('|')).collect()
}

pub(super) fn english_subjects() -> Subjects {
    let parts = "connection pool|db pool;rate limiter|throttling;upload endpoint|file uploads;search index|full text \
        search;login form|sign-in page;export job|data export;config loader|settings file;scheduler|cron runner;billing \
        service|invoicing;notification queue|push messages;audit log|audit trail;feature flags|toggles;image \
        resizer|thumbnails;report builder|reports;session store|session cache;webhook dispatcher|webhooks;email \
        templates|mail templates;backup script|backups;release pipeline|release process;access control|permissions;csv \
        importer|csv import;metrics collector|telemetry;geo lookup|ip location;payment client|payments;comment \
        editor|comment box;inventory sync|stock sync";
    let troubles = "timeouts under load|timing out;memory growth|eating memory;duplicate entries|duplicates;unicode \
        names|non-ascii names;retry policy|retrying;slow queries|slowness;test coverage|tests;pagination|paging;error \
        messages|error texts;schema migration|schema change;log noise|too much logging;dead code|unused code;parallel \
        writes|concurrent writes;expired tokens|token expiry;time zones|timezone handling;batch size|batching;health \
        checks|liveness;dependency upgrade|upgrading dependencies;naming|names;documentation|docs;input \
        validation|validation;cold start|startup time";
    Subjects { parts: parse_pairs(parts), troubles: parse_pairs(troubles), chinese: false }
}

pub(super) fn chinese_subjects() -> Subjects {
    let parts = "连接池|数据库连接;限流器|限流;上传接口|文件上传;搜索索引|全文搜索;登录页|登录表单;导出任务|数据导出;配置加载|配置文件;\
        调度器|定时任务;计费服务|账单;消息队列|消息推送;审计日志|操作日志;灰度开关|开关;图片压缩|缩略图;报表生成|报表;会话缓存|会话存储;\
        回调分发|回调;邮件模板|邮件;数据库备份|备份脚本;发布流水线|发版;权限控制|权限;库存同步|库存;评论编辑器|评论框";
    let troubles = "超时|老是超时;内存上涨|吃内存;重复数据|重复;中文文件名|乱码;重试策略|重试;慢查询|很慢;测试覆盖|测试;分页|翻页;\
        错误提示|报错文案;表结构迁移|改表;日志太多|日志;废弃代码|没用的代码;并发写入|并发;令牌过期|过期;时区处理|时区;批量大小|批量;\
        健康检查|探活;依赖升级|升级依赖;命名规范|命名;参数校验|校验";
    Subjects { parts: parse_pairs(parts), troubles: parse_pairs(troubles), chinese: true }
}

const NAMES: &str = "amber basalt cobalt dahlia ember fjord garnet heron indigo juniper kestrel lichen marble nectar osprey \
    pewter quartz russet saffron thistle umber violet walnut yarrow";
const PROJECTS: &str = "storefront ledger-api console mobile-app data-pipeline ops-charts desktop search-svc identity \
    partner-hub media-svc back-office";

const OPENINGS: &[&str] = &[
    "we have to do something about {t} in the {p}",
    "{t} in the {p}: where do we start?",
    "please look at the {p}, {t} is getting worse",
    "the {p} again. this is about {t}",
    "can you go through the {p} and deal with {t}?",
];
const ANSWERS: &[&str] = &[
    "I read the {p}. What you see as {t} begins where the {q} hands over; {u} there is a separate matter.",
    "The {p} keeps too much state. With {t} in mind I would split it and leave the {q} as it is.",
    "Two options for {t}: change the {p} itself, or let the {q} take care of it. The second also touches {u}.",
    "Done. The {p} no longer suffers from {t}; I left {u} in the {q} for later.",
    "I added a test for {t}. The one for {u} in the {q} still passes.",
];
const FOLLOW_UPS: &[&str] = &[
    "and what about the {q}?",
    "does that change {u}?",
    "ok, but keep it small",
    "what would it cost to do the same for the {q}?",
    "go ahead",
];
const DECISIONS: &[&str] = &[
    "agreed: {d} it is, with a limit of {n}",
    "let's keep {d} and set it to {n}",
    "decision: we go with {d}, {n} at most",
];
const ZH_OPENINGS: &[&str] = &[
    "{p}的{t}要处理一下",
    "{p}又出问题了，这次是{t}",
    "帮我看看{p}，{t}越来越严重",
    "{p}{t}，从哪里下手？",
    "把{p}过一遍，重点是{t}",
];
const ZH_ANSWERS: &[&str] = &[
    "看了{p}的代码，{t}是从{q}那边带过来的，{u}是另外一回事。",
    "{p}保存的状态太多了，考虑到{t}，建议拆开，{q}先不动。",
    "{t}有两种改法：改{p}本身，或者交给{q}，后者会牵涉{u}。",
    "改好了，{p}不再有{t}，{q}里的{u}以后再说。",
    "补了{t}的测试，{q}的{u}测试也通过。",
];
const ZH_FOLLOW_UPS: &[&str] =
    &["那{q}呢？", "会影响{u}吗？", "可以，改动小一点", "{q}也这样改要多久？", "继续"];
const ZH_DECISIONS: &[&str] = &["同意，就用{d}，上限{n}", "定了：{d}，设成{n}", "就这么办，{d}，最多{n}"];

pub(super) struct Session {
    pub(super) id: String,
    pub(super) project: String,
    pub(super) at: i64,
    title: Option<String>,
    turns: Vec<(&'static str, String)>,
    /// The subject of a generated session: language, part, trouble, and the name of the decision.
    pub(super) subject: Option<Subject>,
}

#[derive(Clone, Copy)]
pub(super) struct Subject {
    pub(super) chinese: bool,
    pub(super) part: usize,
    pub(super) trouble: usize,
    pub(super) name: &'static str,
}

pub(super) struct History {
    pub(super) sessions: Vec<Session>,
    /// Subjects that no session is about.
    pub(super) unused: Vec<Subject>,
}

impl History {
    pub(super) fn new(seed: u64) -> Result<History, String> {
        let mut sessions = load_written_sessions()?;
        let mut rng = Rng::new(seed ^ STREAM, 0);
        let (mut english, mut chinese) = (
            shuffle_subjects(&english_subjects(), &mut rng),
            shuffle_subjects(&chinese_subjects(), &mut rng),
        );
        let left = SESSIONS - sessions.len();
        // One in six repeats an earlier subject.
        let (first, second) = (left * 11 / 20, left * 9 / 20 + 1);
        let mut abouts: Vec<Subject> = english.drain(..first * 5 / 6).collect();
        abouts.extend(chinese.drain(..(second * 5 / 6).min(chinese.len() - 40)).collect::<Vec<_>>());
        while abouts.len() < left {
            let again = *rng.pick(&abouts);
            abouts.push(Subject { name: pick_name(&mut rng), ..again });
        }
        abouts.truncate(left);
        let made = abouts.iter().enumerate().map(|(nth, about)| generate_session(seed, nth, *about));
        sessions.extend(made);
        english.truncate(60);
        chinese.truncate(40);
        english.extend(chinese);
        Ok(History { sessions, unused: english })
    }

    /// The text of a session, to explain why it was mistaken for another.
    pub(super) fn session_text(&self, id: &str) -> String {
        let turns =
            self.sessions.iter().filter(|session| session.id == id).flat_map(|session| &session.turns);
        turns.map(|(role, text)| format!("{role}: {text}")).collect::<Vec<_>>().join(" / ")
    }

    /// Writes the transcripts in the format of Claude Code.
    pub(super) fn write(&self, home: &Path) -> Result<(), String> {
        for session in &self.sessions {
            let folder = home.join(".claude/projects").join(session.project.replace('/', "-"));
            let file = folder.join(format!("{}.jsonl", session.id));
            let fail = |error: std::io::Error| format!("{}: {error}", file.display());
            fs::create_dir_all(&folder).map_err(fail)?;
            fs::write(&file, session.to_transcript()).map_err(fail)?;
        }
        Ok(())
    }
}

fn shuffle_subjects(subjects: &Subjects, rng: &mut Rng) -> Vec<Subject> {
    let mut all: Vec<Subject> = (0..subjects.parts.len())
        .flat_map(|part| (0..subjects.troubles.len()).map(move |trouble| (part, trouble)))
        .map(|(part, trouble)| Subject { chinese: subjects.chinese, part, trouble, name: pick_name(rng) })
        .collect();
    for at in (1..all.len()).rev() {
        let other = rng.below(at + 1);
        all.swap(at, other);
    }
    all
}

fn pick_name(rng: &mut Rng) -> &'static str {
    let names: Vec<&'static str> = NAMES.split_whitespace().collect();
    names[rng.below(names.len())]
}

fn session_id(nth: usize, kind: u32) -> String {
    format!("{:08x}-0000-4000-8000-{kind:012}", (nth as u32 + 1).wrapping_mul(2_654_435_761))
}

fn load_written_sessions() -> Result<Vec<Session>, String> {
    let path = repository::root().join("crates/search/testdata/talk/sessions.json");
    let fail = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = fs::read_to_string(&path).map_err(|error| fail(&error))?;
    let values: Vec<Value> = serde_json::from_str(&text).map_err(|error| fail(&error))?;
    Ok(values.iter().map(parse_written_session).collect())
}

fn parse_written_session(value: &Value) -> Session {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let turns = value["messages"].as_array().into_iter().flatten().map(|message| {
        let role = match message["role"].as_str() {
            Some("user") => "user",
            Some("tool") => "tool",
            _ => "assistant",
        };
        (role, text(&message["text"]))
    });
    Session {
        id: text(&value["id"]),
        project: text(&value["project"]),
        at: record::Stamp::parse(text(&value["started_at"]).as_bytes()).0,
        title: value["title"].as_str().map(str::to_owned),
        turns: turns.collect(),
        subject: None,
    }
}

fn generate_session(seed: u64, nth: usize, about: Subject) -> Session {
    let mut rng = Rng::new(seed ^ STREAM, nth as u64 + 1);
    let subjects = if about.chinese { chinese_subjects() } else { english_subjects() };
    let (openings, answers, follow_ups, decisions) = if about.chinese {
        (ZH_OPENINGS, ZH_ANSWERS, ZH_FOLLOW_UPS, ZH_DECISIONS)
    } else {
        (OPENINGS, ANSWERS, FOLLOW_UPS, DECISIONS)
    };
    let mut turns = vec![("user", fill_template(openings, &subjects, about, &mut rng))];
    for _ in 0..rng.in_range(2, 6) {
        turns.push(("assistant", fill_template(answers, &subjects, about, &mut rng)));
        if rng.per_mille(400) {
            turns.push(("tool", generate_log(&subjects, about, &mut rng)));
        }
        turns.push(("user", fill_template(follow_ups, &subjects, about, &mut rng)));
    }
    turns.push(("assistant", fill_template(answers, &subjects, about, &mut rng)));
    turns.push(("user", fill_template(decisions, &subjects, about, &mut rng)));
    turns.push(("assistant", fill_template(answers, &subjects, about, &mut rng)));
    let (part, trouble) = (subjects.parts[about.part].0, subjects.troubles[about.trouble].0);
    let title = if about.chinese { format!("{part}：{trouble}") } else { format!("{part}: {trouble}") };
    Session {
        id: session_id(nth, 1),
        project: project_path(about.part + rng.below(3)),
        at: NOW - draw_age(&mut rng),
        title: rng.per_mille(400).then_some(title),
        turns,
        subject: Some(about),
    }
}

/// Half of the sessions are in the last third of the time; none is from today.
fn draw_age(rng: &mut Rng) -> i64 {
    let (one, other) = (rng.below(OLDEST * 24), rng.below(OLDEST * 24));
    (one.min(other) as i64 + 12) * DAY / 24
}

fn project_path(nth: usize) -> String {
    let all: Vec<&str> = PROJECTS.split_whitespace().collect();
    format!("/home/dev/{}", all[nth % all.len()])
}

fn fill_template(templates: &[&str], subjects: &Subjects, about: Subject, rng: &mut Rng) -> String {
    let (other, another) = (rng.pick(&subjects.parts).0, rng.pick(&subjects.troubles).0);
    rng.pick(templates)
        .replace("{p}", subjects.parts[about.part].0)
        .replace("{t}", subjects.troubles[about.trouble].0)
        .replace("{q}", other)
        .replace("{u}", another)
        .replace("{d}", about.name)
        .replace("{n}", &rng.in_range(2, 900).to_string())
}

fn generate_log(subjects: &Subjects, about: Subject, rng: &mut Rng) -> String {
    let mut text = String::new();
    for _ in 0..rng.in_range(2, 12) {
        let part =
            if rng.per_mille(500) { subjects.parts[about.part].0 } else { rng.pick(&subjects.parts).0 };
        let trouble = rng.pick(&subjects.troubles).0;
        let (file, line) = (part.replace(' ', "_"), rng.in_range(1, 900).to_string());
        text.extend(["src/", &file, ".rs:", &line, ": warning: ", trouble, "\n"]);
    }
    text
}

impl Session {
    fn to_transcript(&self) -> String {
        let mut out = String::new();
        let mut parent = Value::Null;
        if let Some(title) = &self.title {
            let line = json!({"type": "custom-title", "customTitle": title, "sessionId": self.id});
            out.extend([line.to_string().as_str(), "\n"]);
        }
        for (nth, (role, text)) in self.turns.iter().enumerate() {
            let uuid = format!("{}-{nth}", self.id);
            let mut line = json!({
                "parentUuid": parent, "isSidechain": false, "userType": "external", "cwd": self.project,
                "sessionId": self.id, "version": "2.1.100", "gitBranch": "main", "uuid": uuid,
                "timestamp": record::Stamp(self.at + nth as i64 * 40_000).to_string(),
            });
            let message = match *role {
                "user" => json!({"role": "user", "content": text}),
                role => reply_message(role, &uuid, text),
            };
            line["type"] = json!(if *role == "user" { "user" } else { "assistant" });
            line["message"] = message;
            out.extend([line.to_string().as_str(), "\n"]);
            parent = json!(uuid);
        }
        out
    }
}

fn reply_message(role: &str, uuid: &str, text: &str) -> Value {
    let block = if role == "tool" {
        json!({"type": "tool_use", "id": format!("toolu_{uuid}"), "name": "Bash", "input": {"command": text}})
    } else {
        json!({"type": "text", "text": text})
    };
    json!({"id": format!("msg_{uuid}"), "role": "assistant", "model": "claude-opus-5-5", "content": [block]})
}

/// A working directory that belongs to none of the projects.
pub(super) fn unrelated_cwd() -> PathBuf {
    PathBuf::from("/home/dev/scratchpad")
}
