//! Derives a session's tags: its project, its languages and kinds of work, and the files it was mostly about.
//!
//! Does not know how often a tag is used elsewhere.

use crate::digest::{Digest, file_name, sorted_by_count};
use crate::prose::prose_lines;
use crate::talk::Talk;
use crate::talk::work::guess_work;

pub(crate) const MAX_TAGS: usize = 8;

/// Languages by file extension.
const LANGUAGES: &[(&str, &[&str])] = &[
    ("rust", &["rs"]),
    ("python", &["py", "ipynb"]),
    ("typescript", &["ts", "tsx"]),
    ("javascript", &["js", "jsx", "mjs", "cjs"]),
    ("go", &["go"]),
    ("java", &["java"]),
    ("kotlin", &["kt", "kts"]),
    ("csharp", &["cs"]),
    ("cpp", &["cpp", "cc", "cxx", "hpp"]),
    ("c", &["c", "h"]),
    ("ruby", &["rb"]),
    ("php", &["php"]),
    ("swift", &["swift"]),
    ("sql", &["sql"]),
    ("shell", &["sh", "bash", "zsh"]),
    ("html", &["html", "vue", "svelte"]),
    ("css", &["css", "scss"]),
];

/// A kind of work, recognised by words of a prompt, prefixes of commands and parts of paths.
struct WorkKind {
    tag: &'static str,
    words: &'static [&'static str],
    commands: &'static [&'static str],
    paths: &'static [&'static str],
}

const WORK_KINDS: &[WorkKind] = &[
    WorkKind {
        tag: "bug_fix",
        words: &[
            "fix",
            "bug",
            "crash",
            "broken",
            "panics",
            "regression",
            "fails",
            "failing",
            "修复",
            "报错",
            "崩溃",
            "错误",
        ],
        commands: &[],
        paths: &[],
    },
    WorkKind {
        tag: "tests",
        words: &["test", "tests", "coverage", "测试"],
        commands: &[
            "cargo test",
            "cargo nextest",
            "pytest",
            "npm test",
            "npx jest",
            "npx vitest",
            "go test",
            "dotnet test",
            "mvn test",
        ],
        paths: &["/tests/", "/test/", "_test.", ".test.", ".spec.", "/__tests__/"],
    },
    WorkKind {
        tag: "refactor",
        words: &["refactor", "rename", "clean up", "extract", "simplify", "重构", "重命名"],
        commands: &[],
        paths: &[],
    },
    WorkKind {
        tag: "docs",
        words: &["readme", "documentation", "docs", "changelog", "文档"],
        commands: &[],
        paths: &[".md", "/docs/"],
    },
    WorkKind {
        tag: "build",
        words: &["ci", "build", "compile", "dependency", "dependencies", "upgrade", "构建", "编译", "依赖"],
        commands: &["make", "cmake", "npm install", "npm ci", "docker build", "cargo add", "pip install"],
        paths: &["cargo.toml", "package.json", "dockerfile", "makefile", ".github/", "pom.xml", ".csproj"],
    },
    WorkKind {
        tag: "git",
        words: &["merge conflict", "rebase", "cherry-pick", "合并冲突"],
        commands: &["git rebase", "git merge", "git cherry-pick", "git bisect"],
        paths: &[],
    },
    WorkKind {
        tag: "performance",
        words: &[
            "slow",
            "performance",
            "faster",
            "speed up",
            "latency",
            "memory usage",
            "profile",
            "性能",
            "优化",
            "太慢",
        ],
        commands: &["perf ", "hyperfine", "cargo bench"],
        paths: &["/benches/"],
    },
    WorkKind {
        tag: "feature",
        words: &["add", "implement", "support", "new feature", "新增", "实现", "添加", "加上"],
        commands: &[],
        paths: &[],
    },
    WorkKind { tag: "review", words: &["review", "code review", "评审"], commands: &["gh pr"], paths: &[] },
    WorkKind {
        tag: "question",
        words: &["why", "explain", "how does", "what is", "为什么", "解释", "怎么"],
        commands: &[],
        paths: &[],
    },
    WorkKind {
        tag: "data",
        words: &["database", "schema", "migration", "query", "数据库", "迁移"],
        commands: &["psql", "sqlite3", "mysql"],
        paths: &["/migrations/", ".sql"],
    },
    WorkKind {
        tag: "design",
        words: &["architecture", "design", "plan", "架构", "方案", "设计"],
        commands: &[],
        paths: &[],
    },
];

pub(crate) fn derive_tags(digest: &Digest, talk: &Talk) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut add = |tag: String| {
        if all.len() < MAX_TAGS && !tag.is_empty() && !all.contains(&tag) {
            all.push(tag);
        }
    };
    add(normalise_tag(digest.project_name()));
    detect_languages(digest).into_iter().take(2).for_each(|language| add(language.to_string()));
    for kind in detect_work_kinds(digest, talk) {
        add(kind.to_string());
    }
    sorted_by_count(&digest.files_changed)
        .into_iter()
        .map(file_name)
        .take(2)
        .for_each(|file| add(normalise_tag(file)));
    all
}

/// The normalised form of a tag: lower case, no whitespace.
pub fn normalise_tag(text: &str) -> String {
    let joined = text.split_whitespace().collect::<Vec<_>>().join("-").to_lowercase();
    let kept = |c: &char| c.is_alphanumeric() || "-_.+#".contains(*c);
    joined.chars().filter(kept).take(40).collect::<String>().trim_matches(['-', '.']).to_string()
}

fn detect_languages(digest: &Digest) -> Vec<&'static str> {
    let mut counted: Vec<(u32, &'static str)> = Vec::new();
    for (language, endings) in LANGUAGES {
        let is = |path: &str| {
            path.rsplit_once('.').is_some_and(|(_, ending)| endings.contains(&ending.to_lowercase().as_str()))
        };
        let changed: u32 =
            digest.files_changed.iter().filter(|(path, _)| is(path)).map(|(_, n)| n * 10).sum();
        let looked: u32 = digest.files_read.iter().filter(|(path, _)| is(path)).map(|(_, n)| *n).sum();
        if changed + looked > 0 {
            counted.push((changed + looked, language));
        }
    }
    counted.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    counted.into_iter().map(|(_, language)| language).collect()
}

/// The kinds of work. An exchange is judged as a whole; a session of few words by the words themselves.
fn detect_work_kinds(digest: &Digest, talk: &Talk) -> Vec<&'static str> {
    let by_words = work_kinds_by_words(digest);
    match digest.replies.len() {
        0 | 1 => by_words.into_iter().take(3).collect(),
        2 => by_words.into_iter().take(1).chain(guess_work(digest, talk)).collect(),
        _ => guess_work(digest, talk),
    }
}

/// The kinds of work with the most evidence; ties in table order.
fn work_kinds_by_words(digest: &Digest) -> Vec<&'static str> {
    let prompts = digest
        .prompts
        .iter()
        .take(50)
        .map(|prompt| prose_lines(&prompt.text).to_lowercase())
        .collect::<Vec<_>>()
        .join("\n");
    let paths: Vec<String> =
        digest.files_changed.keys().map(|path| format!("/{}", path.to_lowercase())).collect();
    let signs = |work: &WorkKind| {
        let words = work.words.iter().filter(|word| contains_word(&prompts, word)).count();
        let run = work
            .commands
            .iter()
            .filter(|begin| digest.commands.iter().any(|command| command.contains(**begin)))
            .count();
        let touched = work.paths.iter().filter(|part| paths.iter().any(|path| path.contains(**part))).count();
        words * 2 + run + touched
    };
    let mut counted: Vec<(usize, &WorkKind)> =
        WORK_KINDS.iter().map(|work| (signs(work), work)).filter(|(n, _)| *n > 0).collect();
    counted.sort_by_key(|(n, _)| std::cmp::Reverse(*n));
    counted.into_iter().map(|(_, work)| work.tag).collect()
}

/// Whether the word occurs by itself; a Chinese word may occur anywhere. `SCENARIO:slow`, `--fix` and `feature/build`
/// are names.
fn contains_word(text: &str, word: &str) -> bool {
    let joins = |c: char| c.is_alphanumeric() || "_-:/=@".contains(c);
    let bounded = |at: usize| {
        let before = text[..at].chars().next_back().is_none_or(|c| !joins(c));
        let mut after = text[at + word.len()..].chars();
        let ends = match after.next() {
            Some(c) if c.is_alphanumeric() => false,
            Some(c) if joins(c) => after.next().is_none_or(|c| !c.is_alphanumeric()),
            _ => true,
        };
        before && ends
    };
    text.match_indices(word).any(|(at, _)| !word.is_ascii() || bounded(at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::DigestMessage;
    use record::{Role, Stamp};

    fn tags_of(digest: &Digest) -> Vec<String> {
        derive_tags(digest, &Talk::new(digest))
    }

    fn sample_digest(prompt: &str, changed: &[&str], commands: &[&str]) -> Digest {
        Digest {
            project: "/srv/My Shop".into(),
            prompts: vec![DigestMessage {
                id: "m".into(),
                role: Role::User,
                at: Stamp::NONE,
                text: prompt.into(),
            }],
            files_changed: changed.iter().map(|path| ((*path).to_string(), 1)).collect(),
            commands: commands.iter().map(ToString::to_string).collect(),
            ..Digest::default()
        }
    }

    #[test]
    fn a_session_is_tagged_by_its_subject() {
        for (digest, expected) in [
            (
                sample_digest("fix the crash in the pager", &["src/pager.rs"], &["cargo test"]),
                vec!["my-shop", "rust", "bug_fix", "tests", "pager.rs"],
            ),
            (sample_digest("更新文档", &["docs/a.md"], &[]), vec!["my-shop", "docs", "a.md"]),
            (sample_digest("attest the precision", &[], &[]), vec!["my-shop"]),
            (sample_digest("SCENARIO:slow run it with --fix on feature/build", &[], &[]), vec!["my-shop"]),
            (
                sample_digest("why is it slow: fix?", &[], &[]),
                vec!["my-shop", "bug_fix", "performance", "question"],
            ),
        ] {
            assert_eq!(tags_of(&digest), expected);
        }
    }

    #[test]
    fn tags_are_few_and_each_is_one_word() {
        let files: Vec<String> = (0..40).map(|n| format!("d/File {n}.py")).collect();
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let tags = tags_of(&sample_digest(
            "fix test refactor docs build slow add review why database plan",
            &files,
            &["make", "git rebase"],
        ));
        assert!(tags.len() <= MAX_TAGS && tags.iter().all(|tag| !tag.contains(' ')), "{tags:?}");
    }
}
