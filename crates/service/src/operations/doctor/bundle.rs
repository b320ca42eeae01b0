//! Writes a support bundle for bug reports: version, status, findings, settings and the end of the daemon log, as one tar
//! file that can be inspected before it is sent.
//!
//! Never contains session text or project names: secrets are masked, paths truncated, and only settings that reveal nothing
//! about a person are included. Does not know the checks.

use crate::Service;
use api::maintenance::DoctorReport;
use api::status::StatusRequest;
use api::{Code, Error, Handle};
use history::home::{disk_full, mask_key};
use mask::Masker;
use serde_json::json;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Lines of the daemon log to include.
const LOG_LINES: usize = 200;

/// Writes the bundle with mode 0600, never over an existing file, and returns its path.
pub(super) fn write_bundle(service: &Service, checkup: &DoctorReport, file: &str) -> Result<String, Error> {
    let path = service.cwd.join(file);
    let bytes = encode_tar(&bundle_files(service, checkup), service.clock.now().0 / 1000);
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    let mut made = made.map_err(|error| write_error(&path, &error))?;
    made.write_all(&bytes).map_err(|error| {
        // A partial bundle is useless and would block the next attempt.
        let _ = std::fs::remove_file(&path);
        write_error(&path, &error)
    })?;
    Ok(path.to_string_lossy().into_owned())
}

fn write_error(path: &Path, error: &std::io::Error) -> Error {
    if error.kind() == ErrorKind::StorageFull {
        return disk_full(path);
    }
    Error::new(Code::InvalidArgument, format!("{}: {error}", path.display()))
        .hint("choose a new file in a writable folder: loci doctor --bundle loci-report.tar")
}

fn bundle_files(service: &Service, checkup: &DoctorReport) -> Vec<(&'static str, String)> {
    let masked = |text: &str| redact_text(service, text);
    let status = service.handle(&StatusRequest::default()).ok();
    let log = status.as_ref().map(|status| status.daemon.log.clone()).unwrap_or_default();
    let status = serde_json::to_string_pretty(&json!(status)).unwrap_or_default();
    let config = config::config_path(&service.places);
    let settings = std::fs::read_to_string(config).unwrap_or_default();
    vec![
        ("version.txt", version_text()),
        ("status.json", masked(&status)),
        ("doctor.json", masked(&serde_json::to_string_pretty(&redact_findings(checkup)).unwrap_or_default())),
        ("config.toml", masked(&redact_settings(&settings))),
        ("daemon.log", masked(&read_last_lines(Path::new(&log)))),
    ]
}

/// Removes the model finding's text, which quotes settings: an address can reveal a person's employer.
fn redact_findings(checkup: &DoctorReport) -> DoctorReport {
    let mut redacted = checkup.clone();
    for finding in redacted.findings.iter_mut().filter(|finding| finding.check == super::MODEL) {
        finding.message = "(redacted: quotes settings)".to_string();
    }
    redacted
}

fn version_text() -> String {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    format!("loci {}\n{os} {arch} {}\n", env!("CARGO_PKG_VERSION"), kernel.trim())
}

fn read_last_lines(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LOG_LINES)..].join("\n") + "\n"
}

/// String settings whose values are Loci's own words. Any other string, or a comment, may be about a person.
const SHOWN_SETTINGS: &[&str] = &["provider", "model"];

fn redact_settings(text: &str) -> String {
    match text.parse::<toml::Table>() {
        Ok(table) => table.iter().map(|(name, value)| redact_setting(name, name, value)).collect(),
        Err(_) if text.is_empty() => String::new(),
        Err(_) => "(cannot be parsed)\n".to_string(),
    }
}

fn redact_setting(path: &str, name: &str, value: &toml::Value) -> String {
    use toml::Value;
    let shown = match value {
        Value::Table(table) => {
            let each =
                table.iter().map(|(below, value)| redact_setting(&format!("{path}.{below}"), below, value));
            return each.collect();
        }
        Value::Boolean(_) | Value::Integer(_) | Value::Float(_) => value.to_string(),
        Value::String(_) if SHOWN_SETTINGS.contains(&name) => value.to_string(),
        Value::Array(all) => format!("({} entries)", all.len()),
        Value::String(_) | Value::Datetime(_) => "(set)".to_string(),
    };
    format!("{path} = {shown}\n")
}

/// Masks secrets even if the user disabled masking. A home directory identifies a person, and a path what they work on.
fn redact_text(service: &Service, text: &str) -> String {
    let home = service.places.home.to_string_lossy();
    let home = home.trim_end_matches('/');
    let text = if home.is_empty() { text.to_string() } else { text.replace(home, "~") };
    let text: String = text.split_inclusive(is_path_end).map(truncate_path).collect();
    Masker::new(mask_key(service.home().as_ref())).mask_text(&text).into_owned()
}

/// Characters that end a path, in JSON and in prose.
fn is_path_end(c: char) -> bool {
    c.is_whitespace() || "\"'`,;".contains(c)
}

/// Truncates a path to the part that identifies the program's folder: agents name subfolders after projects.
fn truncate_path(word: &str) -> String {
    let (path, edge) = word.split_at(word.trim_end_matches(is_path_end).len());
    let parts: Vec<&str> = path.split('/').collect();
    if parts.len() <= PATH_COMPONENTS
        || !(path.starts_with("~/") || path.starts_with('/'))
        || is_own_path(&parts)
    {
        return word.to_string();
    }
    format!("{}/…{edge}", parts[..PATH_COMPONENTS].join("/"))
}

/// Path components kept, as in `~/.claude/projects` and `/usr/local`.
const PATH_COMPONENTS: usize = 3;

/// Whether a path is one of Loci's own files: below a hidden folder of the home, at most six components deep.
fn is_own_path(parts: &[&str]) -> bool {
    parts[0] == "~" && parts[1].starts_with('.') && parts.contains(&"loci") && parts.len() <= 6
}

/// Encodes the files in the oldest tar format, which every program reads: a 512-byte header before each file, and two zero
/// blocks at the end.
fn encode_tar(files: &[(&str, String)], now: i64) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, text) in files {
        out.extend(encode_header(name, text.len(), now));
        out.extend(text.as_bytes());
        out.resize(out.len().next_multiple_of(512), 0);
    }
    out.resize(out.len() + 1024, 0);
    out
}

fn encode_header(name: &str, size: usize, now: i64) -> [u8; 512] {
    let mut head = [0; 512];
    let mut put = |at: usize, text: &str| head[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, &format!("loci-report/{name}"));
    put(100, "0000600\0");
    put(108, "0000000\0");
    put(116, "0000000\0");
    put(124, &format!("{size:011o}\0"));
    put(136, &format!("{:011o}\0", now.max(0)));
    // The checksum field counts as spaces in the checksum.
    put(148, "        ");
    put(156, "0");
    put(257, "ustar\x0000");
    let sum: u32 = head.iter().map(|byte| u32::from(*byte)).sum();
    head[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    head
}
