//! Outlines: what a type is, its public API and its dependencies, in a fraction of the tokens of its source, for people and
//! models.
//!
//! Does not know what the type is for; a note may describe that.

mod lines;

use crate::codebase::{Codebase, Type};
use crate::hash::{TypeHashes, hash_type};
use crate::resolve::Resolver;
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use syntax::{
    FileFacts, Member, MemberId, MemberKind, Position, Reference, Shape, TypeId, TypeKind, TypePart,
    Visibility,
};

/// More dependencies than this are counted, not listed; so are members visible only within the project.
const MAX_LISTED_NAMES: usize = 5;

/// More files than this are counted, not listed: a Go package is a module of dozens of files.
const MAX_LISTED_FILES: usize = 3;

/// Longer documentation is truncated: what follows the hundredth character seldom says what a type is. So is a longer header: a
/// TypeScript alias may fill a page.
const MAX_SUMMARY_CHARS: usize = 100;

/// Words of documentation that add nothing to the name: `The BaseItem class.`
const FILLER_WORDS: &[&str] = &[
    "a",
    "an",
    "the",
    "class",
    "interface",
    "enum",
    "struct",
    "record",
    "this",
    "is",
    "defines",
    "represents",
];

/// The cost of an outline next to the cost of its source, in tokens of the o200k vocabulary. For models with another vocabulary
/// both are estimates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TokenCost {
    pub outline: usize,
    pub source: usize,
}

impl TokenCost {
    pub fn new(outline: &str, source: &str) -> TokenCost {
        TokenCost { outline: count_tokens(outline), source: count_tokens(source) }
    }

    /// The outline's cost in percent of the source's.
    pub fn percent(self) -> f64 {
        self.outline as f64 * 100.0 / self.source.max(1) as f64
    }
}

pub use tokens::count_tokens;

/// Writes outlines of the types of one codebase.
pub struct Outliner<'a> {
    code: &'a Codebase,
    resolver: &'a Resolver<'a>,
    ids: Vec<TypeId>,
    /// The number of types per simple name; generic variants of the same type count once.
    types_per_name: FxHashMap<String, u32>,
}

impl<'a> Outliner<'a> {
    pub fn new(code: &'a Codebase, resolver: &'a Resolver<'a>) -> Outliner<'a> {
        let mut ids: Vec<TypeId> = code.types.iter().map(|each| each.id).collect();
        ids.sort_unstable();
        let mut sharing = FxHashMap::default();
        let mut seen = FxHashSet::default();
        for at in 0..code.types.len() as u32 {
            let name = code.types[at as usize].name.as_str();
            if seen.insert(name.split('`').next()) {
                *sharing.entry(code.simple_name(at).to_owned()).or_default() += 1;
            }
        }
        Outliner { code, resolver, ids, types_per_name: sharing }
    }

    /// The shortest unambiguous ID of a type.
    pub fn short_id(&self, of: u32) -> String {
        self.code.types[of as usize].id.unique_prefix(&self.ids)
    }

    /// The outline for reading: what the type is, its API and its dependencies. A dependency is only qualified if its name is
    /// ambiguous. The same goes for the ID, which would be a fifth of the outline of a ten-line type.
    pub fn outline_text(&self, of: u32) -> String {
        let each = &self.code.types[of as usize];
        let mut out = format!("# {}", each.name);
        if !self.has_unique_name(of) {
            out.extend([" ", &self.short_id(of)]);
        }
        let (kind, header) = (self.describe_kind(each), truncate_summary(self.declaration_header(each)));
        let between = if header.is_empty() || header.starts_with(['(', ':']) { "" } else { " " };
        let _ = writeln!(out, "\n{kind}{between}{header} in {}", self.format_location(of));
        self.write_body(&mut out, of, "");
        let mut all = self.dependencies(of);
        all.retain(|at| self.is_unclear(&out, of, *at));
        self.write_dependencies(&mut out, &all);
        out
    }

    /// Like `outline_text`, but with the full ID, which does not depend on the other types.
    pub fn text_with_full_id(&self, of: u32) -> String {
        let id = self.code.types[of as usize].id;
        self.outline_text(of).replacen(&self.short_id(of), &id.to_string(), 1)
    }

    pub fn file_with_full_id(&self, of: u32) -> String {
        let id = self.code.types[of as usize].id;
        self.outline_file(of).replacen(&self.short_id(of), &id.to_string(), 1)
    }

    /// Whether no other project has a type with the same name; types are sorted by name.
    fn has_unique_name(&self, of: u32) -> bool {
        let (types, at) = (&self.code.types, of as usize);
        let beside = [at.checked_sub(1), Some(at + 1)].into_iter().flatten();
        !beside.filter_map(|other| types.get(other)).any(|other| other.name == types[at].name)
    }

    /// The outline as it is written to a file: with hashes that show whether it is current, and with all files and dependencies
    /// for searching.
    pub fn outline_file(&self, of: u32) -> String {
        let each = &self.code.types[of as usize];
        let TypeHashes { hashes, .. } = hash_type(self.code, self.resolver, of);
        let assembly = self.code.projects.get(each.project as usize).map_or("", |project| &project.name);
        let mut out = format!("# {} {}\n", each.name, self.short_id(of));
        let (kind, files) = (self.describe_kind(each), self.list_files(each, usize::MAX).join(","));
        let structure = hashes.structure;
        let _ = writeln!(
            out,
            "Kind: {kind} | Files: {files} | Assembly: {assembly} | StructureHash: {structure}"
        );
        let (public, internal, both) = (hashes.public, hashes.internal, hashes.implementation());
        let _ = writeln!(out, "PublicImplHash: {public} | InternalImplHash: {internal} | ImplHash: {both}");
        let _ = writeln!(out, "XmlDocHash: {}", hashes.doc);
        let header = self.declaration_header(each);
        if !header.is_empty() {
            let _ = writeln!(out, "Takes: {header}");
        }
        self.write_body(&mut out, of, "Public API:\n");
        self.write_dependencies(&mut out, &self.dependencies(of));
        out
    }

    /// The outline of one member: its signature, the summary of its documentation, and its first and last line, for which `line_of`
    /// counts the lines of a file up to a byte.
    pub fn member_outline(&self, of: u32, key: &str, line_of: &dyn Fn(&str, usize) -> u32) -> Option<String> {
        let each = &self.code.types[of as usize];
        let mut out = String::new();
        for (file, part) in &each.parts {
            let members = &self.code.part((*file, *part)).members;
            for member in members.iter().filter(|member| member.key == key) {
                let id = MemberId::new(each.id, member.kind, key);
                let _ = writeln!(out, "{}.{} {id}", each.name, member.key);
                let _ = writeln!(out, "  {}", lines::format_signature(member));
                if let Some(doc) = &member.doc {
                    let _ = writeln!(out, "  Doc: {}", doc.summary);
                }
                let path = &self.code.files[*file as usize].path;
                let [first, last] = [member.span.from, member.span.to].map(|at| line_of(path, at as usize));
                let _ = writeln!(out, "  File: {path} | Lines: {first}-{last}");
            }
        }
        (!out.is_empty()).then_some(out)
    }

    fn describe_kind(&self, of: &Type) -> String {
        let mut words: Vec<&str> = Vec::new();
        if of.visibility != Visibility::Public {
            words.push(of.visibility.name());
        }
        for part in self.code.parts(of) {
            words.extend(
                part.modifiers
                    .iter()
                    .map(String::as_str)
                    .filter(|it| matches!(*it, "abstract" | "static" | "sealed" | "readonly" | "ref")),
            );
        }
        words.dedup();
        words.push(of.kind.name());
        words.join(" ")
    }

    /// The part of a declaration after its name: the components of a record, bounds, and bases in languages that put them there.
    fn declaration_header(&self, of: &Type) -> &str {
        let own = self.code.parts(of).filter(|part| part.kind != TypeKind::Impl);
        own.map(|part| part.header_text.as_str()).find(|it| !it.is_empty()).unwrap_or_default()
    }

    fn list_files(&self, of: &Type, most: usize) -> Vec<Cow<'_, str>> {
        let mut files: Vec<&str> =
            of.parts.iter().map(|(file, _)| self.code.files[*file as usize].path.as_str()).collect();
        files.dedup();
        let more = files.len().saturating_sub(most);
        let named = files.into_iter().take(most).map(Cow::Borrowed);
        named.chain((more > 0).then(|| Cow::Owned(format!("… {more} more")))).collect()
    }

    /// The files of a type. If the only file is named after the type, just its folder, which ends in `/`.
    fn format_location(&self, of: u32) -> String {
        let files = self.list_files(&self.code.types[of as usize], MAX_LISTED_FILES);
        let own = match &files[..] {
            [only] => only
                .rsplit_once('/')
                .filter(|(_, file)| file.split('.').next() == Some(self.code.simple_name(of))),
            _ => None,
        };
        own.map_or_else(|| files.join(", "), |(folder, _)| format!("{folder}/"))
    }

    fn write_body(&self, out: &mut String, of: u32, label: &str) {
        let each = &self.code.types[of as usize];
        let doc = self.code.parts(each).find_map(|part| part.doc.as_ref());
        if let Some(doc) = doc.filter(|doc| adds_to_name(&doc.summary, self.code.simple_name(of))) {
            let _ = writeln!(out, "Doc: {}", truncate_summary(&doc.summary));
        }
        if self.code.parts(each).any(|part| part.degraded) {
            out.push_str("Gaps: parts of this type could not be read\n");
        }
        self.write_members(out, of, label);
        let header = self.declaration_header(each);
        let based = self.base_names(each).into_iter().filter(|base| !header.contains(base.as_str()));
        let based: Vec<String> = based.collect();
        if !based.is_empty() {
            let _ = writeln!(out, "Implements: {}", based.join(", "));
        }
    }

    /// The members that are as visible as the type itself: enum values on one line, similar members grouped. Members of a public
    /// type that are visible only within the project are just named.
    fn write_members(&self, out: &mut String, of: u32, label: &str) {
        let each = &self.code.types[of as usize];
        let header = self.declaration_header(each);
        let all = self.code.parts(each).flat_map(|part| part.members.iter().map(move |it| (part, it)));
        let listed = all.filter(|(part, member)| is_listed(part, member, header)).map(|(_, member)| member);
        let (values, mut members): (Vec<&Member>, Vec<&Member>) =
            listed.partition(|member| member.kind == MemberKind::EnumValue);
        if !values.is_empty() {
            let values: Vec<&str> = values.iter().map(|member| member.signature_text.as_str()).collect();
            let _ = writeln!(out, "Values: {}", values.join(", "));
        }
        members.sort_by(|one, other| (one.kind, &one.key).cmp(&(other.kind, &other.key)));
        members.dedup_by(|one, other| (one.kind, &one.key) == (other.kind, &other.key));
        drop_default_constructor(&mut members);
        let inside = !each.visibility.is_public_api();
        let (offered, rest): (Vec<&Member>, Vec<&Member>) = members
            .into_iter()
            .partition(|it| it.visibility.is_public_api() || (inside && is_project_only(it.visibility)));
        let nested =
            self.code.nested_types(of).filter(|at| self.code.types[*at as usize].visibility.is_public_api());
        let nested: Vec<(&str, &str)> =
            nested.map(|at| (self.code.types[at as usize].kind.name(), self.code.simple_name(at))).collect();
        if !offered.is_empty() || !nested.is_empty() {
            out.push_str(label);
        }
        lines::write_members(out, self.code.simple_name(of), &nested, &offered);
        let internal = rest.iter().filter(|it| is_project_only(it.visibility)).map(|it| it.name.clone());
        let mut internal: Vec<String> = internal.collect();
        internal.dedup();
        if !internal.is_empty() {
            let _ = writeln!(out, "Internal API: {}", join_with_count(internal));
        }
    }

    /// The bases with their type arguments, qualified only as far as necessary.
    fn base_names(&self, of: &Type) -> Vec<String> {
        let mut found = Vec::new();
        for (file, part) in &of.parts {
            let facts = &self.code.files[*file as usize].facts;
            let part = &facts.types[*part as usize];
            let derived =
                part.attributes.iter().flat_map(|it| derived_traits(&self.render_shape(*file, facts, it)));
            // `byte`, the underlying type of an enum, is not a name
            let bases = part.bases.iter().filter(|base| !base.names().is_empty());
            let bases = bases.map(|base| join_tokens(&self.render_shape(*file, facts, base)));
            for name in derived.chain(bases) {
                if !found.contains(&name) {
                    found.push(name);
                }
            }
        }
        found
    }

    /// Renders a shape with each name as short as possible.
    fn render_shape(&self, file: u32, facts: &FileFacts, shape: &Shape) -> String {
        let mut out = String::new();
        let name = |reference: u32, out: &mut String| {
            let reference = &facts.references[reference as usize];
            out.push_str(&self.display_name(file, facts, reference));
        };
        shape.render(name, &mut out);
        out
    }

    fn display_name(&self, file: u32, facts: &FileFacts, reference: &Reference) -> String {
        match self.resolver.target_type(file, reference) {
            Some(base) => self.short_name(base),
            None => facts
                .reference_path(reference)
                .segments
                .last()
                .map_or("", |last| facts.word_text(last.word))
                .to_owned(),
        }
    }

    /// The simple name of a type if it is unique, otherwise the full name.
    fn short_name(&self, of: u32) -> String {
        let simple = self.code.simple_name(of);
        match self.types_per_name.get(simple) {
            Some(1) => simple.to_owned(),
            _ => self.code.types[of as usize].name.clone(),
        }
    }

    /// The types that public signatures refer to, the most frequent first.
    fn dependencies(&self, of: u32) -> Vec<u32> {
        let mut count: BTreeMap<u32, u32> = BTreeMap::new();
        for (file, part) in &self.code.types[of as usize].parts {
            let facts = &self.code.files[*file as usize].facts;
            let part = &facts.types[*part as usize];
            let open = part
                .members
                .iter()
                .filter(|member| member.visibility.is_public_api())
                .map(|member| &member.shape);
            let names = open.chain([&part.header]).flat_map(Shape::names);
            let references = names.map(|reference| &facts.references[*reference as usize]);
            // an attribute says how a member is treated, not what it works with
            for reference in references.filter(|it| it.position != Position::Attribute) {
                if let Some(to) = self.resolver.target_type(*file, reference) {
                    *count.entry(to).or_default() += 1;
                }
            }
        }
        count.remove(&of);
        let mut found: Vec<(u32, u32)> = count.into_iter().collect();
        found.sort_by_key(|(at, count)| (std::cmp::Reverse(*count), *at));
        found.into_iter().map(|(at, _)| at).collect()
    }

    /// Whether the lines so far name a dependency that a reader could confuse with another type. Of several with the same name,
    /// the one in the same namespace is assumed.
    fn is_unclear(&self, so_far: &str, of: u32, dependency: u32) -> bool {
        let simple = self.code.simple_name(dependency);
        let around = |at: u32| self.code.types[at as usize].name.rsplit_once(['.', '+']).map(|it| it.0);
        let clear = self.types_per_name.get(simple) == Some(&1)
            || around(of) == around(dependency)
            || self.code.types[dependency as usize].outer == Some(of);
        let mut words = so_far.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        !clear && words.any(|word| word == simple)
    }

    fn write_dependencies(&self, out: &mut String, on: &[u32]) {
        if !on.is_empty() {
            let names = join_with_count(on.iter().map(|at| self.short_name(*at)).collect());
            let _ = writeln!(out, "DependsOn: {names}");
        }
    }
}

/// The first few names of a list, and the number of the remaining ones.
fn join_with_count(mut names: Vec<String>) -> String {
    let more = names.len().saturating_sub(MAX_LISTED_NAMES);
    names.truncate(MAX_LISTED_NAMES);
    names.extend((more > 0).then(|| format!("… {more} more")));
    names.join(", ")
}

/// Whether a member is visible within the project only.
fn is_project_only(visibility: Visibility) -> bool {
    visibility.is_visible_outside() && !visibility.is_public_api() && visibility != Visibility::File
}

/// Whether a member adds something to the other lines: the methods of a trait are listed with the trait, explicit interface
/// implementations (`IList.Count`) with the interface, and the components of a record in its header.
fn is_listed(part: &TypePart, member: &Member, header: &str) -> bool {
    let by_trait = part.kind == TypeKind::Impl
        && !part.bases.is_empty()
        && matches!(member.kind, MemberKind::Method | MemberKind::Function);
    let by_interface = member.name.contains('.') && !member.name.starts_with('[');
    let is_inherited = by_trait || by_interface;
    let is_component = matches!(part.kind, TypeKind::Record | TypeKind::RecordStruct)
        && member.kind == MemberKind::Property
        && header.contains(&member.signature_text);
    !is_inherited && !is_component && member.kind != MemberKind::Destructor
}

/// Drops a public constructor without parameters if it is the only one: it is the default.
fn drop_default_constructor(members: &mut Vec<&Member>) {
    let is_constructor = |it: &Member| it.kind == MemberKind::Constructor && !it.is_static;
    let says_nothing = |it: &Member| it.visibility == Visibility::Public && it.signature_text.ends_with("()");
    let mut all = members.iter().filter(|it| is_constructor(it));
    if let (Some(only), None) = (all.next(), all.next())
        && says_nothing(only)
    {
        members.retain(|it| !is_constructor(it));
    }
}

/// The traits in `# [ derive ( A , B ) ]`: A and B.
fn derived_traits(attribute: &str) -> Vec<String> {
    let list = attribute.strip_prefix("# [ derive (").and_then(|rest| rest.strip_suffix(") ]"));
    let names = list.unwrap_or_default().split(',').map(|name| join_tokens(name.trim()));
    names.filter(|name| !name.is_empty()).collect()
}

/// Joins tokens, with spaces only between words and after commas.
fn join_tokens(tokens: &str) -> String {
    let mut out = String::new();
    for token in tokens.split(' ') {
        let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
        if out.ends_with(',') || (out.ends_with(is_word) && token.starts_with(is_word)) {
            out.push(' ');
        }
        out.push_str(token);
    }
    out
}

/// Whether documentation says more than the name it belongs to.
fn adds_to_name(summary: &str, name: &str) -> bool {
    let words = summary.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let remaining: String =
        words.map(str::to_lowercase).filter(|word| !FILLER_WORDS.contains(&word.as_str())).collect();
    remaining != name.to_lowercase()
}

/// Truncates a summary at a space, so that no word is cut.
fn truncate_summary(summary: &str) -> Cow<'_, str> {
    if summary.chars().count() <= MAX_SUMMARY_CHARS {
        return Cow::Borrowed(summary);
    }
    let cut = summary.char_indices().nth(MAX_SUMMARY_CHARS).map_or(summary.len(), |(at, _)| at);
    let blank = summary[..cut].rfind(' ').unwrap_or(cut);
    Cow::Owned(format!("{} …", &summary[..blank]))
}
