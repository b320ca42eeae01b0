//! The only module that prints: records to stdout in the chosen format, messages for people to stderr. A closed pipe
//! (`| head`) is not an error.
//!
//! Does not know which command prints.

use api::Exit;
use record::{Cell, cell};
use service::Service;
use std::io::{BufWriter, IsTerminal, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Output format.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputFormat {
    Jsonl,
    Tsv,
    Text,
}

impl Default for OutputFormat {
    fn default() -> OutputFormat {
        if std::io::stdout().is_terminal() { OutputFormat::Text } else { OutputFormat::Jsonl }
    }
}

impl OutputFormat {
    pub(crate) fn from_word(word: &str) -> OutputFormat {
        match word {
            "tsv" => OutputFormat::Tsv,
            "text" => OutputFormat::Text,
            _ => OutputFormat::Jsonl,
        }
    }
}

/// Buffered stdout, or a pager. Remembers the first write error, except a closed pipe: a full disk must be reported.
pub(crate) struct StdoutWriter {
    writer: BufWriter<Box<dyn Write>>,
    pager: Option<Child>,
    failure: Option<std::io::Error>,
}

impl StdoutWriter {
    pub(crate) fn new() -> StdoutWriter {
        StdoutWriter { writer: buffered(Box::new(std::io::stdout())), pager: None, failure: None }
    }

    /// Through a pager if a person reads, as for [`print_paged`].
    pub(crate) fn paged(pager: &str) -> StdoutWriter {
        let started = if has_reader() && !is_off(pager) { start_pager(pager).ok() } else { None };
        match started {
            Some((child, input)) => {
                StdoutWriter { writer: buffered(Box::new(input)), pager: Some(child), failure: None }
            }
            None => StdoutWriter::new(),
        }
    }

    /// Waits until the person has left the pager.
    pub(crate) fn close(&mut self) {
        let _ = self.writer.flush();
        self.writer = buffered(Box::new(std::io::stdout()));
        if let Some(mut pager) = self.pager.take() {
            let _ = pager.wait();
        }
    }

    /// The first error other than a closed pipe.
    pub(crate) fn take_failure(&mut self) -> Option<std::io::Error> {
        self.failure.take()
    }

    fn record_failure<T>(&mut self, result: std::io::Result<T>) -> std::io::Result<T> {
        if let Err(e) = &result
            && e.kind() != std::io::ErrorKind::BrokenPipe
            && self.failure.is_none()
        {
            self.failure = Some(std::io::Error::new(e.kind(), e.to_string()));
        }
        result
    }
}

impl Write for StdoutWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let result = self.writer.write(bytes);
        self.record_failure(result)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let result = self.writer.flush();
        self.record_failure(result)
    }
}

/// Runs `work` and shows its progress on a terminal.
pub(crate) fn with_progress<T>(service: &Service, work: impl FnOnce() -> T) -> T {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        if std::io::stderr().is_terminal() {
            scope.spawn(|| show_progress(service, &done));
        }
        // also if `work` panics: the scope waits for the other thread
        let _stop = StopOnDrop(&done);
        work()
    })
}

struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Width of stdout in columns, and whether it is a terminal.
pub(crate) fn stdout_size() -> (usize, bool) {
    let width =
        terminal_size::terminal_size_of(std::io::stdout()).map_or(100, |(width, _)| usize::from(width.0));
    (width.clamp(40, 400), std::io::stdout().is_terminal())
}

/// The terminal that a full-screen program draws on: standard output, if a person reads there and types on standard input.
pub(crate) fn open_screen() -> Option<std::fs::File> {
    let stdout = std::io::stdout();
    let is_usable = stdout.is_terminal() && std::io::stdin().is_terminal();
    is_usable.then(|| os::files::duplicate_stdout().ok()).flatten()
}

/// The terminal of the process, for a program whose standard output is read by another one.
pub(crate) fn open_own_terminal() -> Option<std::fs::File> {
    os::files::open_terminal().ok().filter(IsTerminal::is_terminal)
}

/// Prints to stdout. A closed pipe is not an error.
pub(crate) fn print_stdout(text: &str) -> Result<(), api::Error> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(api::Error::new(api::Code::ReadError, format!("standard output: {e}")))
        }
        _ => Ok(()),
    }
}

/// Shows text that is longer than the terminal in a pager, as git does; `cat` or an empty name turns it off. Prints the text if the pager cannot be started.
pub(crate) fn print_paged(text: &str, pager: &str) -> Result<(), api::Error> {
    let rows =
        terminal_size::terminal_size_of(std::io::stdout()).map_or(0, |(_, height)| usize::from(height.0));
    let is_long = rows > 0 && text.lines().take(rows).count() >= rows;
    if !is_long || !has_reader() || is_off(pager) {
        return print_stdout(text);
    }
    let Ok((mut child, mut input)) = start_pager(pager) else { return print_stdout(text) };
    // Quitting the pager early is not an error.
    let _ = input.write_all(text.as_bytes());
    drop(input);
    let _ = child.wait();
    Ok(())
}

fn buffered(to: Box<dyn Write>) -> BufWriter<Box<dyn Write>> {
    BufWriter::with_capacity(64 * 1024, to)
}

/// Whether a person sits at both ends of a pager.
fn has_reader() -> bool {
    std::io::stdout().is_terminal() && std::io::stdin().is_terminal()
}

fn is_off(pager: &str) -> bool {
    matches!(pager, "" | "cat")
}

fn start_pager(pager: &str) -> std::io::Result<(Child, ChildStdin)> {
    let program = pager.split_whitespace().next().unwrap_or_default();
    if !os::processes::has_program(program)? {
        return Err(std::io::Error::from(std::io::ErrorKind::NotFound));
    }
    let mut command = os::processes::shell_command(pager);
    let mut child = command.env("LESS", "FRX").stdin(Stdio::piped()).spawn()?;
    let input = child.stdin.take().ok_or_else(|| std::io::Error::other("no input"))?;
    Ok((child, input))
}

/// Whether a person can be prompted: stdin and stderr are terminals.
pub(crate) fn can_prompt() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Prompts at the terminal. Everything except `y` and `yes` means no.
pub(crate) fn confirm(question: &str) -> bool {
    matches!(prompt_line(question).to_lowercase().as_str(), "y" | "yes")
}

/// Prompts at the terminal for a line; `0` at the end of the input, so that nothing is taken for an empty answer.
pub(crate) fn prompt_line(question: &str) -> String {
    write_stderr(question);
    let mut line = String::new();
    match std::io::stdin().read_line(&mut line) {
        Ok(read) if read > 0 => line.trim().to_string(),
        _ => "0".to_string(),
    }
}

/// Reports an error as a record on stdout, and as a message with hints on stderr.
pub(crate) fn report_error(shown: OutputFormat, error: &api::Error) -> Exit {
    report_error_of(shown, error, false)
}

/// Like [`report_error`], for an error of an operation on code or edits if `is_about_code`.
pub(crate) fn report_error_of(shown: OutputFormat, error: &api::Error, is_about_code: bool) -> Exit {
    print_error_record(shown, error, is_about_code);
    print_note(&format!("error: {error}"));
    error.hints.iter().for_each(|hint| print_note(&format!("hint: {hint}")));
    Exit::Failed
}

/// Writes the error record to stdout only; the caller prints the message for people.
pub(crate) fn print_error_record(shown: OutputFormat, error: &api::Error, is_about_code: bool) {
    let _ = std::io::stdout().lock().write_all(&format_error_record(shown, error, is_about_code));
}

fn format_error_record(shown: OutputFormat, error: &api::Error, is_about_code: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    match shown {
        OutputFormat::Jsonl => cell::write_object(&error.to_record_of(is_about_code), &mut bytes),
        OutputFormat::Tsv => write_tsv_error(error, &mut bytes),
        OutputFormat::Text => return bytes,
    }
    bytes.push(b'\n');
    bytes
}

fn write_tsv_error(error: &api::Error, out: &mut Vec<u8>) {
    out.extend_from_slice(b"error\tcode\n");
    Cell::text(error.message.as_str()).write_tsv(out);
    out.push(b'\t');
    out.extend_from_slice(error.code.word().as_bytes());
}

/// Says on stderr what an answer could miss, and makes the exit code say it too. An answer is not withheld for it.
pub(crate) fn note_losses(losses: Result<Vec<service::StandingProblem>, api::Error>, exit: Exit) -> Exit {
    let note = match losses {
        Ok(open) => service::describe_losses(&open),
        Err(error) => Some(error.to_string()),
    };
    let Some(note) = note else { return exit };
    print_note(&note);
    if exit == Exit::Failed { exit } else { Exit::Incomplete }
}

pub(crate) fn format_count(n: usize, word: &str) -> String {
    format!("{n} {word}{}", if n == 1 { "" } else { "s" })
}

pub(crate) fn print_note(text: &str) {
    write_stderr(&format!("loci: {text}\n"));
}

/// Prints one step of a long-running operation.
pub(crate) fn print_step(text: &str) {
    print_note(&api::terminal_text::one_line(text));
}

/// Writes to stderr, best effort: write errors are ignored.
pub(crate) fn write_stderr(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Operations shorter than this show no progress.
const PROGRESS_DELAY: Duration = Duration::from_millis(700);

fn show_progress(service: &Service, done: &AtomicBool) {
    let started = std::time::Instant::now();
    let mut shown = false;
    while !done.load(Relaxed) {
        std::thread::sleep(Duration::from_millis(50));
        let (files, of) = (service.progress.files.load(Relaxed), service.progress.of.load(Relaxed));
        if started.elapsed() > PROGRESS_DELAY && of > 0 && files < of {
            write_stderr(&format!("\r\x1b[Kreading {files} of {of} files"));
            shown = true;
        } else if shown {
            write_stderr("\r\x1b[K");
            shown = false;
        }
    }
    if shown {
        write_stderr("\r\x1b[K");
    }
}
