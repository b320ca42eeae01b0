//! The form of a support bundle: paths without the names of projects, and files in one tar.
//!
//! Does not know what is in a bundle.

/// Characters that end a path, in JSON and in prose.
fn is_path_end(c: char) -> bool {
    c.is_whitespace() || "\"'`,;".contains(c)
}

/// Text with its paths shortened to the part that identifies a program's folder.
pub fn truncate_paths(text: &str) -> String {
    text.split_inclusive(is_path_end).map(truncate_path).collect()
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
pub fn encode_tar(files: &[(&str, String)], now: i64) -> Vec<u8> {
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
