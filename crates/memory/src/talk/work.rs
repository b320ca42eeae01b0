//! Describes a whole session for the question which kinds of work it was: words of its opening, of the person and of the
//! agent, and what the tools did.
//!
//! Does not decide: the weights are learned (`cargo xtask train talk`).

use super::Talk;
use super::cues::{compile, fold};
use super::model::Linear;
use crate::digest::Digest;
use record::Role;
use regex::Regex;
use std::sync::LazyLock;

/// The kinds of work, each with words that suggest it.
#[rustfmt::skip] // a table
pub const WORK_KINDS: &[(&str, &str)] = &[
    ("bug_fix", r"\b(bug|fix(e[sd])?|crash(es|ed|ing)?|broken|breaks?|regress\w*|fail(s|ing|ed|ure)?|wrong|error|exception|panics?|flaky|garbled|off by|duplicates?|twice|vanish\w*|disappear\w*|stale|doesn'?t work|segfault|hangs?|leak\w*|nan|corrupt\w*)\b|修|报错|崩|错误|失败|不对|乱码|重复|丢|异常|打不开|没了|卡住|bug|闪退|缺|错位|漏"),
    ("feature", r"\b(add(s|ing)?|implement\w*|support(s|ing)?|new|feature|want|wants|build|introduce|allow|enable|endpoint|button|export|page|wire|customers? (want|ask)|product wants?|need a|would like)\b|新增|实现|添加|加(个|一个|上)|支持|做(个|一个)|接入|功能|需求|想要|要一个|上线"),
    ("refactor", r"\b(refactor\w*|clean ?up|rename\w*|extract\w*|simplif\w*|split(ting)?|move .* into|deduplicat\w*|untangle|restructure|monolith|lines long|mess|dead code|legacy|replace|rewrite|drop|rip|get rid)\b|重构|拆|整理|抽(出|成)|合并|清理代码|重命名|改名|太长|行了|改造|换成"),
    ("performance", r"\b(slow\w*|perf\w*|fast(er)?|latency|throughput|optimi[sz]\w*|speed|p9[59]|profil\w*|cpu|memory|oom|seconds|timeout|n\+1|index|cache|hitch|stutter|fps|load|qps|explain analyze)\b|慢|性能|优化|卡顿|延迟|耗时|内存|压测|qps|索引|吞吐|提速|秒"),
    ("upgrade", r"\b(upgrad\w*|bump\w*|migrat\w*|dependenc\w*|version|deprecat\w*|update|latest|major|node \d|python 3|java \d|go 1|react \d|nest|lts|eol|breaking change|changelog|renovate|dependabot|lockfile)\b|升级|升到|迁移|版本|依赖|换成|替换|兼容|弃用|迁到"),
    ("config", r"\b(config\w*|setup|set up|ci|pipeline|docker\w*|kubernetes|k8s|terraform|helm|deploy\w*|release|env|environment|nginx|systemd|build|cron|runner|workflow|cache key|install|toolchain|compiler|settings?|yaml|makefile|lint\w*|format\w*|pre-commit|tsconfig|cmake)\b|配置|部署|环境|打包|构建|发布|流水线|镜像|安装|搭|ci|脚手架|定时"),
    ("incident", r"\b(incident|outage|down|prod(uction)?|pager|alert\w*|on fire|postmortem|post-mortem|rollback|restore|lost|data loss|customers? (are|cannot|can'?t)|urgent|503|502|500s?|on-call|oncall|sev|emergency|hotfix|impact|vanished|mitigat\w*)\b|事故|故障|线上|告警|报警|出事|炸|回滚|恢复|紧急|复盘|挂了|客诉|生产|打爆|雪崩"),
    ("review", r"\b(review\w*|pr ?#?\d*|pull request|diff|lgtm|approve|comments?|nit|merge request|look over|feedback|second pair)\b|评审|审(一下|查)|review|看(下|看)(这个)?(pr|mr|diff)|合并请求|提意见|代码走查"),
    ("question", r"\b(question|why|explain|how does|what is|what'?s the difference|difference|understand|curious|no code|just asking|wondering|teach|mean(s|ing)?|does it|is it true|when should|vs)\b|为什么|解释|怎么|什么区别|区别|问(一下|个|下)|请教|搞不懂|不写代码|原理|是不是|想搞清楚|科普"),
    ("docs", r"\b(readme|docs?|documentation|changelog|adr|wiki|comment|write up|guide|runbook|docstring|translate)\b|文档|说明|手册|注释|写(篇|个)(文档|说明)|翻译"),
    ("tests", r"\b(tests?|coverage|flaky|mock\w*|fixtures?|e2e|unit test|integration test|playwright|pytest|vitest|assert\w*|regression test)\b|测试|单测|用例|覆盖率|mock|断言"),
    ("chore", r"\b(chores?|clean ?up|housekeeping|small (things|stuff)|few things|bits|typo|delete|remove|tidy|rename|label|branches|unused|gitignore|misc|maintenance|disk|space|script|automat\w*|list of|while you'?re at it|quick)\b|杂活|清理|删(掉|除)|顺手|小改|收拾|打扫|几件|零碎|脚本|磁盘|满了|归档|日常"),
    ("design", r"\b(design|plan|architecture|approach|options?|decide|decision|trade-?offs?|proposal|rfc|schema|model|how (should|would) (we|i)|which (one|way)|think through|before (we|i) (write|code)|strategy|dont write code|don'?t write code|pick|choose|evaluate|contract|api shape|choice)\b|方案|设计|架构|选型|规划|讨论|怎么做|取舍|先别写代码|定一下|思路|商量|评估|选哪|规则"),
    ("research", r"\b(research|spike|explor\w*|experiment\w*|prototype|try out|compare|benchmark|investigat\w*|evaluate|feasib\w*|proof of concept|poc|look into|could we|what if|test drive|measure|numbers)\b|调研|试试|实验|原型|对比|评估|可行|探索|研究|摸底|试验|跑个分"),
];

static PATTERNS: LazyLock<Vec<Regex>> =
    LazyLock::new(|| WORK_KINDS.iter().map(|(_, pattern)| compile(pattern)).collect());

/// Learned weights, `# kind` and then a line per feature.
const WEIGHTS: &str = include_str!("work.kinds.txt");

static MODELS: LazyLock<Vec<(&'static str, Linear)>> = LazyLock::new(|| {
    let parts = WEIGHTS.split("# ").filter(|part| !part.is_empty());
    let known = |word: &str| WORK_KINDS.iter().map(|(kind, _)| *kind).find(|kind| *kind == word);
    parts
        .filter_map(|part| part.split_once('\n'))
        .filter_map(|(word, rest)| Some((known(word)?, Linear::parse(rest))))
        .collect()
});

/// The likelihood above which a third kind is named beside the two likeliest.
const THIRD: f32 = 0.2;
const MAX_KINDS: usize = 3;

/// The kinds of work of a session, the likeliest first.
pub(crate) fn guess_work(digest: &Digest, talk: &Talk) -> Vec<&'static str> {
    let features = describe(digest, talk);
    let likely = |linear: &Linear| 1.0 / (1.0 + (-linear.sum(&features)).exp());
    let mut all: Vec<(f32, &str)> = MODELS.iter().map(|(kind, linear)| (likely(linear), *kind)).collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    let many = all.iter().take(MAX_KINDS).filter(|(likely, _)| *likely > THIRD).count().max(2);
    all.into_iter().take(many).map(|(_, kind)| kind).collect()
}

fn describe(digest: &Digest, talk: &Talk) -> Vec<u8> {
    features_of(digest, talk).into_iter().map(|(_, value)| value).collect()
}

/// The features of a session's work, for training.
pub fn describe_work(digest: &Digest) -> Vec<u8> {
    describe(digest, &Talk::new(digest))
}

pub fn work_feature_names() -> Vec<String> {
    let digest = Digest::default();
    features_of(&digest, &Talk::new(&digest)).into_iter().map(|(name, _)| name).collect()
}

fn features_of(digest: &Digest, talk: &Talk) -> Vec<(String, u8)> {
    let said = |role: Role, skip: usize, take: usize| {
        let turns = talk.turns.iter().filter(move |turn| turn.role == role).skip(skip).take(take);
        fold(&turns.map(|turn| turn.message.text.as_str()).collect::<Vec<_>>().join("\n"))
    };
    let many = digest.prompts.len();
    let texts = [
        ("opening", said(Role::User, 0, 1)),
        ("person", said(Role::User, 1, many)),
        ("ending", said(Role::User, many.saturating_sub(1).max(1), 1)),
        ("agent", said(Role::Assistant, 0, usize::MAX)),
        ("commit", fold(&digest.commits.join("\n"))),
    ];
    let mut features = Vec::new();
    for (place, text) in &texts {
        for ((kind, _), pattern) in WORK_KINDS.iter().zip(PATTERNS.iter()) {
            features.push((format!("{place}.{kind}"), pattern.find_iter(text).take(4).count() as u8));
        }
    }
    features
        .extend(action_features(digest, talk).map(|(name, value)| (name.to_string(), value.min(20) as u8)));
    features
}

/// What the tools did.
fn action_features(digest: &Digest, talk: &Talk) -> impl Iterator<Item = (&'static str, usize)> {
    let ran = |words: &[&str]| {
        digest.commands.iter().filter(|command| words.iter().any(|word| command.contains(word))).count()
    };
    let touched = |words: &[&str]| {
        let paths = digest.files_changed.keys().map(|path| path.to_lowercase());
        paths.filter(|path| words.iter().any(|word| path.contains(word))).count()
    };
    let opening = talk.turns.iter().find(|turn| turn.role == Role::User);
    let asks = opening.is_some_and(|turn| turn.sentences.iter().any(|sentence| sentence.is_question));
    let error = opening.is_some_and(|turn| turn.sentences.iter().any(|sentence| sentence.cues.has("error")));
    [
        ("did.edits", digest.files_changed.values().map(|many| *many as usize).sum()),
        ("did.nothing", usize::from(digest.files_changed.is_empty())),
        ("did.calls", digest.calls as usize),
        ("did.failed", digest.errors as usize),
        ("did.tests", ran(&["test", "pytest", "vitest", "jest", "nextest"])),
        ("did.git_log", ran(&["git log", "git show", "git diff", "gh pr"])),
        ("did.install", ran(&["install", "uv ", "npm i", "pnpm add", "go get", "cargo update", "mvn dep"])),
        ("did.measure", ran(&["explain", "bench", "perf ", "time ", "hyperfine", "ab -", "wrk", "top"])),
        ("did.deploy", ran(&["kubectl", "docker", "terraform", "ansible", "systemctl", "helm", "ssh "])),
        ("changed.docs", touched(&[".md", "docs/", ".adoc"])),
        ("changed.tests", touched(&["test", "spec"])),
        (
            "changed.config",
            touched(&[".yml", ".yaml", ".toml", "dockerfile", ".json", ".tf", ".ini", "makefile", ".conf"]),
        ),
        ("said.prompts", digest.prompts.len()),
        ("said.paste", usize::from(opening.is_some_and(|turn| turn.has_paste))),
        ("said.asks", usize::from(asks)),
        ("said.error", usize::from(error)),
    ]
    .into_iter()
}
