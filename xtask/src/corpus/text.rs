//! The text of the transcripts: pools of prose, code and logs, generated once and already escaped for JSON. A message
//! is a slice of a pool, so writing it costs one memory copy.
//!
//! Does not know the transcript format.

use super::rng::Rng;
use std::fmt::Write;

/// Larger than any single text, small enough to copy from quickly.
const POOL: usize = 1 << 20;

const WORDS: &str = "the to a of and in is it for that on with this as be are by from not we can if when should now \
then file test code change run check error build because value type line call data path function return already \
before after into each same only also first next more index query search parse token stream buffer cache memory \
thread process lock queue task worker event handler module package version release branch commit merge diff patch \
review config option default schema table column row migration transaction connection timeout retry limit metric \
trace span warning panic stack frame reference borrow trait struct async future callback iterator loop condition \
string number array list map tree graph node edge parent child depth length count median batch chunk page offset \
cursor range window shard snapshot backup restore encode decode format render component route template style \
compile link profile measure compare verify assert fixture coverage rule policy session header payload message \
channel publish monitor report export import schedule pipeline artifact registry network socket address proxy \
deploy rollback upgrade install remove clean reset restart probably actually currently instead however unless \
without between against existing missing invalid unexpected duplicate stale nested relative absolute local remote";

const NAMES: &str = "user order invoice payment session token cache index query parser stream buffer chunk page cursor \
shard snapshot ledger event handler worker queue retry limit metric span config option secret schema table store \
client server request response route view form input grid theme asset bundle node edge leaf batch stage hook guard \
policy role scope audit report upload sync patch probe port host proxy gateway peer codec frame packet digest";

const CJK: &str = "我们 现在 这个 问题 需要 检查 代码 文件 函数 返回 错误 测试 通过 失败 运行 修改 配置 数据库 连接 请求 \
缓存 线程 队列 任务 日志 超时 重试 编译 部署 版本 分支 提交 合并 索引 搜索 查询 结果 性能 优化 確認 設定 実装 テスト \
エラー ファイル 関数 修正 한글 오류 수정 함수 首先 然后 因此 但是 已经 可以 必须 建议 实现 处理 读取 写入 生成";

const SUFFIXES: [&str; 4] = ["rs", "ts", "py", "go"];

/// Escaped text that is cut only at line starts.
pub(super) struct Pool {
    text: String,
    starts: Vec<usize>,
}

impl Pool {
    fn new(mut line: impl FnMut(&mut String)) -> Pool {
        let mut pool = Pool { text: String::with_capacity(POOL + 4096), starts: Vec::new() };
        let mut plain = String::new();
        while pool.text.len() < POOL {
            plain.clear();
            line(&mut plain);
            plain.push('\n');
            pool.starts.push(pool.text.len());
            let escaped = serde_json::to_string(&plain).expect("text is JSON");
            pool.text.push_str(&escaped[1..escaped.len() - 1]);
        }
        pool
    }

    /// About `length` bytes of whole lines.
    pub(super) fn draw_lines(&self, rng: &mut Rng, length: usize) -> &str {
        let last = self.text.len().saturating_sub(length);
        let from = self.line_start_at(rng.below(last.max(1)));
        &self.text[from..self.line_start_at((from + length).min(self.text.len()))]
    }

    /// The first line start at or after a position.
    fn line_start_at(&self, place: usize) -> usize {
        let line = self.starts.partition_point(|start| *start < place);
        self.starts.get(line).copied().unwrap_or(self.text.len())
    }
}

pub(super) struct Text {
    pub(super) prose: Pool,
    pub(super) cjk: Pool,
    pub(super) code: Pool,
    pub(super) log: Pool,
    base64: String,
}

impl Text {
    pub(super) fn new(seed: u64) -> Text {
        let words = Words::new();
        let [mut prose, mut cjk, mut code, mut log, mut base64] =
            [0, 1, 2, 3, 4].map(|which| Rng::new(seed, 1, which));
        let mut depth = 0;
        let mut style = 0;
        Text {
            prose: Pool::new(|out| words.write_prose(&mut prose, out)),
            cjk: Pool::new(|out| words.write_cjk(&mut cjk, out)),
            code: Pool::new(|out| words.write_code(&mut code, &mut depth, out)),
            log: Pool::new(|out| words.write_log(&mut log, &mut style, out)),
            base64: (0..POOL).map(|_| char::from(*base64.pick(super::ids::BASE64))).collect(),
        }
    }

    /// A signature, or the bytes of an image.
    pub(super) fn draw_base64(&self, rng: &mut Rng, length: usize) -> &str {
        let length = length.min(POOL - 1);
        let from = rng.below(POOL - length);
        &self.base64[from..from + length]
    }
}

/// One working directory and the files mentioned in it.
pub(super) struct Project {
    pub(super) cwd: String,
    pub(super) folder: String,
    pub(super) paths: Vec<String>,
}

impl Project {
    pub(super) fn new(seed: u64, which: usize) -> Project {
        let words = Words::new();
        let mut rng = Rng::new(seed, 2, which as u64);
        let cwd = format!("/home/dev/work/{}-{}.{which}", rng.pick(&words.names), rng.pick(&words.names));
        // Claude Code's naming of project folders.
        let folder = cwd.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        let paths = (0..200).map(|_| format!("{cwd}/{}", words.draw_path(&mut rng))).collect();
        Project { cwd, folder, paths }
    }
}

struct Words {
    plain: Vec<&'static str>,
    names: Vec<&'static str>,
    cjk: Vec<&'static str>,
}

impl Words {
    fn new() -> Words {
        let split = |text: &'static str| text.split_whitespace().collect();
        Words { plain: split(WORDS), names: split(NAMES), cjk: split(CJK) }
    }

    fn draw_name(&self, rng: &mut Rng) -> String {
        format!("{}_{}", rng.pick(&self.names), rng.pick(&self.names))
    }

    fn draw_path(&self, rng: &mut Rng) -> String {
        format!("src/{}/{}.{}", rng.pick(&self.names), self.draw_name(rng), rng.pick(&SUFFIXES))
    }

    fn write_sentence(&self, rng: &mut Rng, out: &mut String) {
        for _ in 0..rng.in_range(4, 16) {
            let _ = write!(out, "{} ", rng.pick_favoured(&self.plain));
        }
    }

    fn write_prose(&self, rng: &mut Rng, out: &mut String) {
        if rng.per_mille(150) {
            out.push_str("- ");
        }
        self.write_sentence(rng, out);
        let _ = write!(out, "`{}`.", self.draw_name(rng));
    }

    fn write_cjk(&self, rng: &mut Rng, out: &mut String) {
        for _ in 0..rng.in_range(4, 14) {
            let _ = write!(out, "{}", rng.pick(&self.cjk));
        }
        let _ = write!(out, " `{}`。", self.draw_name(rng));
    }

    fn write_code(&self, rng: &mut Rng, depth: &mut usize, out: &mut String) {
        let (a, b, number) = (self.draw_name(rng), self.draw_name(rng), rng.below(4096));
        let indent = "    ".repeat(*depth);
        out.push_str(&indent);
        let _ = match rng.below(9) {
            0 if *depth < 4 => {
                *depth += 1;
                write!(out, "fn {a}({b}: &str) -> Result<usize, Error> {{")
            }
            1 if *depth < 4 => {
                *depth += 1;
                write!(out, "if {a}.{b}() > {number} {{")
            }
            2 | 3 if *depth > 0 => {
                *depth -= 1;
                write!(out, "}}")
            }
            4 => {
                out.push_str("// ");
                self.write_sentence(rng, out);
                Ok(())
            }
            5 => write!(out, "import {{ {a} }} from \"./{b}\";"),
            6 => write!(out, "self.{a} = {b}::new(\"{}\", {number});", rng.pick(&self.plain)),
            _ => write!(out, "let {a} = {b}.get({number})?;\t// {}", rng.pick(&self.plain)),
        };
    }

    fn write_log(&self, rng: &mut Rng, style: &mut usize, out: &mut String) {
        // The output of one command keeps its style for a while.
        if rng.per_mille(40) {
            *style = rng.below(5);
        }
        let (name, number) = (self.draw_name(rng), rng.below(900_000));
        let _ = match *style {
            0 => write!(out, "   Compiling {name} v0.{}.{}", number % 40, number % 7),
            1 => write!(out, "test {name}::tests::{} ... \u{1b}[32mok\u{1b}[0m", self.draw_name(rng)),
            2 => {
                let _ = write!(out, "2026-03-{:02}T10:{:02}:07Z INFO {name}: ", number % 28 + 1, number % 60);
                self.write_sentence(rng, out);
                write!(out, "id={:016x}", rng.next())
            }
            3 => {
                write!(
                    out,
                    "-rw-r--r-- 1 dev dev {number:>8} Mar {:>2} {}",
                    number % 28 + 1,
                    self.draw_path(rng)
                )
            }
            _ => write!(out, "{}:{}:    let {name} = \"{number}\";", self.draw_path(rng), number % 900),
        };
    }
}
