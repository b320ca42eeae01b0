//! Phrase tables for interpreting prompts: politeness, fillers, signs of pasted text, of decisions and of instructions.
//! English and Chinese first, then the most common phrases of a few other languages.
//!
//! Does not know how the tables are applied.

/// Tags that clients insert into a prompt, with their content.
#[rustfmt::skip] // a table
pub(crate) const MACHINE_TAGS: &[&str] = &[
    "system-reminder", "local-command-caveat", "local-command-stdout", "local-command-stderr", "command-name",
    "command-message", "command-args", "command-contents", "bash-input", "bash-stdout", "bash-stderr",
    "user-prompt-submit-hook", "ide_opened_file", "ide_selection", "ide_diagnostics", "environment_context",
    "user_instructions", "INSTRUCTIONS", "task-notification", "attachment", "document", "file",
];

/// A line with such a prefix was inserted by the client or represents an image.
#[rustfmt::skip] // a table
pub(crate) const MACHINE_LINES: &[&str] = &[
    "Caveat: The messages below", "[Image", "[image", "[Pasted text", "[Request interrupted", "[data:",
    "[\"data:", "data:image/", "Base directory for this skill",
    "This session is being continued from a previous conversation",
];

/// Prefixes of lines of a log, a stack trace, a diff or a shell.
#[rustfmt::skip] // a table
pub(crate) const PASTED_PREFIXES: &[&str] = &[
    "at ", "File \"", "Traceback", "Caused by", "$ ", "% ", ">>> ", "> ", "❯", "+++", "---", "@@",
    "diff --git", "error[", "error:", "Error:", "warning:", "thread '", "npm ERR", "INFO", "WARN", "ERROR",
    "DEBUG", "FAIL", "   Compiling", "Exception in", "panic:", "goroutine ", "import ", "from __", "#include",
    "public class", "package ", "using System", "fn ", "def ", "const ", "let ", "var ", "//", "/*", "#!",
    "<?", "<!", "|",
];

/// Titles without content.
#[rustfmt::skip] // a table
pub(crate) const EMPTY_TITLES: &[&str] = &[
    "new session", "new chat", "new conversation", "untitled", "warmup", "conversation", "session", "chat",
    "no prompt", "no title", "new thread", "greeting", "quick greeting", "initial greeting", "hello", "新对话",
    "新会话", "无标题",
];

/// Polite beginnings, the longest of each group first. Removed repeatedly.
#[rustfmt::skip] // a table
pub(crate) const OPENERS: &[&str] = &[
    "i would like you to ", "i'd like you to ", "i want you to ", "i need you to ", "i would like to ",
    "i'd like to ", "could you please ", "can you please ", "would you please ", "can you help me to ",
    "can you help me ", "could you help me ", "can you also ", "can you ", "could you ", "would you ",
    "will you ", "can we ", "could we ", "please help me to ", "please help me ", "please go ahead and ",
    "please ", "pls ", "plz ", "help me to ", "help me ", "help us ", "your task is to ", "the task is to ",
    "the goal is to ", "i want to ", "i need to ", "we need to ", "we want to ", "we should ", "you should ",
    "you need to ", "let us ", "let's ", "lets ", "go ahead and ", "i think we should ", "i was thinking we should ", "i was thinking that ",
    "i was thinking ", "maybe we should ", "maybe ", "what if we ", "hello claude",
    "hi claude", "hey claude", "good morning", "good evening", "hello there", "hi there", "hello", "hey",
    "hi", "okay", "ok", "so", "now", "well", "alright", "great", "thanks", "thank you", "yes", "no", "next",
    "then", "also", "and", "first", "actually", "quick question", "question", "bitte", "kannst du bitte ",
    "kannst du ", "könntest du ", "por favor", "puedes ", "podrías ", "s'il te plaît", "s'il vous plaît",
    "peux-tu ", "pouvez-vous ", "tu peux ",
];

/// How a prompt begins that assigns the agent a role, in lower case.
#[rustfmt::skip] // a table
pub(crate) const ROLE_OPENERS: &[&str] = &[
    "you are a ", "you are an ", "you are the ", "you're a ", "you're an ", "you are now a", "act as ", "act like ",
    "you will act", "pretend to be ", "pretend you", "imagine you are ", "imagine you're ", "assume the role ",
    "take the role ", "your role is ", "你是一", "你现在是", "你扮演", "扮演", "你作为", "作为一名", "作为一个",
];

/// Words written in capitals, as people type them.
#[rustfmt::skip] // a table
pub(crate) const ACRONYMS: &[&str] = &[
    "api", "apis", "aws", "cd", "ci", "cli", "cors", "cpu", "css", "csv", "db", "dns", "gcp", "gpu", "html", "http",
    "https", "ide", "jwt", "llm", "mcp", "orm", "pdf", "pr", "ram", "rfc", "sdk", "sql", "ssh", "ssl", "sso", "tls",
    "ui", "url", "urls", "ux", "vm", "xml",
];

#[rustfmt::skip] // a table
pub(crate) const HAN_OPENERS: &[&str] = &[
    "你好", "您好", "嗨", "好的", "好", "请问一下", "请问", "请你帮我", "请帮我", "请帮忙", "请你", "请", "麻烦你帮我", "麻烦帮我", "麻烦你", "麻烦",
    "能不能帮我", "能不能", "能否帮我", "能否", "可不可以", "可以帮我", "你能帮我", "你帮我", "帮我们", "帮忙", "帮我", "我想要你", "我想让你", "我想要",
    "我想", "我需要你", "我需要", "我要", "我们需要", "我们要", "接下来", "现在", "那么", "然后", "另外", "首先", "再",
];

#[rustfmt::skip] // a table
pub(crate) const CLOSERS: &[&str] = &[
    "please", "pls", "thanks", "thank you", "thx", "for me", "ok", "谢谢", "吧", "好吗", "可以吗", "行吗", "ください",
    "お願いします", "bitte",
];

#[rustfmt::skip] // a table
pub(crate) const QUESTIONS: &[&str] = &[
    "why", "what", "how", "where", "which", "who", "when", "is ", "are ", "does ", "do ", "did ", "should",
    "was ", "has ", "have ", "warum", "wie ", "cómo", "por qué", "comment", "pourquoi",
];

/// Phrases that occur in every session and name none.
#[rustfmt::skip] // a table
pub(crate) const FILLERS: &[&str] = &[
    "hi", "hello", "hey", "yo", "test", "testing", "ping", "continue", "go on", "go ahead", "proceed",
    "keep going", "resume", "next", "yes", "no", "y", "n", "ok", "okay", "sure", "done", "thanks",
    "thank you", "great", "nice", "cool", "perfect", "lgtm", "try again", "again", "retry", "stop", "wait",
    "undo", "please", "help", "fix", "do it", "yes please", "please continue", "continue please", "carry on",
    "what", "why", "how", "good", "good morning", "sounds good", "looks good", "i have a question",
    "i have a problem", "we have a problem", "i have an issue", "we have an issue", "we have a bug",
    "here is the context", "context", "background", "task", "see below", "read this", "look at this",
    "what is this", "check this", "see the picture", "one more thing", "same as before", "quick question",
    "implementation plan", "plan", "overview", "summary", "steps", "goal", "goals", "requirements", "description",
    "hope you are well", "hope you're well", "how are you", "are you there", "继续", "继续吧", "好的", "好", "是的",
    "不是", "可以", "行", "嗯", "你好", "您好", "在吗", "谢谢", "开始", "下一步", "再试一次", "重试", "停", "对", "没问题", "测试", "请继续",
    "看看", "看一下", "weiter", "ja", "nein", "danke", "hallo", "continúa", "sí", "gracias", "hola", "oui", "non",
    "merci", "bonjour", "はい", "続けて", "こんにちは", "お願いします",
];

/// Words that refer to something said elsewhere, or fit any request.
#[rustfmt::skip] // a table
pub(crate) const GENERIC_REQUEST_WORDS: &[&str] = &[
    "it", "this", "that", "these", "those", "them", "the", "a", "an", "to", "and", "or", "of", "for", "in",
    "on", "with", "again", "now", "all", "do", "run", "fix", "try", "make", "go", "use", "check", "look",
    "at", "see", "show", "me", "please", "just", "be", "is", "was", "same", "thing", "things", "one", "above",
    "below", "here", "there", "issue", "issues", "problem", "error", "errors", "bug", "bugs", "changes",
    "change", "x", "work", "works", "working", "not", "doesn't", "still", "you", "i", "we", "my", "your",
    "can", "so", "first", "second", "next", "step", "steps",
];

/// Phrases that state a decision anywhere in a sentence.
#[rustfmt::skip] // a table
pub(crate) const DECISION_PHRASES: &[&str] = &[
    "we decided", "we've decided", "we have decided", "i decided", "i've decided", "i have decided",
    "decision:", "we agreed", "we settled on", "from now on", "going forward", "let's go with",
    "let us go with", "we'll go with", "we will go with", "we're going with", "we are going with",
    "remember that", "remember:", "keep in mind that", "our convention", "the convention is", "the rule is",
    "lets go with", "must stay ", "must remain ", "has to stay ", "have to stay ",
    "as a rule", "for future reference", "in this project we", "in this repo we", "don't ever", "do not ever",
    "i prefer ", "we prefer ", "we always ", "we never ", "you must always ", "you must never ",
    "you should always ", "you should never ", "must never ", "should never ", "must always ",
    "should always ", "我们决定", "我决定", "决定采用", "决定使用", "决定用", "以后都", "以后不要", "以后请", "从现在开始", "从今以后", "从今往后",
    "记住", "请记得", "不要再", "别再", "统一用", "统一使用", "统一采用", "一律用", "一律使用", "永远不要", "始终使用", "总是使用", "约定", "我们约定",
    "定下来", "就按",
];

/// Only at the beginning of a sentence: "the build always fails" is not a decision.
#[rustfmt::skip] // a table
pub(crate) const DECISION_BEGINNINGS: &[&str] = &[
    "always ", "never ever ", "never ", "stop using ", "prefer ", "do not use ", "don't use ",
];

/// First words of a request, in lower case.
#[rustfmt::skip] // a table
pub(crate) const REQUEST_VERBS: &[&str] = &[
    "fix", "add", "use", "make", "do", "write", "keep", "run", "update", "change", "rename", "move", "remove", "delete",
    "revert", "commit", "push", "deploy", "test", "check", "create", "build", "split", "merge", "refactor", "try", "put",
    "don't", "go", "continue", "stop", "leave", "drop", "replace", "clean",
];

/// A question or a condition is not a decision.
#[rustfmt::skip] // a table
pub(crate) const NON_DECISION_PHRASES: &[&str] = &[
    "?", "？", "吗", "是否", "要不要", "should we", "shall we", "do we", "what if", "maybe", "perhaps",
    "if we decided", "did we", "have we decided", "whether", "why ", "i don't remember", "do you remember",
    "can't remember", "cannot remember", "如果", "还没决定", "haven't decided", "not decided", "no longer",
    "never mind", "也许", "可能",
];

/// Header names of mails and commits, in lower case.
#[rustfmt::skip] // a table
pub(crate) const MAIL_HEADERS: &[&str] = &[
    "from:", "to:", "cc:", "subject:", "date:", "sent:", "reply-to:", "author:", "von:", "an:", "betreff:",
    "发件人", "收件人", "抄送", "主题：", "主题:", "发送时间", "日期：", "日期:",
];

/// Lines that a program prints before forwarded text, in lower case.
#[rustfmt::skip] // a table
pub(crate) const FORWARDING_LINES: &[&str] = &[
    "forwarded message", "original message", "begin forwarded message", "原始邮件", "转发邮件",
];

/// How a line ends, after a name or a date, before a quoted text, in lower case.
pub(crate) const ATTRIBUTION_ENDINGS: &[&str] = &["wrote:", "schrieb:", "写道：", "写道:"];

/// First-person pronouns, in lower case.
pub(crate) const FIRST_PERSON: &[&str] = &["i", "we", "ich", "wir", "我", "我们"];

/// How a mail begins or ends, in lower case, alone or before a name.
#[rustfmt::skip] // a table
pub(crate) const GREETINGS: &[&str] = &[
    "hi", "hi all", "hello", "hello all", "dear", "best", "best regards", "kind regards", "regards", "cheers", "thanks",
    "祝好", "你好", "您好", "大家好", "各位好",
];

/// In a sentence that ends in a colon: the text after it may be by someone else. In lower case.
#[rustfmt::skip] // a table
pub(crate) const FOREIGN_KINDS: &[&str] = &[
    "mail", "e-mail", "email", "log", "logs", "output", "notes", "minutes", "transcript", "document", "doc",
    "article", "readme", "issue", "ticket", "message", "slack", "chat", "discussion", "thread", "trace",
    "changelog", "comment", "comments", "邮件", "日志", "会议记录", "会议纪要", "聊天记录", "文档", "文章", "报错", "输出", "原文",
];

/// The subset that is enough on a line by itself: "Notes:" is more often the user's own heading.
#[rustfmt::skip] // a table
pub(crate) const BARE_KINDS: &[&str] = &[
    "mail", "e-mail", "email", "log", "logs", "output", "minutes", "transcript", "slack", "chat", "trace",
    "邮件", "日志", "会议记录", "会议纪要", "聊天记录", "报错", "输出", "原文",
];

/// The subset that is written by people to each other: a decision at its end is theirs too.
#[rustfmt::skip] // a table
pub(crate) const CONVERSATION_KINDS: &[&str] = &[
    "mail", "e-mail", "email", "notes", "minutes", "transcript", "message", "slack", "chat", "discussion", "thread",
    "issue", "ticket", "comment", "comments", "邮件", "会议记录", "会议纪要", "聊天记录", "原文",
];

/// How the user continues after program output, in lower case, besides making a request.
#[rustfmt::skip] // a table
pub(crate) const OWN_BEGINNINGS: &[&str] = &[
    "from now on", "going forward", "we decided", "we've decided", "we have decided", "i decided", "i've decided",
    "let's go with", "lets go with", "always ", "never ", "don't ", "do not ", "stop using ", "remember", "从现在开始", "从今以后",
    "从今往后", "我们决定", "我决定", "以后", "记住", "统一", "不要再", "别再", "永远不要",
];

/// The text is by someone else if one of these precedes the kind: "rules for our logs:" are the user's own.
#[rustfmt::skip] // a table
pub(crate) const INTRODUCING_WORDS: &[&str] = &[
    "here", "here's", "below", "following", "see", "got", "received", "attached", "this is", "says", "from",
    "如下", "以下", "这是", "看", "收到",
];

/// Prefixes of lines of code.
#[rustfmt::skip] // a table
pub(crate) const CODE_MARKS: &[&str] = &[
    "from __", "if (", "for (", "while (", "fn ", "pub ", "SELECT ", "#include", "}",
];

/// Prefixes of code that also begin sentences: "let me know", "class names are short".
#[rustfmt::skip] // a table
pub(crate) const AMBIGUOUS_CODE_MARKS: &[&str] = &[
    "def ", "class ", "return ", "import ", "public ", "private ", "func ", "function ", "const ", "let ", "var ",
    "select ",
];

/// Labels that users put before their own lines and that are not people's names, in lower case.
#[rustfmt::skip] // a table
pub(crate) const OWN_LABELS: &[&str] = &[
    "note", "rule", "rules", "important", "decision", "convention", "task", "goal", "todo", "bug", "question",
    "requirement", "reminder", "example", "fix", "step", "database", "cache", "queue", "store", "storage", "frontend",
    "backend", "server", "client", "api", "ui", "style", "naming", "names", "format", "formatting", "commit", "commits",
    "commit message", "commit messages", "comment", "comments", "code", "test", "tests", "testing", "docs", "build",
    "deploy", "release", "logging", "logs", "errors", "security", "performance", "language", "tooling", "dependencies",
    "branch", "branches", "注意", "规则", "约定", "要求", "决定", "任务", "目标", "重要", "备注", "前端", "后端", "数据库", "缓存", "接口", "命名",
    "样式", "格式", "提交", "提交信息", "提交说明", "注释", "代码", "测试", "文档", "部署", "发布", "日志", "错误", "安全", "性能", "语言", "依赖", "分支",
];

/// Speakers in any chat, in lower case.
#[rustfmt::skip] // a table
pub(crate) const SPEAKERS: &[&str] = &[
    "user", "assistant", "me", "you", "human", "ai", "bot", "system", "claude", "chatgpt", "gpt", "gemini", "copilot",
    "agent", "用户", "助手", "我", "你", "客服", "老板", "同事",
];

/// First characters of the most common Chinese personal names, except those that begin other words.
pub(crate) const FAMILY_NAMES: &[char] = &[
    '小', '老', '张', '王', '李', '赵', '刘', '陈', '杨', '吴', '徐', '孙', '朱', '胡', '郭', '罗', '郑',
    '谢',
];

/// Said to a person rather than to a machine, as a whole turn or its first word, in lower case.
#[rustfmt::skip] // a table
pub(crate) const CHAT_REPLIES: &[&str] = &[
    "fine", "agreed", "yes", "yeah", "yep", "no", "ok", "okay", "sure", "great", "nice", "cool", "thanks", "hi", "hello",
    "hey", "lol", "right", "sounds", "lgtm", "+1", "好", "好的", "行", "对", "可以", "同意", "没问题", "谢谢", "嗯", "收到",
];

/// Phrases that report another person's decision, in lower case.
#[rustfmt::skip] // a table
pub(crate) const REPORTING_PHRASES: &[&str] = &[
    " says we ", " says that we ", " said we ", " said that we ", " wrote that we ", " claims we ",
    "according to ", "写道", "他说", "她说", "他们说", "文档说", "文档里说", "文档里写", "邮件里说", "邮件说", "据说", "有人说",
];

/// A reported statement ends before one of these, in lower case.
#[rustfmt::skip] // a table
pub(crate) const CONTRASTING_WORDS: &[&str] = &[
    "; ", "；", ", but ", " but ", " however ", "，但", "，不过", "，可是", "，然而", "，所以",
];

/// Or at a comma before the user's own statement.
#[rustfmt::skip] // a table
pub(crate) const OWN_STATEMENTS: &[&str] = &[
    "we decided", "we've decided", "we have decided", "i decided", "i've decided", "i have decided", "from now on",
    "going forward", "let's go with", "lets go with", "so from now on", "so we decided", "and we decided", "我们决定", "我决定", "从现在开始",
    "以后都", "以后不要", "统一用",
];

/// Phrases that occur in instructions, in lower case. A word that counts only by itself has spaces around it.
#[rustfmt::skip] // a table
pub(crate) const INSTRUCTION_SIGNS: &[&str] = &[
    "://", "www.", " curl ", " wget ", " sudo ", " ssh ", " scp ", " nc ", " eval", " exec ", "rm -", "| sh",
    "| bash", "|sh", "|bash", "base64", "chmod ", "powershell", "$(", "&& ", "ignore previous", "ignore all",
    "ignore the above", "ignore any", "ignore your", "disregard", "system prompt", "previous instructions",
    "jailbreak", "~/.ssh", ".env", "/etc/", "password", "passwd", "api key", "api_key", "apikey",
    "access token", "credential", "secret", " run ", " execute ", " fetch ", " download ", " install ",
    " upload ", " send ", " open ", " visit ", " post ", " paste ", " invoke ", " call the tool", " npm ",
    " npx ", " pip ", " brew ", " apt ", "<system", "</", "⟦secret", "运行", "执行", "下载", "安装", "上传", "发送", "访问",
    "打开", "忽略之前", "忽略以上", "忽略前面", "密码", "密钥", "令牌", "系统提示",
];

/// Harmless phrases that contain one of them, in lower case.
#[rustfmt::skip] // a table
pub(crate) const HARMLESS_PHRASES: &[&str] = &[
    " open a pr ", " open prs ", " open a pull request ", " open a merge request ", " open an issue ", " open a ticket ",
];

/// Commands that only inspect.
pub(crate) const INSPECTION_COMMANDS: &[&str] =
    &["ls", "cd", "pwd", "echo", "cat", "true", "sleep", "which", "head", "tail"];
