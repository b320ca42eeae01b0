//! RPM packages: a lead, a header of checksums, a header of tags, and a compressed cpio.
//!
//! Does not know signing keys: `rpm --addsign` adds a signature to the finished file.

use super::digest::sha256_hex;
use super::material::{Built, Release};
use super::names;
use super::output::Output;
use super::pack::{self, CpioEntry};
use super::system_tree::{self, DOCUMENTS, Layout};
use super::tree::Tree;

const LICENCES: &str = "usr/share/licenses/loci";
const LAYOUT: Layout = Layout { zsh: "usr/share/zsh/site-functions", licences: Some(LICENCES) };
const PACKAGE_RELEASE: &str = "1";

pub(crate) fn write(release: &Release, output: &mut Output) -> Result<(), String> {
    for built in release.packaged() {
        if let Some(machine) = built.target.rpm {
            output.write(&file_name(release, machine), &package(release, built, machine)?)?;
        }
    }
    Ok(())
}

pub(crate) fn file_name(release: &Release, machine: &str) -> String {
    format!("{}.{machine}.rpm", full_name(release))
}

fn full_name(release: &Release) -> String {
    format!("{}-{}-{PACKAGE_RELEASE}", names::PROGRAM, release.system_version())
}

fn package(release: &Release, built: &Built, machine: &str) -> Result<Vec<u8>, String> {
    let tree = system_tree::build(release, built, &LAYOUT)?;
    let files = list_files(&tree);
    let entries: Vec<CpioEntry<'_>> =
        files.iter().map(|file| CpioEntry { path: file.path, mode: file.mode, bytes: file.bytes }).collect();
    let cpio = pack::cpio(&entries, release.epoch);
    let payload = pack::xz(&cpio, release.effort, built.target)?;
    let header = encode(HEADER_REGION, main_tags(release, built, machine, &files, &payload));
    let size = header.len() + payload.len();
    let mut signature = encode(
        SIGNATURE_REGION,
        vec![
            (273, Tag::Text(sha256_hex(&header))),
            (1000, Tag::Int32(vec![size as u32])),
            (1007, Tag::Int32(vec![cpio.len() as u32])),
        ],
    );
    signature.resize(signature.len().next_multiple_of(8), 0);
    Ok([lead(release, machine), signature, header, payload].concat())
}

// ---- files

/// A file or folder of the package. Flags: 2 is a document, 128 a licence.
struct Listed<'a> {
    path: &'a str,
    mode: u32,
    flags: u32,
    bytes: &'a [u8],
}

const FOLDER: u32 = 0o040_755;
const REGULAR: u32 = 0o100_000;

/// The files, and the folders that belong to this package alone.
fn list_files(tree: &Tree) -> Vec<Listed<'_>> {
    let folder = |path| Listed { path, mode: FOLDER, flags: 0, bytes: &[] };
    let mut files = vec![folder(DOCUMENTS), folder(LICENCES)];
    for (path, file) in tree.iter() {
        let flags = match path {
            _ if path.starts_with(LICENCES) => 128,
            _ if path.starts_with(DOCUMENTS) || path.starts_with("usr/share/man/") => 2,
            _ => 0,
        };
        files.push(Listed { path, mode: REGULAR | file.mode, flags, bytes: &file.bytes });
    }
    files.sort_by_key(|file| file.path);
    files
}

// ---- tags

enum Tag {
    Text(String),
    /// A text in the language "C", which is the only one.
    Translated(String),
    Texts(Vec<String>),
    Int16(Vec<u16>),
    Int32(Vec<u32>),
}

const EQUAL: u32 = 8;
/// `<=` on a feature of rpm itself.
const NEEDS_RPM: u32 = 1 << 24 | 2 | EQUAL;
const RPM_FEATURES: &[(&str, &str)] = &[
    ("rpmlib(CompressedFileNames)", "3.0.4-1"),
    ("rpmlib(FileDigests)", "4.6.0-1"),
    ("rpmlib(PayloadFilesHavePrefix)", "4.0-1"),
    ("rpmlib(PayloadIsXz)", "5.2-1"),
];
const SHA256: u32 = 8;

fn main_tags(
    release: &Release,
    built: &Built,
    machine: &str,
    files: &[Listed<'_>],
    payload: &[u8],
) -> Vec<(u32, Tag)> {
    let text = |text: &str| Tag::Text(text.to_owned());
    let epoch = release.epoch as u32;
    let size = files.iter().map(|file| file.bytes.len() as u32).sum();
    let version = format!("{}-{PACKAGE_RELEASE}", release.system_version());
    let mut tags = vec![
        (100, Tag::Texts(vec!["C".to_owned()])),
        (1000, text(names::PROGRAM)),
        (1001, Tag::Text(release.system_version())),
        (1002, text(PACKAGE_RELEASE)),
        (1004, Tag::Translated(names::SUMMARY.to_owned())),
        (1005, Tag::Translated(format!("{}.", names::SUMMARY))),
        (1006, Tag::Int32(vec![epoch])),
        (1007, text("localhost")),
        (1009, Tag::Int32(vec![size])),
        (1011, text(names::AUTHORS)),
        (1014, text(names::LICENCE)),
        (1016, Tag::Translated("Development/Tools".to_owned())),
        (1020, text(names::REPOSITORY)),
        (1021, text("linux")),
        (1022, text(machine)),
        // Without it, rpm takes the package for a source package.
        (1044, Tag::Text(format!("{}.src.rpm", full_name(release)))),
        (1047, Tag::Texts(vec![names::PROGRAM.to_owned()])),
        (1064, text("4.14.0")),
        (1112, Tag::Int32(vec![EQUAL])),
        (1113, Tag::Texts(vec![version])),
        (1124, text("cpio")),
        (1125, text("xz")),
        (1126, text("6")),
        (5011, Tag::Int32(vec![SHA256])),
        (5092, Tag::Texts(vec![sha256_hex(payload)])),
        (5093, Tag::Int32(vec![SHA256])),
    ];
    tags.extend(requirement_tags(built));
    tags.extend(file_tags(files, epoch));
    tags
}

fn requirement_tags(built: &Built) -> [(u32, Tag); 3] {
    let mut needs: Vec<(String, u32, &str)> =
        RPM_FEATURES.iter().map(|(name, version)| ((*name).to_owned(), NEEDS_RPM, *version)).collect();
    needs.extend(built.glibc().map(|minor| (format!("libc.so.6(GLIBC_2.{minor})(64bit)"), 0, "")));
    needs.extend(built.needs_libgcc().then(|| ("libgcc_s.so.1()(64bit)".to_owned(), 0, "")));
    [
        (1048, Tag::Int32(needs.iter().map(|(_, flags, _)| *flags).collect())),
        (1049, Tag::Texts(needs.iter().map(|(name, ..)| name.clone()).collect())),
        (1050, Tag::Texts(needs.iter().map(|(.., version)| (*version).to_owned()).collect())),
    ]
}

fn file_tags(files: &[Listed<'_>], epoch: u32) -> Vec<(u32, Tag)> {
    let texts = |text: fn(&Listed<'_>) -> String| Tag::Texts(files.iter().map(text).collect());
    let long = |number: &dyn Fn(usize, &Listed<'_>) -> u32| {
        Tag::Int32(files.iter().enumerate().map(|(at, file)| number(at, file)).collect())
    };
    let mut folders: Vec<String> = files.iter().map(|file| split(file).0).collect();
    folders.sort();
    folders.dedup();
    let folder = |file: &Listed<'_>| folders.binary_search(&split(file).0).unwrap_or_default() as u32;
    vec![
        (1028, long(&|_, file| file.bytes.len() as u32)),
        (1030, Tag::Int16(files.iter().map(|file| file.mode as u16).collect())),
        (1033, Tag::Int16(vec![0; files.len()])),
        (1034, long(&|_, _| epoch)),
        (1035, texts(|file| if file.mode == FOLDER { String::new() } else { sha256_hex(file.bytes) })),
        (1036, texts(|_| String::new())),
        (1037, long(&|_, file| file.flags)),
        (1039, texts(|_| "root".to_owned())),
        (1040, texts(|_| "root".to_owned())),
        (1045, long(&|_, _| u32::MAX)),
        (1095, long(&|_, _| 1)),
        (1096, long(&|at, _| at as u32 + 1)), // as in the cpio
        (1097, texts(|_| String::new())),
        (1116, long(&|_, file| folder(file))),
        (1117, texts(|file| split(file).1)),
        (1118, Tag::Texts(folders.clone())),
    ]
}

/// The folder with its slashes, and the name.
fn split(file: &Listed<'_>) -> (String, String) {
    let (folder, name) = file.path.rsplit_once('/').unwrap_or(("", file.path));
    (format!("/{folder}/"), name.to_owned())
}

// ---- bytes

const SIGNATURE_REGION: u32 = 62;
const HEADER_REGION: u32 = 63;

fn lead(release: &Release, machine: &str) -> Vec<u8> {
    let number: u16 = if machine == "aarch64" { 19 } else { 1 };
    let mut lead = vec![0xed, 0xab, 0xee, 0xdb, 3, 0, 0, 0];
    lead.extend(number.to_be_bytes());
    lead.extend(full_name(release).into_bytes().into_iter().take(65));
    lead.resize(76, 0);
    lead.extend([0, 1, 0, 5]); // Linux; checksums in a header
    lead.resize(96, 0);
    lead
}

/// A header: an index of tags by number, which begins with a region over all of them, and their data.
fn encode(region: u32, mut tags: Vec<(u32, Tag)>) -> Vec<u8> {
    tags.sort_by_key(|(number, _)| *number);
    let count = tags.len() as u32 + 1;
    let (mut index, mut data) = (Vec::new(), Vec::new());
    for (number, tag) in tags {
        let (kind, length, align, bytes) = encode_tag(tag);
        data.resize(data.len().next_multiple_of(align), 0);
        add_index(&mut index, [number, kind, data.len() as u32, length]);
        data.extend(bytes);
    }
    let mut header = vec![0x8e, 0xad, 0xe8, 1, 0, 0, 0, 0];
    header.extend(count.to_be_bytes());
    header.extend((data.len() as u32 + 16).to_be_bytes());
    add_index(&mut header, [region, 7, data.len() as u32, 16]);
    header.extend(index);
    header.extend(data);
    // The end of the region points back to its start.
    add_index(&mut header, [region, 7, (count * 16).wrapping_neg(), 16]);
    header
}

fn add_index(to: &mut Vec<u8>, entry: [u32; 4]) {
    to.extend(entry.iter().flat_map(|number| number.to_be_bytes()));
}

/// The kind, the number of values, their alignment, and their bytes.
fn encode_tag(tag: Tag) -> (u32, u32, usize, Vec<u8>) {
    let ended = |text: String| [text.as_bytes(), &[0]].concat();
    match tag {
        Tag::Int16(all) => (3, all.len() as u32, 2, all.iter().flat_map(|one| one.to_be_bytes()).collect()),
        Tag::Int32(all) => (4, all.len() as u32, 4, all.iter().flat_map(|one| one.to_be_bytes()).collect()),
        Tag::Text(text) => (6, 1, 1, ended(text)),
        Tag::Texts(all) => (8, all.len() as u32, 1, all.into_iter().flat_map(ended).collect()),
        Tag::Translated(text) => (9, 1, 1, ended(text)),
    }
}
