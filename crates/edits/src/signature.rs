//! Plans a change of a function's parameters: its declaration, the declarations that override or implement it, and every call.
//!
//! Does not know types: a call that may call something else, an overload with as many parameters, a function that is passed as a
//! value, and an argument whose removal may leave out an effect are listed as unsure.

use crate::edit::{Place, TextEdit};
use crate::error::EditError;
use crate::list_text::{Rewriter, join_items};
use crate::parameters::{
    NewItem, NewOrder, Parameter, ParameterKind, SignatureChange, Slot, accepted_counts, change_arguments,
    read_parameters, resolve_change, value_span,
};
use crate::plan::{Plan, Uncertain, check_syntax};
use crate::rename::{Family, find_family};
use crate::shape::{List, Nodes};
use crate::sources::{SymbolPlace, language_family};
use crate::tree::Tree;
use code::NamedDeclaration;
use std::collections::BTreeMap;
use syntax::{MemberKind, Occurrence, Role, Span, TypeKind, whole_words};

/// Plans to change the parameters of the function at a place.
pub fn plan_signature(
    tree: &Tree,
    place: &SymbolPlace,
    change: &SignatureChange,
    include_likely: bool,
) -> Result<Plan, EditError> {
    let language = language_family(&place.file);
    if !LANGUAGES.contains(&language) {
        let message = format!("the parameters of {language} code cannot be changed");
        return Err(EditError::invalid(message, format!("languages: {}", LANGUAGES.join(", "))));
    }
    let family = find_family(tree, place)?;
    let signature = Signature::read(tree, place, &family, change, language)?;
    let mut plan = signature.plan()?;
    if include_likely {
        plan.confirm(&tree.sources, &|it| it.likely)?;
    }
    check_syntax(&tree.sources, &plan)?;
    Ok(plan)
}

const LANGUAGES: &[&str] = &["C#", "Java", "TypeScript", "Python", "Go", "Rust"];

/// A declaration with its parameters.
struct Declared<'a> {
    declaration: &'a NamedDeclaration,
    name: Span,
    list: List,
    parameters: Vec<Parameter>,
}

struct Signature<'a> {
    tree: &'a Tree,
    name: &'a str,
    family: &'a Family,
    language: &'static str,
    nodes: BTreeMap<u32, Nodes>,
    /// The declarations whose parameters change; the first is the one that was asked for.
    changed: Vec<Declared<'a>>,
    /// Other overloads.
    others: Vec<Declared<'a>>,
    order: NewOrder,
    unsure: Vec<Uncertain>,
}

impl<'a> Signature<'a> {
    fn read(
        tree: &'a Tree,
        place: &'a SymbolPlace,
        family: &'a Family,
        change: &SignatureChange,
        language: &'static str,
    ) -> Result<Signature<'a>, EditError> {
        let mut nodes = BTreeMap::new();
        for path in family.places.keys().chain(family.unsure.iter().map(|it| &it.place.file)) {
            if let Some(file) = tree.file_number(path) {
                nodes.insert(file, tree.nodes(file)?);
            }
        }
        let mut unsure = Vec::new();
        let mut all = Vec::new();
        for (at, declaration) in family.declarations.iter().enumerate() {
            let path = tree.path(declaration.file);
            let text = &tree.text(path)?.text;
            let found = nodes
                .get(&declaration.file)
                .and_then(|nodes| read_declared(nodes, declaration, text, &place.name, language));
            match found {
                Some(declared) => all.push((at, declared)),
                None if at == family.target => {
                    let message = format!("`{}` has no list of parameters", place.name);
                    return Err(EditError::invalid(message, "name a function or a method"));
                }
                None => unsure.push(doubt(Place::new(
                    path,
                    text,
                    declaration.signature.from,
                    "declares it without a list of parameters",
                ))),
            }
        }
        let target = all.iter().position(|(at, _)| *at == family.target);
        let target = all.remove(target.ok_or_else(|| EditError::NotFound(place.name.clone()))?).1;
        if target.declaration.member == Some(MemberKind::Constructor) {
            let hint = "change the constructor and its calls with `loci edit replace`";
            return Err(EditError::invalid("the parameters of a constructor cannot be changed", hint));
        }
        let order = resolve_change(change, &target.parameters, language)?;
        let mut signature = Signature {
            tree,
            name: &place.name,
            family,
            language,
            nodes,
            changed: vec![target],
            others: Vec::new(),
            order,
            unsure,
        };
        signature.choose_overrides(all.into_iter().map(|(_, it)| it).collect())?;
        Ok(signature)
    }

    /// Divides the other declarations with the name into those that change too and overloads.
    fn choose_overrides(&mut self, others: Vec<Declared<'a>>) -> Result<(), EditError> {
        let count =
            |it: &Declared| it.parameters.iter().filter(|it| it.kind != ParameterKind::Receiver).count();
        let wanted = count(&self.changed[0]);
        let has_overloads = matches!(self.language, "C#" | "Java");
        let of_target = self.changed[0].declaration.of;
        let alike: Vec<(u32, usize)> = others.iter().map(|it| (it.declaration.of, count(it))).collect();
        for (at, declared) in others.into_iter().enumerate() {
            let of = declared.declaration.of;
            let rivals =
                alike.iter().enumerate().filter(|(other, it)| *other != at && **it == (of, wanted)).count();
            let is_alike = alike[at].1 == wanted;
            let is_changed = is_alike && rivals == 0 && of != of_target;
            if is_changed {
                self.changed.push(declared);
                continue;
            }
            if is_alike || !has_overloads {
                let reason = if of == of_target || rivals > 0 {
                    "another declaration with as many parameters"
                } else {
                    "overrides it with other parameters"
                };
                let place = self.place(declared.declaration.file, declared.name.from, reason)?;
                self.unsure.push(doubt(place));
            }
            self.others.push(declared);
        }
        Ok(())
    }

    fn place(&self, file: u32, at: u32, reason: &str) -> Result<Place, EditError> {
        let path = self.tree.path(file);
        Ok(Place::new(path, &self.tree.text(path)?.text, at, reason))
    }

    /// Whether a compiler fails at a call that should have changed and did not.
    fn can_be_compiled(&self) -> bool {
        let is_exact = |it: &Declared| {
            let (min, max) = accepted_counts(&it.parameters);
            min == max
        };
        !matches!(self.language, "TypeScript" | "Python")
            && self.others.is_empty()
            && self.changed.iter().all(is_exact)
            && self.order.slots.len() != self.changed[0].parameters.len()
    }

    fn plan(mut self) -> Result<Plan, EditError> {
        self.doubt_declarations()?;
        let mut files: BTreeMap<u32, Rewriter> = BTreeMap::new();
        for at in 0..self.changed.len() {
            self.check_parameters(at)?;
            self.rename_parameters(at, &mut files)?;
        }
        self.rewrite_lists(&mut files)?;
        self.judge_unsure(&files)?;
        let mut edits = BTreeMap::new();
        for (file, rewriter) in files {
            edits.insert(self.tree.path(file).to_owned(), rewriter.edits);
        }
        let title = format!("change the parameters of {}", self.family.full_name);
        let mut plan = Plan::build(self.tree, title, edits)?;
        self.unsure.sort_by(|one, other| one.place.cmp(&other.place));
        self.unsure.dedup_by(|one, other| one.place == other.place);
        plan.unsure = self.unsure;
        Ok(plan)
    }

    // ---- declarations

    /// What calls a function besides the calls in the source.
    fn doubt_declarations(&mut self) -> Result<(), EditError> {
        let mut found = Vec::new();
        for declared in &self.changed {
            let path = self.tree.path(declared.declaration.file);
            let text = &self.tree.text(path)?.text;
            if let Some(reason) = self.unseen_caller(declared, text, path) {
                found.push(doubt(Place::new(path, text, declared.name.from, reason)));
            }
            if self.is_functional(declared.declaration) {
                let place = Place::new(path, text, declared.name.from, "a lambda may implement it");
                let can_be_compiled = self.can_be_compiled();
                found.push(Uncertain { can_be_compiled, ..doubt(place) });
            }
        }
        let (min, max) = self.new_counts();
        for other in &self.others {
            let (other_min, other_max) = accepted_counts(&other.parameters);
            if min <= other_max && other_min <= max {
                let reason = "an overload that takes as many arguments";
                found.push(doubt(self.place(other.declaration.file, other.name.from, reason)?));
            }
        }
        self.unsure.extend(found);
        Ok(())
    }

    /// How many arguments a call may pass after the change.
    fn new_counts(&self) -> (usize, usize) {
        let parameters = &self.changed[0].parameters;
        let (min, max) = accepted_counts(parameters);
        let is_plain = |at: &&usize| parameters[**at].kind == ParameterKind::Plain;
        let removed = self.order.removed.iter().filter(|at| is_plain(at)).count();
        let required = self.order.added.iter().filter(|it| it.value.is_some()).count();
        let max =
            if max == usize::MAX { max } else { max + self.order.added.len() - self.order.removed.len() };
        (min + required - removed, max)
    }

    fn unseen_caller(&self, declared: &Declared, text: &str, path: &str) -> Option<&'static str> {
        let name = self.name;
        let is_test = ["Test", "Benchmark", "Example", "Fuzz"].iter().any(|it| name.starts_with(it));
        if name == "main" || self.language == "Go" && path.ends_with("_test.go") && is_test {
            return Some("is called by the runtime");
        }
        if self.language == "Python" && path.contains("test") && name.starts_with("test") {
            return Some("is called by the test runner");
        }
        let head = crate::insert::head_with_attributes(text, declared.declaration.span, declared.name.from);
        let attributes = head.lines().map(str::trim).filter_map(attribute_name);
        let mut unknown = attributes.filter(|it| !HARMLESS_ATTRIBUTES.contains(it));
        if unknown.next().is_some() {
            return Some("an attribute or decorator may call it");
        }
        let is_extension = |it: &Parameter| it.span.text_in(text).starts_with("this ");
        if self.language == "C#" && declared.parameters.first().is_some_and(is_extension) {
            return Some("is an extension method");
        }
        (self.language == "Rust" && head.contains("extern \"")).then_some("is called from another language")
    }

    /// Whether a lambda can implement the type of the method.
    fn is_functional(&self, declaration: &NamedDeclaration) -> bool {
        let of = &self.tree.code.types[declaration.of as usize];
        if self.language != "Java" || of.kind != TypeKind::Interface {
            return false;
        }
        let members = self.tree.code.parts(of).flat_map(|part| &part.members);
        members.filter(|it| it.kind == MemberKind::Method && it.body_span.is_none()).count() == 1
    }

    /// Refuses to remove a parameter that is used, and to add one whose name means something there.
    fn check_parameters(&self, at: usize) -> Result<(), EditError> {
        let declared = &self.changed[at];
        let file = declared.declaration.file;
        let mut used = Vec::new();
        for index in &self.order.removed {
            let Some((name, span)) = &declared.parameters[*index].name else { continue };
            let all = self.tree.occurrences(file, name)?;
            let own = all.all.iter().find(|it| it.span == *span).and_then(|it| it.variable);
            let is_use = |it: &&Occurrence| {
                let is_here = contains(declared.declaration.span, it.span) && it.span != *span;
                let is_unclear = matches!(it.role, Role::Unparsed | Role::Inactive);
                is_here && (it.variable == own && own.is_some() || is_unclear)
            };
            for it in all.all.iter().filter(is_use) {
                used.push(self.place(file, it.span.from, "uses the parameter")?);
            }
        }
        if !used.is_empty() {
            let names: Vec<&str> = self.order.removed.iter().filter_map(|at| self.old_name(*at)).collect();
            return Err(EditError::StillUsed { name: names.join(", "), places: used });
        }
        let renamed = self.order.renamed.iter().map(|(_, name)| name.as_str());
        for name in self.order.added.iter().map(|it| it.name.as_str()).chain(renamed) {
            let means = |it: &&Occurrence| {
                contains(declared.declaration.span, it.span)
                    && !matches!(it.role, Role::Comment | Role::Text | Role::Label | Role::Member | Role::Key)
            };
            let mut places = Vec::new();
            for it in self.tree.occurrences(file, name)?.all.iter().filter(means) {
                places.push(self.place(file, it.span.from, "already has the new name")?);
            }
            if !places.is_empty() {
                return Err(EditError::Captured { name: name.to_owned(), places });
            }
        }
        Ok(())
    }

    fn old_name(&self, at: usize) -> Option<&str> {
        self.changed[0].parameters[at].name.as_ref().map(|(name, _)| name.as_str())
    }

    /// Renames parameters where they are used.
    fn rename_parameters(&mut self, at: usize, files: &mut BTreeMap<u32, Rewriter>) -> Result<(), EditError> {
        let file = self.changed[at].declaration.file;
        for (index, new) in self.order.renamed.clone() {
            let Some((name, span)) = self.changed[at].parameters[index].name.clone() else { continue };
            if Some(name.as_str()) != self.old_name(index) {
                continue;
            }
            let found = self.tree.occurrences(file, &name)?;
            let own = found.all.iter().find(|it| it.span == span).and_then(|it| it.variable);
            let rewriter = files.entry(file).or_default();
            let is_own = |it: &&Occurrence| it.span == span || own.is_some() && it.variable == own;
            for it in found.all.iter().filter(is_own) {
                let is_short = matches!(it.role, Role::Shorthand | Role::ShorthandBinding);
                let text = if is_short { format!("{name}: {new}") } else { new.clone() };
                rewriter.edits.push(TextEdit { from: it.span.from, to: it.span.to, text });
            }
            let body = self.changed[at].declaration.span;
            let is_unclear = |it: &&Occurrence| {
                contains(body, it.span) && matches!(it.role, Role::Unparsed | Role::Inactive)
            };
            for it in found.all.iter().filter(is_unclear) {
                let place = self.place(file, it.span.from, "may be the parameter")?;
                self.unsure.push(doubt(place));
            }
        }
        Ok(())
    }

    // ---- lists

    /// Rewrites the lists of declarations and calls, inner ones first: a call can be an argument of another.
    fn rewrite_lists(&mut self, files: &mut BTreeMap<u32, Rewriter>) -> Result<(), EditError> {
        let mut lists: Vec<(u32, Span, Target)> = Vec::new();
        for (at, declared) in self.changed.iter().enumerate() {
            lists.push((declared.declaration.file, declared.list.inner, Target::Declaration(at)));
        }
        for (path, places) in &self.family.places {
            let Some(file) = self.tree.file_number(path) else { continue };
            let roles = self.tree.occurrences(file, self.name)?;
            for span in places {
                match self.find_call(file, *span, &roles.all) {
                    Found::Call(list, fixed) => {
                        lists.push((file, list.inner, Target::Call(list, fixed, *span)));
                    }
                    Found::Nothing => {}
                    Found::Doubt(reason) => {
                        let place = self.place(file, span.from, reason)?;
                        let can_be_compiled = self.can_be_compiled();
                        self.unsure.push(Uncertain { can_be_compiled, ..doubt(place) });
                    }
                }
            }
        }
        lists.sort_by_key(|(file, span, _)| (*file, span.to - span.from));
        for (file, inner, target) in lists {
            let rewriter = files.entry(file).or_default();
            let text = &self.tree.text(self.tree.path(file))?.text;
            match target {
                Target::Declaration(at) => {
                    let new = self.declaration_text(at, text, rewriter);
                    rewriter.replace(text, inner, &new);
                }
                Target::Call(list, fixed, name) => match self.call_text(file, &list, fixed, text, rewriter) {
                    Ok((new, doubts)) => {
                        rewriter.replace(text, inner, &new);
                        for reason in doubts {
                            let place = self.place(file, name.from, reason)?;
                            self.unsure.push(Uncertain { likely: true, ..doubt(place) });
                        }
                    }
                    Err(reason) => {
                        let place = self.place(file, name.from, reason)?;
                        self.unsure.push(doubt(place));
                    }
                },
            }
        }
        Ok(())
    }

    /// What a place that means the function is.
    fn find_call(&self, file: u32, span: Span, roles: &[Occurrence]) -> Found {
        let is_declared = |it: &Declared| it.declaration.file == file && it.name == span;
        if self.changed.iter().chain(&self.others).any(is_declared) {
            return Found::Nothing;
        }
        let occurrence = roles.iter().find(|it| it.span == span);
        if occurrence.is_some_and(|it| matches!(it.role, Role::Import | Role::Comment | Role::Text)) {
            return Found::Nothing;
        }
        let Some(nodes) = self.nodes.get(&file) else { return Found::Doubt("is not understood") };
        let Some(name) = nodes.at(span) else { return Found::Doubt("is not understood") };
        let Ok(source) = self.tree.text(self.tree.path(file)) else {
            return Found::Doubt("is not understood");
        };
        let in_macro = occurrence.is_some_and(|it| it.in_macro);
        let list = nodes.arguments_of(name).or_else(|| nodes.macro_arguments_of(name).filter(|_| in_macro));
        let Some(list) = list.and_then(|at| nodes.list(at, &source.text)) else {
            return Found::Doubt("is used otherwise than by a call");
        };
        let has_receiver =
            self.changed[0].parameters.first().is_some_and(|it| it.kind == ParameterKind::Receiver);
        let before = source.text[..span.from as usize].trim_end();
        let by_path = before.ends_with("::");
        if has_receiver && self.language == "Python" && self.is_type_before_dot(before) {
            return Found::Doubt("passes the receiver as an argument");
        }
        if !self.others.is_empty() {
            let accepts = |it: &Declared| {
                let (min, max) = accepted_counts(&it.parameters);
                (min..=max).contains(&list.items.len())
            };
            match (self.changed.iter().any(accepts), self.others.iter().any(accepts)) {
                (true, true) => return Found::Doubt("calls one of several overloads"),
                (false, true) => return Found::Nothing,
                _ => {}
            }
        }
        Found::Call(list, usize::from(has_receiver && by_path && self.language == "Rust"))
    }

    fn is_type_before_dot(&self, before: &str) -> bool {
        let Some(receiver) = before.strip_suffix('.') else { return false };
        let word = receiver.rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or("");
        !word.is_empty() && !self.tree.code.types_called(word).is_empty()
    }

    fn declaration_text(&self, at: usize, text: &str, rewriter: &mut Rewriter) -> String {
        let declared = &self.changed[at];
        let is_grouped = declared.parameters.iter().any(|it| it.own_text.is_some());
        // in Go either all parameters have names or none
        let has_names =
            declared.parameters.is_empty() || declared.parameters.iter().any(|it| it.name.is_some());
        let mut items = Vec::new();
        for slot in &self.order.slots {
            match slot {
                Slot::Kept(index) => {
                    let parameter = &declared.parameters[*index];
                    let own = parameter.own_text.as_ref().map(|own| {
                        let (old, _) = own.split_once(' ').unwrap_or((own, ""));
                        let is_same = Some(old) == self.old_name(*index);
                        let renamed = self.order.renamed.iter().find(|(at, _)| at == index && is_same);
                        renamed.map_or_else(|| own.clone(), |(_, new)| own.replacen(old, new, 1))
                    });
                    let written = own.unwrap_or_else(|| rewriter.text_of(text, parameter.span));
                    items.push(((!is_grouped).then_some(*index), written));
                }
                Slot::Added(number) => {
                    let added = &self.order.added[*number];
                    let is_bare = self.language == "Go" && !has_names;
                    let of = added.text.split_once(' ').map_or("", |(_, of)| of.trim());
                    let written = if is_bare { of.to_owned() } else { added.text.clone() };
                    items.push((None, written));
                }
            }
        }
        join_items(&declared.list, text, &items)
    }

    /// The new arguments of a call, and what is unsure about them.
    fn call_text(
        &self,
        file: u32,
        list: &List,
        fixed: usize,
        text: &str,
        rewriter: &mut Rewriter,
    ) -> Result<(String, Vec<&'static str>), &'static str> {
        let nodes = self.nodes.get(&file).ok_or("is not understood")?;
        let change = (self.changed[0].parameters.as_slice(), &self.order);
        let items = change_arguments(nodes, list, text, change, fixed, self.language)?;
        let is_same = items.len() == list.items.len()
            && items.iter().enumerate().all(|(at, it)| *it == NewItem::Same(at));
        if is_same {
            return Ok((rewriter.text_of(text, list.inner), Vec::new()));
        }
        let doubts = self.doubt_arguments(nodes, list, &items, text);
        let written = items.iter().map(|item| match item {
            NewItem::Same(at) => (Some(*at), rewriter.text_of(text, list.items[*at].span)),
            NewItem::Named(at, name) => {
                let value = rewriter.text_of(text, value_span(nodes, &list.items[*at]));
                (Some(*at), format!("{name}{value}"))
            }
            NewItem::Text(new) => (None, new.clone()),
        });
        let written: Vec<(Option<usize>, String)> = written.collect();
        Ok((join_items(list, text, &written), doubts))
    }

    /// What a call does no longer, or in another order.
    fn doubt_arguments(
        &self,
        nodes: &Nodes,
        list: &List,
        items: &[NewItem],
        text: &str,
    ) -> Vec<&'static str> {
        let kept: Vec<usize> = items
            .iter()
            .filter_map(|it| match it {
                NewItem::Same(at) | NewItem::Named(at, _) => Some(*at),
                NewItem::Text(_) => None,
            })
            .collect();
        let has_effect = |at: &usize| {
            let below = list.items[*at].nodes.iter().flat_map(|it| nodes.below(*it));
            below.into_iter().any(|it| EFFECTS.iter().any(|kind| nodes.get(it).kind == *kind))
        };
        let removed: Vec<usize> = (0..list.items.len()).filter(|at| !kept.contains(at)).collect();
        let mut doubts = Vec::new();
        if removed.iter().any(has_effect) {
            doubts.push("the argument that is removed may have an effect");
        }
        let is_plain = |at: &usize| {
            list.items[*at].span.text_in(text).chars().all(|c| !c.is_alphabetic()) || self.language != "Go"
        };
        if !removed.iter().all(is_plain) {
            doubts.push("what the removed argument uses may be unused now");
        }
        if !kept.is_sorted() && kept.iter().filter(|at| has_effect(at)).count() > 1 {
            doubts.push("arguments with effects are evaluated in another order");
        }
        let is_dropped = list.has_comment && (!removed.is_empty() || !kept.is_sorted());
        if is_dropped {
            doubts.push("a comment between the arguments would be lost");
        }
        doubts
    }

    // ---- places that may mean the function

    /// Gives the places that may mean the function the edit they would need.
    fn judge_unsure(&mut self, files: &BTreeMap<u32, Rewriter>) -> Result<(), EditError> {
        let can_be_compiled = self.can_be_compiled();
        for uncertain in self.family.unsure.clone() {
            let span = uncertain.edit.as_ref().map(|it| Span { from: it.from, to: it.to });
            let file = self.tree.file_number(&uncertain.place.file);
            let (Some(span), Some(file)) = (span, file) else {
                self.unsure.push(uncertain);
                continue;
            };
            let roles = self.tree.occurrences(file, self.name)?;
            let text = &self.tree.text(&uncertain.place.file)?.text;
            let edit = match self.find_call(file, span, &roles.all) {
                Found::Nothing => continue,
                Found::Doubt(_) => None,
                Found::Call(list, fixed) => {
                    let mut rewriter = Rewriter::default();
                    let new = self.call_text(file, &list, fixed, text, &mut rewriter);
                    new.ok().filter(|(_, doubts)| doubts.is_empty()).and_then(|(new, _)| {
                        rewriter.replace(text, list.inner, &new);
                        let is_free = |it: &TextEdit| {
                            let known = files.get(&file).map_or(&[][..], |known| &known.edits);
                            !known.iter().any(|other| {
                                other.from < it.to.max(it.from + 1) && it.from < other.to.max(other.from + 1)
                            })
                        };
                        rewriter.edits.pop().filter(is_free)
                    })
                }
            };
            let likely = uncertain.likely && edit.is_some();
            let can_be_compiled = uncertain.can_be_compiled && can_be_compiled;
            self.unsure.push(Uncertain { edit, likely, can_be_compiled, ..uncertain });
        }
        Ok(())
    }
}

enum Target {
    Declaration(usize),
    /// The arguments, how many come before the parameters, and the name.
    Call(List, usize, Span),
}

enum Found {
    Call(List, usize),
    /// An import, a declaration, or a call of another overload.
    Nothing,
    Doubt(&'static str),
}

fn doubt(place: Place) -> Uncertain {
    Uncertain { place, edit: None, likely: false, can_be_compiled: false }
}

fn contains(outer: Span, inner: Span) -> bool {
    outer.from <= inner.from && inner.to <= outer.to
}

fn read_declared<'a>(
    nodes: &Nodes,
    declaration: &'a NamedDeclaration,
    text: &str,
    name: &str,
    language: &str,
) -> Option<Declared<'a>> {
    let own = declaration.span;
    let words = whole_words(own.text_in(text), name);
    let names = words.iter().map(|it| Span { from: it.from + own.from, to: it.to + own.from });
    for span in names {
        let node = nodes.at(span)?;
        let is_name = nodes.get(node).span == span && matches!(nodes.get(node).field, "name" | "");
        if let Some(list) = nodes.parameters_of(node).filter(|_| is_name) {
            let list = nodes.list(list, text)?;
            let parameters = read_parameters(nodes, &list, text, language);
            return Some(Declared { declaration, name: span, list, parameters });
        }
    }
    None
}

/// The name of the attribute, annotation or decorator on a line.
fn attribute_name(line: &str) -> Option<&str> {
    let rest = line.strip_prefix('@').or_else(|| line.strip_prefix("#["))?;
    let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.')).unwrap_or(rest.len());
    Some(&rest[..end])
}

/// Attributes that do not call what they are written on.
const HARMLESS_ATTRIBUTES: &[&str] = &[
    "Override",
    "Deprecated",
    "SuppressWarnings",
    "Nullable",
    "NonNull",
    "CanIgnoreReturnValue",
    "SafeVarargs",
    "VisibleForTesting",
    "Nonnull",
    "staticmethod",
    "classmethod",
    "abstractmethod",
    "abc.abstractmethod",
    "override",
    "t.override",
    "typing.override",
    "inline",
    "must_use",
    "cfg",
    "cfg_attr",
    "allow",
    "expect",
    "doc",
    "cold",
    "track_caller",
    "deprecated",
    "rustfmt.skip",
];

/// Nodes that may do more than return a value.
const EFFECTS: &[&str] = &[
    "call",
    "call_expression",
    "method_invocation",
    "invocation_expression",
    "object_creation_expression",
    "new_expression",
    "assignment",
    "assignment_expression",
    "compound_assignment_expr",
    "augmented_assignment",
    "update_expression",
    "prefix_unary_expression",
    "postfix_unary_expression",
    "await",
    "await_expression",
    "macro_invocation",
    "yield",
    "yield_expression",
    "named_expression",
    "implicit_object_creation_expression",
];
