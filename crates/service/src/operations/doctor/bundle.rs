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
use os::files::OpenOptionsExt;
use render::support_bundle::{encode_tar, truncate_paths};
use serde_json::json;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
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
    Masker::new(mask_key(service.home().as_ref())).mask_text(&truncate_paths(&text)).into_owned()
}
