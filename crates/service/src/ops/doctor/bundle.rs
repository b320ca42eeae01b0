//! What a person sends along with the report of a defect: versions, figures, findings, settings and the daemon's last
//! lines, in one tar that can be looked into before it goes anywhere.
//!
//! Never holds what was said in a conversation; secrets and the home's path are masked.

use super::super::status;
use crate::Service;
use crate::home::{mask_key, unwritable};
use api::Error;
use api::status::StatusAsk;
use api::upkeep::Checkup;
use mask::Masker;
use serde_json::json;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Of the daemon's log.
const LINES: usize = 200;

/// Writes it, for its owner alone, and never over something else. Says where.
pub(super) fn write(service: &Service, checkup: &Checkup, file: &str) -> Result<String, Error> {
    let path = service.cwd.join(file);
    let bytes = tar(&contents(service, checkup), service.clock.now().0 / 1000);
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)
        .and_then(|mut file| file.write_all(&bytes));
    written.map_err(|error| unwritable(&path, &error))?;
    Ok(path.to_string_lossy().into_owned())
}

fn contents(service: &Service, checkup: &Checkup) -> Vec<(&'static str, String)> {
    let masked = |text: &str| masked(service, text);
    let told = status::status(service, &StatusAsk::default()).ok();
    let log = told.as_ref().map(|told| told.daemon.log.clone()).unwrap_or_default();
    let status = serde_json::to_string_pretty(&json!(told)).unwrap_or_default();
    let config = crate::config::path(&service.places);
    let settings = std::fs::read_to_string(config).unwrap_or_default();
    vec![
        ("version.txt", about()),
        ("status.json", masked(&status)),
        ("doctor.json", masked(&serde_json::to_string_pretty(checkup).unwrap_or_default())),
        ("config.toml", masked(&settings)),
        ("daemon.log", masked(&last_lines(Path::new(&log)))),
    ]
}

fn about() -> String {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    format!("loci {}\n{os} {arch} {}\n", env!("CARGO_PKG_VERSION"), kernel.trim())
}

fn last_lines(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n") + "\n"
}

/// Whatever the person allowed themselves to see. A home says who somebody is.
fn masked(service: &Service, text: &str) -> String {
    let home = service.places.home.to_string_lossy();
    let text = if home.len() > 1 { text.replace(&*home, "~") } else { text.to_string() };
    Masker::new(mask_key(service.home().as_ref())).text(&text).into_owned()
}

/// The oldest form of a tar, which every program reads: a head of 512 bytes before each file, and two empty ones at the end.
fn tar(files: &[(&str, String)], now: i64) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, text) in files {
        out.extend(head(name, text.len(), now));
        out.extend(text.as_bytes());
        out.resize(out.len().next_multiple_of(512), 0);
    }
    out.resize(out.len() + 1024, 0);
    out
}

fn head(name: &str, size: usize, now: i64) -> [u8; 512] {
    let mut head = [0; 512];
    let mut put = |at: usize, text: &str| head[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, &format!("loci-report/{name}"));
    put(100, "0000600\0");
    put(108, "0000000\0");
    put(116, "0000000\0");
    put(124, &format!("{size:011o}\0"));
    put(136, &format!("{:011o}\0", now.max(0)));
    // Its own place counts as blanks in the sum.
    put(148, "        ");
    put(156, "0");
    put(257, "ustar\x0000");
    let sum: u32 = head.iter().map(|byte| u32::from(*byte)).sum();
    head[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    head
}
