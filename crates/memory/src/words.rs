//! The phrases by which prompts are understood: what is polite, what says nothing, what was pasted, what settles something, what
//! is an order. English and Chinese first, the commonest of a few others.
//!
//! Does not know how they are looked for.

/// What clients put into a prompt in their own words, up to the end of the tag.
#[rustfmt::skip] // a table
pub(crate) const MACHINE_TAGS: &[&str] = &[
    "system-reminder", "local-command-caveat", "local-command-stdout", "local-command-stderr", "command-name",
    "command-message", "command-args", "command-contents", "bash-input", "bash-stdout", "bash-stderr",
    "user-prompt-submit-hook", "ide_opened_file", "ide_selection", "ide_diagnostics", "environment_context",
    "user_instructions", "INSTRUCTIONS", "task-notification", "attachment", "document", "file",
];

/// A line that begins so is the client's, or stands for a picture.
#[rustfmt::skip] // a table
pub(crate) const MACHINE_LINES: &[&str] = &[
    "Caveat: The messages below", "[Image", "[image", "[Pasted text", "[Request interrupted", "[data:",
    "[\"data:", "data:image/", "Base directory for this skill",
    "This session is being continued from a previous conversation",
];

/// Words that begin a line of a log, a trace, a diff or a shell.
#[rustfmt::skip] // a table
pub(crate) const PASTED: &[&str] = &[
    "at ", "File \"", "Traceback", "Caused by", "$ ", "% ", ">>> ", "> ", "❯", "+++", "---", "@@",
    "diff --git", "error[", "error:", "Error:", "warning:", "thread '", "npm ERR", "INFO", "WARN", "ERROR",
    "DEBUG", "FAIL", "   Compiling", "Exception in", "panic:", "goroutine ", "import ", "from __", "#include",
    "public class", "package ", "using System", "fn ", "def ", "const ", "let ", "var ", "//", "/*", "#!",
    "<?", "<!", "|",
];

/// Titles that say nothing but that there is a session.
#[rustfmt::skip] // a table
pub(crate) const EMPTY_TITLES: &[&str] = &[
    "new session", "new chat", "new conversation", "untitled", "warmup", "conversation", "session", "chat",
    "no prompt", "no title", "new thread", "greeting", "quick greeting", "initial greeting", "hello", "新对话",
    "新会话", "无标题",
];

/// What comes before the matter, the longest of a beginning first. Taken off again and again.
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

/// How a prompt begins that tells an agent who to be, in lower case.
#[rustfmt::skip] // a table
pub(crate) const ROLES: &[&str] = &[
    "you are a ", "you are an ", "you are the ", "you're a ", "you're an ", "you are now a", "act as ", "act like ",
    "you will act", "pretend to be ", "pretend you", "imagine you are ", "imagine you're ", "assume the role ",
    "take the role ", "your role is ", "你是一", "你现在是", "你扮演", "扮演", "你作为", "作为一名", "作为一个",
];

/// What is written in capitals, as people type it.
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

/// What is said in every session and names none.
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

/// Words that point at something said elsewhere, or belong to any request.
#[rustfmt::skip] // a table
pub(crate) const POINTING: &[&str] = &[
    "it", "this", "that", "these", "those", "them", "the", "a", "an", "to", "and", "or", "of", "for", "in",
    "on", "with", "again", "now", "all", "do", "run", "fix", "try", "make", "go", "use", "check", "look",
    "at", "see", "show", "me", "please", "just", "be", "is", "was", "same", "thing", "things", "one", "above",
    "below", "here", "there", "issue", "issues", "problem", "error", "errors", "bug", "bugs", "changes",
    "change", "x", "work", "works", "working", "not", "doesn't", "still", "you", "i", "we", "my", "your",
    "can", "so", "first", "second", "next", "step", "steps",
];

/// Anywhere in a sentence these say that something is settled.
#[rustfmt::skip] // a table
pub(crate) const SETTLED: &[&str] = &[
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

/// Only where a sentence begins so: "the build always fails" decides nothing.
#[rustfmt::skip] // a table
pub(crate) const BEGINNINGS: &[&str] = &[
    "always ", "never ever ", "never ", "stop using ", "prefer ", "do not use ", "don't use ",
];

/// How a sentence begins that asks for something, in lower case.
#[rustfmt::skip] // a table
pub(crate) const REQUESTS: &[&str] = &[
    "fix", "add", "use", "make", "do", "write", "keep", "run", "update", "change", "rename", "move", "remove", "delete",
    "revert", "commit", "push", "deploy", "test", "check", "create", "build", "split", "merge", "refactor", "try", "put",
    "don't", "go", "continue", "stop", "leave", "drop", "replace", "clean",
];

/// A sentence that asks or supposes settles nothing.
#[rustfmt::skip] // a table
pub(crate) const UNSETTLED: &[&str] = &[
    "?", "？", "吗", "是否", "要不要", "should we", "shall we", "do we", "what if", "maybe", "perhaps",
    "if we decided", "did we", "have we decided", "whether", "why ", "i don't remember", "do you remember",
    "can't remember", "cannot remember", "如果", "还没决定", "haven't decided", "not decided", "no longer",
    "never mind", "也许", "可能",
];

/// What begins a line of a mail's head, or of a commit's, in lower case.
#[rustfmt::skip] // a table
pub(crate) const HEADERS: &[&str] = &[
    "from:", "to:", "cc:", "subject:", "date:", "sent:", "reply-to:", "author:", "von:", "an:", "betreff:",
    "发件人", "收件人", "抄送", "主题：", "主题:", "发送时间", "日期：", "日期:",
];

/// What a program puts on a line of its own before what it passes on, in lower case.
#[rustfmt::skip] // a table
pub(crate) const PASSED_ON: &[&str] = &[
    "forwarded message", "original message", "begin forwarded message", "原始邮件", "转发邮件",
];

/// How a line ends, behind a name or a date, before what somebody wrote, in lower case.
pub(crate) const WROTE: &[&str] = &["wrote:", "schrieb:", "写道：", "写道:"];

/// Who is nobody else, in lower case.
pub(crate) const ONESELF: &[&str] = &["i", "we", "ich", "wir", "我", "我们"];

/// How a mail begins or ends, in lower case, by itself or before a name.
#[rustfmt::skip] // a table
pub(crate) const GREETINGS: &[&str] = &[
    "hi", "hi all", "hello", "hello all", "dear", "best", "best regards", "kind regards", "regards", "cheers", "thanks",
    "祝好", "你好", "您好", "大家好", "各位好",
];

/// In a sentence that ends in a colon: what follows may be somebody else's, in lower case.
#[rustfmt::skip] // a table
pub(crate) const FOREIGN_KINDS: &[&str] = &[
    "mail", "e-mail", "email", "log", "logs", "output", "notes", "minutes", "transcript", "document", "doc",
    "article", "readme", "issue", "ticket", "message", "slack", "chat", "discussion", "thread", "trace",
    "changelog", "comment", "comments", "邮件", "日志", "会议记录", "会议纪要", "聊天记录", "文档", "文章", "报错", "输出", "原文",
];

/// Of these, what a line that says no more brings: "Notes:" is more often the person's own heading.
#[rustfmt::skip] // a table
pub(crate) const BARE_KINDS: &[&str] = &[
    "mail", "e-mail", "email", "log", "logs", "output", "minutes", "transcript", "slack", "chat", "trace",
    "邮件", "日志", "会议记录", "会议纪要", "聊天记录", "报错", "输出", "原文",
];

/// Of these, what people say to each other: a decision at its end is theirs too.
#[rustfmt::skip] // a table
pub(crate) const TALKED_KINDS: &[&str] = &[
    "mail", "e-mail", "email", "notes", "minutes", "transcript", "message", "slack", "chat", "discussion", "thread",
    "issue", "ticket", "comment", "comments", "邮件", "会议记录", "会议纪要", "聊天记录", "原文",
];

/// How the person goes on behind what a program printed, in lower case, besides asking for something.
#[rustfmt::skip] // a table
pub(crate) const RESUMED: &[&str] = &[
    "from now on", "going forward", "we decided", "we've decided", "we have decided", "i decided", "i've decided",
    "let's go with", "lets go with", "always ", "never ", "don't ", "do not ", "stop using ", "remember", "从现在开始", "从今以后",
    "从今往后", "我们决定", "我决定", "以后", "记住", "统一", "不要再", "别再", "永远不要",
];

/// It is, where one of these stands before it: "rules for our logs:" are the person's own.
#[rustfmt::skip] // a table
pub(crate) const SHOWN: &[&str] = &[
    "here", "here's", "below", "following", "see", "got", "received", "attached", "this is", "says", "from",
    "如下", "以下", "这是", "看", "收到",
];

/// A line that begins so is code.
#[rustfmt::skip] // a table
pub(crate) const CODE_MARKS: &[&str] = &[
    "from __", "if (", "for (", "while (", "fn ", "pub ", "SELECT ", "#include", "}",
];

/// So does many a sentence: "let me know", "class names are short".
#[rustfmt::skip] // a table
pub(crate) const SPOKEN_CODE_MARKS: &[&str] = &[
    "def ", "class ", "return ", "import ", "public ", "private ", "func ", "function ", "const ", "let ", "var ",
    "select ",
];

/// What a person puts before a line of their own, and what is nobody's name, in lower case.
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

/// Who speaks in any chat, in lower case.
#[rustfmt::skip] // a table
pub(crate) const SPEAKERS: &[&str] = &[
    "user", "assistant", "me", "you", "human", "ai", "bot", "system", "claude", "chatgpt", "gpt", "gemini", "copilot",
    "agent", "用户", "助手", "我", "你", "客服", "老板", "同事",
];

/// How the commonest Chinese names of people begin, without those that begin other words.
pub(crate) const FAMILIES: &[char] = &[
    '小', '老', '张', '王', '李', '赵', '刘', '陈', '杨', '吴', '徐', '孙', '朱', '胡', '郭', '罗', '郑',
    '谢',
];

/// What is said to a person and not to a machine, in lower case, as a whole turn or its first word.
#[rustfmt::skip] // a table
pub(crate) const TURNS: &[&str] = &[
    "fine", "agreed", "yes", "yeah", "yep", "no", "ok", "okay", "sure", "great", "nice", "cool", "thanks", "hi", "hello",
    "hey", "lol", "right", "sounds", "lgtm", "+1", "好", "好的", "行", "对", "可以", "同意", "没问题", "谢谢", "嗯", "收到",
];

/// Somebody else's decision, told: in lower case.
#[rustfmt::skip] // a table
pub(crate) const REPORTED: &[&str] = &[
    " says we ", " says that we ", " said we ", " said that we ", " wrote that we ", " claims we ",
    "according to ", "写道", "他说", "她说", "他们说", "文档说", "文档里说", "文档里写", "邮件里说", "邮件说", "据说", "有人说",
];

/// What of a sentence is told of others ends before one of these, in lower case.
#[rustfmt::skip] // a table
pub(crate) const TURNING: &[&str] = &[
    "; ", "；", ", but ", " but ", " however ", "，但", "，不过", "，可是", "，然而", "，所以",
];

/// Or with a comma before the person's own word.
#[rustfmt::skip] // a table
pub(crate) const OWN_WORD: &[&str] = &[
    "we decided", "we've decided", "we have decided", "i decided", "i've decided", "i have decided", "from now on",
    "going forward", "let's go with", "lets go with", "so from now on", "so we decided", "and we decided", "我们决定", "我决定", "从现在开始",
    "以后都", "以后不要", "统一用",
];

/// What stands in such a sentence, in lower case. A word that is one by itself stands with blanks around it.
#[rustfmt::skip] // a table
pub(crate) const SIGNS: &[&str] = &[
    "://", "www.", " curl ", " wget ", " sudo ", " ssh ", " scp ", " nc ", " eval", " exec ", "rm -", "| sh",
    "| bash", "|sh", "|bash", "base64", "chmod ", "powershell", "$(", "&& ", "ignore previous", "ignore all",
    "ignore the above", "ignore any", "ignore your", "disregard", "system prompt", "previous instructions",
    "jailbreak", "~/.ssh", ".env", "/etc/", "password", "passwd", "api key", "api_key", "apikey",
    "access token", "credential", "secret", " run ", " execute ", " fetch ", " download ", " install ",
    " upload ", " send ", " open ", " visit ", " post ", " paste ", " invoke ", " call the tool", " npm ",
    " npx ", " pip ", " brew ", " apt ", "<system", "</", "⟦secret", "运行", "执行", "下载", "安装", "上传", "发送", "访问",
    "打开", "忽略之前", "忽略以上", "忽略前面", "密码", "密钥", "令牌", "系统提示",
];

/// What has one of them in it and sends nobody anywhere, in lower case.
#[rustfmt::skip] // a table
pub(crate) const HARMLESS: &[&str] = &[
    " open a pr ", " open prs ", " open a pull request ", " open a merge request ", " open an issue ", " open a ticket ",
];

/// Commands that only look around.
pub(crate) const QUIET: &[&str] =
    &["ls", "cd", "pwd", "echo", "cat", "true", "sleep", "which", "head", "tail"];
