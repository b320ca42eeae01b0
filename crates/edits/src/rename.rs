//! Plans the rename of a type, a member or a free function: judges every occurrence of its name, and lists the ones that cannot
//! be judged.
//!
//! Does not know local variables (`local` does), and does not guess: an occurrence is renamed only if it certainly means the
//! symbol, and left alone only if it certainly does not.

use crate::edit::{Place, TextEdit};
use crate::error::EditError;
use crate::local::plan_local_rename;
use crate::mentions::Mentions;
use crate::naming::{RenameOptions, check_name};
use crate::plan::{Plan, Uncertain, check_syntax};
use crate::sources::{SymbolPlace, language_family};
use crate::tree::Tree;
use code::{Certainty, Meaning, NamedDeclaration};
use std::collections::BTreeMap;
use syntax::{MemberKind, Occurrence, Occurrences, Role, Span, TypeKind, whole_words};

/// Plans to rename the symbol at a place: a local variable, or the declaration there with all its mentions.
pub fn plan_rename(
    tree: &Tree,
    place: &SymbolPlace,
    new_name: &str,
    options: RenameOptions,
) -> Result<Plan, EditError> {
    let file = tree.file_number(&place.file).ok_or_else(|| EditError::NotFound(place.file.clone()))?;
    check_name(new_name, &place.name, language_family(&place.file))?;
    let here = tree.occurrences(file, &place.name)?;
    let is_local = |it: &&Occurrence| it.span.from == place.at && it.variable.is_some();
    if here.all.iter().any(|it| is_local(&it)) {
        return plan_local_rename(tree, place, new_name, options);
    }
    let mentions = Mentions::find(tree, &place.name, file);
    let target =
        find_target(&mentions, &here, file, place).ok_or_else(|| EditError::NotFound(place.name.clone()))?;
    let rename = Rename::new(tree, &mentions, target, &place.name, new_name, options);
    rename.plan()
}

/// The innermost declaration at a place.
fn find_target(mentions: &Mentions, here: &Occurrences, file: u32, place: &SymbolPlace) -> Option<u32> {
    let declarations = &mentions.report.declarations;
    let around = |it: &NamedDeclaration, at: u32| it.file == file && (it.span.from..it.span.to).contains(&at);
    let fits = |at: &u32| around(&declarations[*at as usize], place.at);
    let size = |at: &u32| declarations[*at as usize].span.to - declarations[*at as usize].span.from;
    let declared = (0..declarations.len() as u32).filter(fits).min_by_key(size);
    // a mention of the symbol stands for its declaration
    let mentioned = || {
        let it = here.all.iter().find(|it| it.span.from == place.at)?;
        let mention = mentions.report.mentions.iter().find(|mention| {
            mention.file == file && mention.span.from <= it.span.from && it.span.to <= mention.span.to
        })?;
        match &mention.meaning {
            Meaning::Declared(all, Certainty::Exact | Certainty::Certain) => all.first().copied(),
            _ => None,
        }
    };
    declared.or_else(mentioned)
}

/// The places that use the declaration at a place, outside of some texts, and those that may.
pub(crate) fn find_uses(
    tree: &Tree,
    mentions: &Mentions,
    place: &SymbolPlace,
    gone: &[(String, Span)],
    options: RenameOptions,
) -> Result<(Vec<Place>, Vec<Uncertain>), EditError> {
    let not_found = || EditError::NotFound(place.name.clone());
    let file = tree.file_number(&place.file).ok_or_else(not_found)?;
    let here = tree.occurrences(file, &place.name)?;
    let target = find_target(mentions, &here, file, place).ok_or_else(not_found)?;
    let mut rename = Rename::new(tree, mentions, target, &place.name, &place.name, options);
    // another overload has the name, and is another function
    let all = &mentions.report.declarations;
    rename.family.retain(|at| *at == target || all[*at as usize].of != rename.target.of);
    let (edits, unsure) = rename.judge_all()?;
    let is_own = |path: &str, at: u32| {
        gone.iter().any(|(file, span)| file == path && (span.from..span.to).contains(&at))
    };
    let mut used = Vec::new();
    for (path, edits) in &edits {
        let text = &tree.text(path)?.text;
        let outside = edits.iter().filter(|edit| !is_own(path, edit.from));
        used.extend(outside.map(|edit| Place::new(path, text, edit.from, "uses it")));
    }
    let is_outside = |it: &Uncertain| it.edit.as_ref().is_some_and(|edit| !is_own(&it.place.file, edit.from));
    Ok((used, unsure.into_iter().filter(is_outside).collect()))
}

/// Declarations that have to change together, and where they are used.
pub(crate) struct Family {
    /// The declaration at the place, by index into `declarations`.
    pub(crate) target: usize,
    pub(crate) declarations: Vec<NamedDeclaration>,
    /// The places that certainly mean one of them, declarations included, by path.
    pub(crate) places: BTreeMap<String, Vec<Span>>,
    /// The places that may mean one of them: the edit has the span of the name.
    pub(crate) unsure: Vec<Uncertain>,
    pub(crate) full_name: String,
}

/// The family of the declaration at a place. Refuses what generated code or a contract outside of the tree declares.
pub(crate) fn find_family(tree: &Tree, place: &SymbolPlace) -> Result<Family, EditError> {
    let not_found = || EditError::NotFound(place.name.clone());
    let file = tree.file_number(&place.file).ok_or_else(not_found)?;
    let here = tree.occurrences(file, &place.name)?;
    let mentions = Mentions::find(tree, &place.name, file);
    let target = find_target(&mentions, &here, file, place).ok_or_else(not_found)?;
    let rename = Rename::new(tree, &mentions, target, &place.name, &place.name, RenameOptions::default());
    rename.check_family()?;
    let (edits, judged) = rename.judge_all()?;
    let mut unsure = rename.doubts_about_family()?;
    unsure.extend(judged);
    let to_spans = |edits: Vec<TextEdit>| edits.iter().map(|it| Span { from: it.from, to: it.to }).collect();
    Ok(Family {
        target: rename.family.iter().position(|at| *at == target).ok_or_else(not_found)?,
        declarations: rename.family.iter().map(|at| rename.declaration(*at).clone()).collect(),
        places: edits.into_iter().map(|(path, edits)| (path, to_spans(edits))).collect(),
        unsure,
        full_name: rename.full_name(),
    })
}

/// Edits by path, and uncertain places.
type Judged = (BTreeMap<String, Vec<TextEdit>>, Vec<Uncertain>);

/// What is to be done with an occurrence.
enum Verdict {
    Yes,
    No,
    Unsure(&'static str, bool),
}

const MAY_BE_EMBEDDED: Verdict = Verdict::Unsure("may be the field of an embedded type", false);

struct Rename<'a> {
    tree: &'a Tree,
    mentions: &'a Mentions,
    family: Vec<u32>,
    /// Whether nothing else in the tree is declared with the name.
    is_unique: bool,
    /// Whether a struct of Go embeds the type.
    is_embedded: bool,
    target: &'a NamedDeclaration,
    old: &'a str,
    new: &'a str,
    options: RenameOptions,
}

impl<'a> Rename<'a> {
    fn new(
        tree: &'a Tree,
        mentions: &'a Mentions,
        target: u32,
        old: &'a str,
        new: &'a str,
        options: RenameOptions,
    ) -> Rename<'a> {
        let all = &mentions.report.declarations;
        let target = &all[target as usize];
        let family: Vec<u32> =
            (0..all.len() as u32).filter(|at| all[*at as usize].family == target.family).collect();
        let language = language_family(tree.path(target.file));
        let is_rival = |it: &NamedDeclaration| {
            it.family != target.family && language_family(tree.path(it.file)) == language
        };
        let is_unique = !all.iter().any(is_rival);
        let is_embedded = language == "Go" && target.member.is_none() && has_subtype(tree, target.of);
        Rename { tree, mentions, family, is_unique, is_embedded, target, old, new, options }
    }

    fn plan(&self) -> Result<Plan, EditError> {
        self.check_family()?;
        let (edits, unsure) = self.judge_all()?;
        let title = format!("rename {} to {}", self.full_name(), self.new);
        let mut plan = Plan::build(self.tree, title, edits)?;
        plan.unsure = self.doubts_about_family()?;
        plan.unsure.extend(unsure);
        if self.options.include_likely {
            plan.confirm(&self.tree.sources, &|it| it.likely)?;
        }
        self.move_file(&mut plan)?;
        self.check_result(&plan)?;
        Ok(plan)
    }

    /// The edits of the occurrences that mean the symbol, and the occurrences that may.
    fn judge_all(&self) -> Result<Judged, EditError> {
        let mut edits: BTreeMap<String, Vec<TextEdit>> = BTreeMap::new();
        let mut unsure = Vec::new();
        for file in self.tree.files_mentioning(self.old, self.target.file) {
            let path = self.tree.path(file).to_owned();
            let source = self.tree.text(&path)?;
            let found = self.tree.occurrences(file, self.old)?;
            let is_unfollowed = |it: &Occurrence| {
                let verdict = || self.judge_mention(file, it, &source.text);
                it.role == Role::Import && matches!(verdict(), Verdict::Unsure(..))
            };
            let has_unfollowed = found.all.iter().any(is_unfollowed);
            for it in &found.all {
                let edit = self.edit_for(it);
                let is_name = matches!(it.role, Role::Name | Role::Capture) && it.variable.is_none();
                let verdict = match self.judge(file, it, &source.text) {
                    Verdict::No if has_unfollowed && is_name => {
                        Verdict::Unsure("named by an import that could not be followed", self.is_unique)
                    }
                    verdict => verdict,
                };
                match verdict {
                    Verdict::Yes => edits.entry(path.clone()).or_default().push(edit),
                    Verdict::No => {}
                    Verdict::Unsure(reason, likely) => {
                        let place = Place::new(&path, &source.text, it.span.from, reason);
                        let is_text = it.role == Role::Text && self.language() != "TypeScript";
                        let can_be_compiled = it.role != Role::Inactive && !is_text;
                        unsure.push(Uncertain { place, edit: Some(edit), likely, can_be_compiled });
                    }
                }
            }
        }
        Ok((edits, unsure))
    }

    fn full_name(&self) -> String {
        let of = &self.tree.code.types[self.target.of as usize].name;
        if self.target.member.is_some() { format!("{of}.{}", self.old) } else { of.clone() }
    }

    fn declaration(&self, at: u32) -> &NamedDeclaration {
        &self.mentions.report.declarations[at as usize]
    }

    fn is_free(&self) -> bool {
        self.target.member.is_some() && self.tree.code.types[self.target.of as usize].kind == TypeKind::Module
    }

    fn is_member(&self) -> bool {
        self.target.member.is_some() && !self.is_free()
    }

    fn language(&self) -> &'static str {
        language_family(self.tree.path(self.target.file))
    }

    /// Refuses to rename what generated code declares or what a contract outside of the tree prescribes.
    fn check_family(&self) -> Result<(), EditError> {
        for at in &self.family {
            let declaration = self.declaration(*at);
            let file = &self.tree.code.files[declaration.file as usize];
            if file.generated {
                return Err(EditError::Generated(file.path.clone()));
            }
            if self.is_declared_outside(declaration)? {
                let source = self.tree.text(&file.path)?;
                let reason = "implements a member that is declared outside of the tree";
                let place = Place::new(&file.path, &source.text, declaration.signature.from, reason);
                return Err(EditError::DeclaredOutside { name: self.old.to_owned(), places: vec![place] });
            }
        }
        Ok(())
    }

    /// Whether the declaration says that it overrides something, which no base in the tree declares.
    fn is_declared_outside(&self, declaration: &NamedDeclaration) -> Result<bool, EditError> {
        let path = self.tree.path(declaration.file);
        let text = &self.tree.text(path)?.text;
        let head = Span { from: declaration.span.from, to: declaration.signature.to }.text_in(text);
        let is_special = self.old.starts_with("__") && self.old.ends_with("__");
        Ok(match self.language() {
            "Rust" => declaration.may_override,
            "Java" => {
                declaration.may_override && head.contains("@Override") && !self.overrides_family(declaration)
            }
            "C#" => {
                let has_word = head.split(|c: char| !c.is_alphanumeric()).any(|word| word == "override");
                declaration.may_override && has_word && !self.overrides_family(declaration)
            }
            "Python" => is_special,
            "Go" => matches!(self.old, "main" | "init"),
            _ => self.old == "constructor",
        })
    }

    /// Whether another type of the family is a base of the declaration's type.
    fn overrides_family(&self, declaration: &NamedDeclaration) -> bool {
        let resolver = code::Resolver::new(&self.tree.code);
        let (mut lineage, mut at) = (vec![declaration.of], 0);
        while let Some(of) = lineage.get(at).copied() {
            lineage.extend(
                resolver.bases(of).iter().filter(|it| !lineage.contains(it)).copied().collect::<Vec<_>>(),
            );
            at += 1;
        }
        self.family.iter().map(|at| self.declaration(*at).of).any(|of| lineage[1..].contains(&of))
    }

    /// What is unsure about the symbol itself.
    fn doubts_about_family(&self) -> Result<Vec<Uncertain>, EditError> {
        let mut found = Vec::new();
        for at in &self.family {
            let declaration = self.declaration(*at);
            let may_implement = match self.language() {
                "C#" | "TypeScript" | "Python" => declaration.may_override && !self.old.starts_with('_'),
                "Go" => declaration.member == Some(MemberKind::Method) && GO_CONTRACTS.contains(&self.old),
                _ => false,
            };
            if may_implement {
                let path = self.tree.path(declaration.file);
                let reason = "may implement a member of a base outside of the tree";
                let place = Place::new(path, &self.tree.text(path)?.text, declaration.signature.from, reason);
                found.push(Uncertain { place, edit: None, likely: self.is_unique, can_be_compiled: true });
            }
        }
        Ok(found)
    }

    // ---- occurrences

    /// The edit that renames an occurrence.
    fn edit_for(&self, it: &Occurrence) -> TextEdit {
        let is_key = self.is_member();
        let text = match it.role {
            Role::Shorthand if is_key || it.variable.is_some() => format!("{}: {}", self.new, self.old),
            Role::Shorthand => format!("{}: {}", self.old, self.new),
            Role::ShorthandBinding if is_key => format!("{}: {}", self.new, self.old),
            _ => self.new.to_owned(),
        };
        TextEdit { from: it.span.from, to: it.span.to, text }
    }

    fn judge(&self, file: u32, it: &Occurrence, text: &str) -> Verdict {
        let is_bound = it.variable.is_some();
        let verdict = match it.role {
            Role::Comment if self.options.in_comments => Verdict::Yes,
            Role::Text => self.judge_text(it, text),
            Role::Inactive => Verdict::Unsure("excluded by the preprocessor", false),
            Role::Unparsed => Verdict::Unsure("in a construct that is not understood", self.is_unique),
            Role::Declaration => self.judge_declaration(file, it),
            _ if self.is_switch_label(it, text) => Verdict::Unsure("a label of a switch", self.is_unique),
            Role::Import => self.judge_import(file, it, text),
            Role::Member => self.judge_member(file, it, text),
            Role::Key | Role::Shorthand | Role::ShorthandBinding if self.is_member() => {
                self.judge_key(file, it, text)
            }
            Role::Name | Role::Capture | Role::Shorthand if !is_bound => self.judge_name(file, it, text),
            Role::Key if self.language() == "Go" => self.judge_go_key(),
            _ => Verdict::No,
        };
        match verdict {
            Verdict::Yes if it.in_macro && is_in_macro_definition(it, text) => {
                Verdict::Unsure("in the definition of a macro", self.is_unique)
            }
            other => other,
        }
    }

    fn judge_text(&self, it: &Occurrence, text: &str) -> Verdict {
        if self.options.in_comments {
            return Verdict::Yes;
        }
        let (before, after) = (&text[..it.span.from as usize], &text[it.span.to as usize..]);
        // in a documentation string of Python, names are in backquotes
        let quotes: &[char] = if self.language() == "Python" { &['"', '\''] } else { &['"', '\'', '`'] };
        let is_whole = before.ends_with(quotes) && after.starts_with(quotes);
        if !is_whole {
            return Verdict::No;
        }
        let in_all = before.rfind("__all__").is_some_and(|at| !before[at..].contains(']'));
        match self.language() {
            "Python" if in_all && !self.is_member() => Verdict::Yes,
            "Python" | "TypeScript" | "Java" if self.is_member() => {
                Verdict::Unsure("a string with this name", false)
            }
            _ => Verdict::No,
        }
    }

    fn judge_declaration(&self, file: u32, it: &Occurrence) -> Verdict {
        let all = &self.mentions.report.declarations;
        let around = |at: &u32| {
            let declaration = &all[*at as usize];
            declaration.file == file
                && (declaration.span.from..declaration.span.to).contains(&it.span.from)
                && (it.span.from < declaration.signature.to
                    || declaration.signature.to <= declaration.signature.from)
        };
        let size = |at: &u32| all[*at as usize].span.to - all[*at as usize].span.from;
        match (0..all.len() as u32).filter(around).min_by_key(size) {
            Some(at) if self.family.contains(&at) => Verdict::Yes,
            None if self.is_member() => {
                Verdict::Unsure("declares a member of a type without a name", self.is_unique)
            }
            _ => Verdict::No,
        }
    }

    /// In `get as get`, with which a package hands a name on, the second name means what the first does.
    fn judge_import(&self, file: u32, it: &Occurrence, text: &str) -> Verdict {
        let before = text[..it.span.from as usize].trim_end().strip_suffix("as").map(str::trim_end);
        let first = before.filter(|before| {
            whole_words(before, self.old).last().is_some_and(|last| last.to as usize == before.len())
        });
        match first {
            Some(before) => {
                let to = before.len() as u32;
                let span = Span { from: to - self.old.len() as u32, to };
                self.judge_mention(file, &Occurrence { span, ..it.clone() }, text)
            }
            None => self.judge_mention(file, it, text),
        }
    }

    /// What name resolution says; `Unsure` where it says nothing.
    fn judge_mention(&self, file: u32, it: &Occurrence, text: &str) -> Verdict {
        match self.mentions.meaning_at(file, it.span, text, self.old) {
            Meaning::Declared(all, certainty) => {
                let own = all.iter().filter(|at| self.family.contains(at)).count();
                let is_sure = certainty <= Certainty::Certain;
                match (own, is_sure) {
                    (0, true) => Verdict::No,
                    (0, false) => Verdict::Unsure("likely means another declaration", false),
                    (count, true) if count == all.len() => Verdict::Yes,
                    (count, false) if count == all.len() => {
                        Verdict::Unsure("likely means this declaration", self.is_unique)
                    }
                    _ => Verdict::Unsure("means one of several declarations", false),
                }
            }
            Meaning::Outside if it.role == Role::Import && self.is_unique && !self.is_member() => {
                Verdict::Unsure("an import that could not be followed", true)
            }
            Meaning::Outside => Verdict::No,
            Meaning::Unknown if self.is_unique => Verdict::Unsure("only the name is known", true),
            Meaning::Unknown => {
                Verdict::Unsure("only the name is known, and several declarations have it", false)
            }
        }
    }

    fn judge_name(&self, file: u32, it: &Occurrence, text: &str) -> Verdict {
        let needs_receiver = matches!(self.language(), "Rust" | "Go" | "TypeScript");
        let is_value =
            matches!(self.target.member, Some(MemberKind::Method | MemberKind::Field | MemberKind::Property));
        if self.is_member() && needs_receiver && is_value {
            return Verdict::No;
        }
        match self.judge_mention(file, it, text) {
            Verdict::Unsure(..) if self.is_unique && !self.is_member() && self.is_same_module(file) => {
                Verdict::Yes
            }
            verdict => verdict,
        }
    }

    /// Whether names of the target's module can be used in a file without an import.
    fn is_same_module(&self, file: u32) -> bool {
        let folder = |file: u32| self.tree.path(file).rsplit_once('/').map_or("", |(folder, _)| folder);
        let is_package = matches!(self.language(), "Go" | "Java");
        file == self.target.file && !matches!(self.language(), "Rust")
            || is_package && folder(file) == folder(self.target.file)
    }

    fn judge_member(&self, file: u32, it: &Occurrence, text: &str) -> Verdict {
        let before = &text[..it.span.from as usize];
        let by_dot = before.trim_end().ends_with('.');
        if !self.is_member() {
            // a value has no free functions and no types
            if self.language() == "Rust" && by_dot {
                return Verdict::No;
            }
            let by_import = matches!(self.language(), "Go" | "Python" | "TypeScript") && !self.is_nested();
            if by_import && !self.is_imported(file, first_receiver(before)) {
                return if self.is_embedded { MAY_BE_EMBEDDED } else { Verdict::No };
            }
        }
        match self.judge_mention(file, it, text) {
            Verdict::No if self.language() == "Python" && self.is_nested() => {
                Verdict::Unsure("may be a type inside of a type", self.is_unique)
            }
            verdict => verdict,
        }
    }

    /// In Java, `case NAME:` means a value of the enumeration that is switched over, whichever that is.
    fn is_switch_label(&self, it: &Occurrence, text: &str) -> bool {
        let is_value = self.target.member == Some(MemberKind::EnumValue);
        let label =
            text[..it.span.from as usize].rsplit(['{', ';', ':', '}', '>']).next().unwrap_or_default();
        self.language() == "Java" && is_value && label.trim_start().starts_with("case ")
    }

    /// Whether the symbol is a type inside of a type, which values of that type lead to.
    fn is_nested(&self) -> bool {
        let facts = &self.tree.code.files[self.target.file as usize].facts;
        let is_it = |part: &syntax::TypePart| part.span == self.target.span && part.outer.is_some();
        self.target.member.is_none() && facts.types.iter().any(is_it)
    }

    /// In Go, a key of a map is a constant or a variable, and a struct that embeds a type has a field with its name.
    fn judge_go_key(&self) -> Verdict {
        match self.target.member {
            Some(MemberKind::Constant | MemberKind::Field) => {
                Verdict::Unsure("a key whose type is not known", self.is_unique)
            }
            None if self.is_embedded => MAY_BE_EMBEDDED,
            _ => Verdict::No,
        }
    }

    /// Whether an import of a file binds a word.
    fn is_imported(&self, file: u32, word: &str) -> bool {
        if word.is_empty() {
            return false;
        }
        let source = &self.tree.code.files[file as usize].facts;
        let imports = source.scopes.iter().flat_map(|scope| &scope.imports);
        let names = |import: &syntax::Import| match import.kind {
            syntax::ImportKind::Alias(alias) => source.word_text(alias) == word,
            _ => source.paths[import.path as usize]
                .segments
                .iter()
                .any(|segment| source.word_text(segment.word) == word),
        };
        let mut imports = imports;
        imports.any(names)
            || self
                .tree
                .occurrences(file, word)
                .is_ok_and(|all| all.all.iter().any(|it| it.role == Role::Import))
    }

    fn judge_key(&self, file: u32, it: &Occurrence, text: &str) -> Verdict {
        if matches!(self.target.member, Some(MemberKind::Method)) && self.language() != "TypeScript" {
            return Verdict::No;
        }
        let meaning = self.mentions.meaning_at(file, it.span, text, self.old);
        if meaning != Meaning::Unknown {
            return self.judge_mention(file, it, text);
        }
        let doubt = Verdict::Unsure("a key whose type is not known", self.is_unique);
        let Some(owner) = &it.owner else { return doubt };
        if self.language() == "C#" && it.role == Role::Key {
            return Verdict::No;
        }
        let is_own = |of: u32| self.family.iter().any(|at| self.declaration(*at).of == of);
        let enclosing = || {
            let facts = &self.tree.code.files[file as usize].facts;
            let around =
                facts.types.iter().filter(|part| (part.span.from..part.span.to).contains(&it.span.from));
            around.max_by_key(|part| part.span.from).map(|part| part.name.clone())
        };
        let owner = if owner == "Self" { enclosing().unwrap_or_default() } else { owner.clone() };
        let named: Vec<u32> = (self.tree.code.types_called(&owner).into_iter())
            .filter(|of| self.tree.code.types[*of as usize].kind != TypeKind::Module)
            .collect();
        let own = named.iter().filter(|of| is_own(**of)).count();
        match (own, named.len()) {
            (0, 0) => doubt,
            (0, _) => Verdict::No,
            (own, all) if own == all => Verdict::Yes,
            _ => Verdict::Unsure("a key of one of several types with this name", false),
        }
    }

    // ---- the result

    /// Renames the file too, where its name has to follow the type's.
    fn move_file(&self, plan: &mut Plan) -> Result<(), EditError> {
        if self.target.member.is_some() || !matches!(self.language(), "Java" | "C#") {
            return Ok(());
        }
        let path = self.tree.path(self.target.file).to_owned();
        let (folder, name) =
            path.rsplit_once('/').map_or(("", path.as_str()), |(folder, name)| (folder, name));
        let Some(ending) = name.strip_prefix(self.old).filter(|rest| rest.starts_with('.')) else {
            return Ok(());
        };
        let to = if folder.is_empty() {
            format!("{}{ending}", self.new)
        } else {
            format!("{folder}/{}{ending}", self.new)
        };
        if self.tree.root().join(&to).exists() {
            let place = Place { file: to, line: 1, column: 1, text: String::new(), reason: "exists".into() };
            return Err(EditError::Captured { name: self.new.to_owned(), places: vec![place] });
        }
        if let Some(file) = plan.files.iter_mut().find(|file| file.path == path) {
            file.moved_to = Some(to);
        }
        plan.refresh_diff(&self.tree.sources)
    }

    /// Refuses a plan whose new name already means something in a changed file or type, or whose result does not parse.
    fn check_result(&self, plan: &Plan) -> Result<(), EditError> {
        let mut captured = Vec::new();
        let others = Mentions::find(self.tree, self.new, self.target.file);
        let is_same_type =
            |it: &&NamedDeclaration| self.family.iter().any(|at| self.declaration(*at).of == it.of);
        for it in others.report.declarations.iter().filter(is_same_type) {
            let path = self.tree.path(it.file);
            captured.push(Place::new(
                path,
                &self.tree.text(path)?.text,
                it.signature.from,
                "declares the new name",
            ));
        }
        captured.extend(code_places(self.tree, plan, self.new)?);
        captured.sort();
        captured.dedup_by(|one, other| (&one.file, one.line) == (&other.file, other.line));
        if !captured.is_empty() {
            return Err(EditError::Captured { name: self.new.to_owned(), places: captured });
        }
        check_syntax(&self.tree.sources, plan)
    }
}

fn has_subtype(tree: &Tree, of: u32) -> bool {
    tree.code.tables.record_subtypes(of);
    let resolver = code::Resolver::new(&tree.code);
    (0..tree.code.types.len() as u32).any(|other| resolver.bases(other).contains(&of))
}

/// Whether a place is inside of `macro_rules!`.
fn is_in_macro_definition(it: &Occurrence, text: &str) -> bool {
    let before = &text[..it.span.from as usize];
    let start = before.rfind("macro_rules!").unwrap_or(before.len());
    before[start..].matches('{').count() > before[start..].matches('}').count()
}

/// The first word of the path that ends a text: `core` of `core.regexes.`.
fn first_receiver(before: &str) -> &str {
    let word = receiver_word(before);
    let rest = before.trim_end().trim_end_matches(['.', ':', '?', '!']).trim_end();
    let rest = rest.strip_suffix(word).unwrap_or(rest).trim_end();
    if word.is_empty() || !rest.ends_with('.') { word } else { first_receiver(rest) }
}

/// The word before the dot or the colons that end a text.
fn receiver_word(before: &str) -> &str {
    let before = before.trim_end().trim_end_matches(['.', ':', '?', '!']).trim_end();
    let start = before.rfind(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'));
    start.map_or(before, |at| &before[at + before[at..].chars().next().map_or(1, char::len_utf8)..])
}

/// The places in changed files where a name already has a meaning.
fn code_places(tree: &Tree, plan: &Plan, name: &str) -> Result<Vec<Place>, EditError> {
    let mut found = Vec::new();
    for file in &plan.files {
        let Some(number) = tree.file_number(&file.path) else { continue };
        let text = &tree.text(&file.path)?.text;
        let means = |it: &&Occurrence| !matches!(it.role, Role::Comment | Role::Text | Role::Label);
        let all = tree.occurrences(number, name)?;
        let to_place =
            |it: &Occurrence| Place::new(&file.path, text, it.span.from, "already has the new name");
        found.extend(all.all.iter().filter(means).map(to_place));
    }
    Ok(found)
}

/// Methods by which types satisfy interfaces of Go's standard library.
const GO_CONTRACTS: &[&str] = &[
    "String",
    "Error",
    "Read",
    "Write",
    "Close",
    "Len",
    "Less",
    "Swap",
    "ServeHTTP",
    "MarshalJSON",
    "UnmarshalJSON",
    "MarshalText",
    "UnmarshalText",
    "MarshalXML",
    "UnmarshalXML",
    "MarshalYAML",
    "UnmarshalYAML",
    "WriteTo",
    "ReadFrom",
    "Flush",
    "Hijack",
    "CloseNotify",
    "Header",
    "WriteHeader",
    "WriteString",
    "Push",
    "Pop",
    "Scan",
    "Value",
    "Format",
    "GoString",
    "Unwrap",
    "Is",
    "As",
    "Seek",
    "ReadAt",
    "WriteAt",
    "Open",
    "Stat",
    "Readdir",
    "Name",
    "Size",
    "Mode",
    "ModTime",
    "IsDir",
    "Sys",
    "Deadline",
    "Done",
    "Err",
    "RoundTrip",
    "Lock",
    "Unlock",
    "Set",
    "Accept",
    "Addr",
];
