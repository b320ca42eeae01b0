//! The parameters of a declaration and the arguments of a call, and what a change of the parameters makes of both.
//!
//! Does not know which calls call which declaration.

use crate::error::EditError;
use crate::naming::check_name;
use crate::shape::{List, Nodes};
use serde::Deserialize;
use syntax::Span;

/// What is done with the parameters of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct SignatureChange {
    /// Declarations of new parameters, as the language writes them.
    pub add: Vec<String>,
    /// What calls pass for them, in the same order; empty where calls rely on the default.
    pub value: Vec<String>,
    /// Names of parameters to remove.
    pub remove: Vec<String>,
    /// `OLD=NEW`.
    pub rename: Vec<String>,
    /// All names in their new order; empty to keep the order and append.
    pub order: Vec<String>,
}

impl SignatureChange {
    /// Source text of the request.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.add.iter().chain(&self.value).map(String::as_str)
    }
}

/// A parameter of a declaration.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub(crate) span: Span,
    /// Its text, if it is not that of its span: Go lets several names share a type.
    pub(crate) own_text: Option<String>,
    pub(crate) name: Option<(String, Span)>,
    pub(crate) kind: ParameterKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParameterKind {
    /// `self`, or what stands for it; calls pass it before the dot.
    Receiver,
    Plain,
    Optional,
    /// Takes any number of arguments.
    Variadic,
    KeywordOnly,
    /// `*` or `/`: declares nothing.
    Marker,
}

/// A parameter after the change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// By index into the parameters before.
    Kept(usize),
    /// By index into the added ones.
    Added(usize),
}

/// A new parameter.
#[derive(Clone, Debug)]
pub(crate) struct Added {
    pub(crate) text: String,
    pub(crate) name: String,
    pub(crate) value: Option<String>,
    is_optional: bool,
}

/// The parameters after a change, in terms of those before.
#[derive(Clone, Debug)]
pub(crate) struct NewOrder {
    pub(crate) slots: Vec<Slot>,
    pub(crate) added: Vec<Added>,
    /// Index and new name.
    pub(crate) renamed: Vec<(usize, String)>,
    pub(crate) removed: Vec<usize>,
}

impl NewOrder {
    pub(crate) fn new_name<'n>(&'n self, at: usize, parameters: &'n [Parameter]) -> Option<&'n str> {
        let renamed = self.renamed.iter().find(|(index, _)| *index == at).map(|(_, name)| name.as_str());
        renamed.or_else(|| parameters[at].name.as_ref().map(|(name, _)| name.as_str()))
    }

    /// Only names change: calls without named arguments stay as they are.
    pub(crate) fn keeps_places(&self, count: usize) -> bool {
        self.slots.len() == count && self.slots.iter().enumerate().all(|(at, it)| *it == Slot::Kept(at))
    }
}

fn kept_index(slot: &Slot) -> Option<usize> {
    if let Slot::Kept(at) = slot { Some(*at) } else { None }
}

// ---- declarations

/// Reads the parameters in a list.
pub(crate) fn read_parameters(nodes: &Nodes, list: &List, text: &str, language: &str) -> Vec<Parameter> {
    let mut found: Vec<Parameter> = Vec::new();
    for item in &list.items {
        let written = item.span.text_in(text);
        let is_decoration =
            |kind: &str| kind.contains("attribute") || kind == "modifier" || kind == "modifiers";
        let main = item.nodes.iter().copied().find(|it| !is_decoration(nodes.get(*it).kind));
        let names = main.map_or_else(Vec::new, |main| name_nodes(nodes, main, language, &item.nodes));
        let span_of = |at: u32| nodes.get(at).span;
        let has_value = main.is_some_and(|main| nodes.child(main, "value").is_some())
            || language == "C#" && written.contains('=');
        let kind_of = main.map_or("", |main| nodes.get(main).kind);
        let after_star = found.iter().any(|it| {
            it.kind == ParameterKind::Variadic
                || it.kind == ParameterKind::Marker && it.span.text_in(text) == "*"
        });
        let is_receiver = found.is_empty()
            && match language {
                "Rust" => kind_of == "self_parameter",
                "Python" => matches!(written, "self" | "cls"),
                "TypeScript" => written.starts_with("this:"),
                _ => false,
            };
        let kind = match kind_of {
            _ if is_receiver => ParameterKind::Receiver,
            "keyword_separator" | "positional_separator" | "*" | "/" => ParameterKind::Marker,
            _ if is_variadic(written, kind_of, language) => ParameterKind::Variadic,
            _ if after_star && language == "Python" => ParameterKind::KeywordOnly,
            "optional_parameter" => ParameterKind::Optional,
            _ if has_value => ParameterKind::Optional,
            _ => ParameterKind::Plain,
        };
        if language == "Go" && names.len() > 1 {
            let of = nodes.child(main.unwrap_or(0), "type").map_or("", |it| span_of(it).text_in(text));
            for name in names {
                let name = (span_of(name).text_in(text).to_owned(), span_of(name));
                let own_text = Some(format!("{} {of}", name.0));
                found.push(Parameter { span: item.span, own_text, name: Some(name), kind });
            }
            continue;
        }
        let name = names.first().map(|it| (span_of(*it).text_in(text).to_owned(), span_of(*it)));
        found.push(Parameter { span: item.span, own_text: None, name, kind });
    }
    found
}

fn is_variadic(written: &str, kind: &str, language: &str) -> bool {
    match language {
        "Python" => written.starts_with('*'),
        "TypeScript" => written.starts_with("..."),
        "Go" => kind == "variadic_parameter_declaration",
        "Java" => kind == "spread_parameter",
        "C#" => written.starts_with("params ") || written.contains(" params "),
        _ => kind == "variadic_parameter",
    }
}

/// The names that an item declares.
fn name_nodes(nodes: &Nodes, main: u32, language: &str, all: &[u32]) -> Vec<u32> {
    let named: Vec<u32> = nodes.children(main).filter(|it| nodes.get(*it).field == "name").collect();
    let is_name = |at: u32| nodes.get(at).kind == "identifier";
    if language == "Go" {
        return named;
    }
    if nodes.get(main).kind == "identifier" {
        return vec![main];
    }
    if let Some(name) = named.first() {
        return nodes.first_name(*name).into_iter().collect();
    }
    if let Some(pattern) = nodes.child(main, "pattern") {
        let simple = ["identifier", "rest_pattern", "mut_pattern"].contains(&nodes.get(pattern).kind);
        return nodes.first_name(pattern).filter(|_| simple).into_iter().collect();
    }
    match (language, nodes.get(main).kind) {
        ("Python", _) => nodes.first_name(main).into_iter().collect(),
        ("Java", "spread_parameter") | ("C#", _) => {
            let last = *all.last().unwrap_or(&main);
            let names = nodes.below(last).filter(|it| is_name(*it));
            names.last().into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// Resolves a change against the parameters of the function.
pub(crate) fn resolve_change(
    change: &SignatureChange,
    parameters: &[Parameter],
    language: &'static str,
) -> Result<NewOrder, EditError> {
    let known = || {
        let names = parameters.iter().filter_map(|it| it.name.as_ref()).map(|(name, _)| name.as_str());
        format!("parameters: {}", names.collect::<Vec<_>>().join(", "))
    };
    let find = |name: &str| {
        let at = parameters.iter().position(|it| {
            it.kind != ParameterKind::Receiver && it.name.as_ref().is_some_and(|(own, _)| own == name)
        });
        at.ok_or_else(|| EditError::invalid(format!("no parameter `{name}`"), known()))
    };
    let removed = change.remove.iter().map(|name| find(name)).collect::<Result<Vec<_>, _>>()?;
    let mut renamed = Vec::new();
    for pair in &change.rename {
        let (old, new) = pair.split_once('=').ok_or_else(|| {
            EditError::invalid(
                format!("`{pair}` is not a rename"),
                "write it as OLD=NEW, for example n=count",
            )
        })?;
        check_name(new.trim(), old.trim(), language)?;
        renamed.push((find(old.trim())?, new.trim().to_owned()));
    }
    let added = read_added(change, language)?;
    let mut slots: Vec<Slot> =
        (0..parameters.len()).filter(|at| !removed.contains(at)).map(Slot::Kept).collect();
    let order = NewOrder { slots: Vec::new(), added, renamed, removed };
    for (number, each) in order.added.iter().enumerate() {
        let comes_before = |slot: &Slot| {
            kept_index(slot).is_some_and(|at| match parameters[at].kind {
                ParameterKind::Variadic | ParameterKind::Marker | ParameterKind::KeywordOnly => true,
                ParameterKind::Optional => !each.is_optional,
                _ => false,
            })
        };
        let at = slots.iter().position(comes_before).unwrap_or(slots.len());
        slots.insert(at, Slot::Added(number));
    }
    let mut order = NewOrder { slots, ..order };
    if !change.order.is_empty() {
        order.slots = sort_slots(&order, &change.order, parameters)?;
    }
    if order.keeps_places(parameters.len()) && order.renamed.is_empty() {
        return Err(EditError::NoChange);
    }
    check_values(&order, parameters)?;
    Ok(order)
}

fn read_added(change: &SignatureChange, language: &'static str) -> Result<Vec<Added>, EditError> {
    if change.value.len() > change.add.len() {
        let message = format!("{} values for {} new parameters", change.value.len(), change.add.len());
        return Err(EditError::invalid(message, "give one value for each new parameter, in the same order"));
    }
    let mut added = Vec::new();
    for (at, text) in change.add.iter().enumerate() {
        let text = text.trim();
        let head = text.split_once('=').map_or(text, |(head, _)| head).trim();
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let word = match language {
            "Java" | "C#" => head.rsplit(|c: char| !is_word(c)).next().unwrap_or(""),
            _ => head.trim_start_matches("mut ").split(|c: char| !is_word(c)).next().unwrap_or(""),
        };
        let example = match language {
            "Java" | "C#" => "int limit",
            "Go" => "limit int",
            "Rust" => "limit: u32",
            "Python" => "limit: int = 10",
            _ => "limit: number",
        };
        check_name(word, "", language).map_err(|_| {
            EditError::invalid(format!("`{text}` does not declare a parameter in {language}"), example)
        })?;
        let needs_type = matches!(language, "Java" | "C#" | "Go" | "Rust");
        if needs_type && head == word {
            return Err(EditError::invalid(
                format!("`{text}` has no type"),
                format!("write it as `{example}`"),
            ));
        }
        let is_optional =
            matches!(language, "C#" | "Python" | "TypeScript") && (head != text || head.contains("?:"));
        let value = change.value.get(at).map(|it| it.trim().to_owned()).filter(|it| !it.is_empty());
        added.push(Added { text: text.to_owned(), name: word.to_owned(), value, is_optional });
    }
    Ok(added)
}

fn sort_slots(order: &NewOrder, names: &[String], parameters: &[Parameter]) -> Result<Vec<Slot>, EditError> {
    let fixed =
        |slot: &&Slot| kept_index(slot).is_some_and(|at| parameters[at].kind == ParameterKind::Receiver);
    let moving: Vec<&Slot> = order.slots.iter().filter(|it| !fixed(it)).collect();
    let name_of = |slot: &Slot| match slot {
        Slot::Kept(at) => order.new_name(*at, parameters).map(str::to_owned),
        Slot::Added(at) => Some(order.added[*at].name.clone()),
    };
    let all: Vec<Option<String>> = moving.iter().map(|it| name_of(it)).collect();
    let wanted = || {
        let names = all.iter().flatten().map(String::as_str).collect::<Vec<_>>().join(",");
        format!("name every parameter once, for example --order {names}")
    };
    if all.iter().any(Option::is_none) || parameters.iter().any(|it| it.kind == ParameterKind::KeywordOnly) {
        let message = "parameters without a name, or after `*`, cannot be put in another order";
        return Err(EditError::invalid(message, "leave out --order"));
    }
    let mut slots: Vec<Slot> = order.slots.iter().filter(fixed).cloned().collect();
    for name in names {
        let at = all.iter().position(|it| it.as_deref() == Some(name.trim()));
        let at = at.ok_or_else(|| EditError::invalid(format!("no parameter `{name}`"), wanted()))?;
        if slots.contains(moving[at]) {
            return Err(EditError::invalid(format!("`{name}` is named twice"), wanted()));
        }
        slots.push(moving[at].clone());
    }
    if slots.len() != order.slots.len() {
        return Err(EditError::invalid("the order does not name every parameter", wanted()));
    }
    let is_variadic =
        |slot: &Slot| kept_index(slot).is_some_and(|at| parameters[at].kind == ParameterKind::Variadic);
    if slots.iter().rev().skip(1).any(is_variadic) {
        return Err(EditError::invalid(
            "a parameter that takes any number of arguments is the last",
            wanted(),
        ));
    }
    Ok(slots)
}

/// A new parameter without a value needs a default, and nothing without one after it.
fn check_values(order: &NewOrder, parameters: &[Parameter]) -> Result<(), EditError> {
    let mut after_optional = None;
    for slot in &order.slots {
        let (is_optional, is_plain) = match slot {
            Slot::Added(at) => (order.added[*at].is_optional, !order.added[*at].is_optional),
            Slot::Kept(at) => {
                let kind = parameters[*at].kind;
                (kind == ParameterKind::Optional, kind == ParameterKind::Plain)
            }
        };
        if let Slot::Added(at) = slot
            && order.added[*at].value.is_none()
            && !is_optional
        {
            let message = format!("no value for calls to pass for `{}`", order.added[*at].name);
            return Err(EditError::invalid(message, "add --value EXPRESSION, for example --value 0"));
        }
        if is_plain && let Some(name) = &after_optional {
            let message = format!("a parameter without a default cannot come after `{name}`, which has one");
            return Err(EditError::invalid(message, "give another --order"));
        }
        if is_optional && after_optional.is_none() {
            let name = match slot {
                Slot::Kept(at) => order.new_name(*at, parameters).unwrap_or("it").to_owned(),
                Slot::Added(at) => order.added[*at].name.clone(),
            };
            after_optional = Some(name);
        }
    }
    Ok(())
}

/// How many arguments a call may pass, without the receiver.
pub(crate) fn accepted_counts(parameters: &[Parameter]) -> (usize, usize) {
    let count = |wanted: &[ParameterKind]| parameters.iter().filter(|it| wanted.contains(&it.kind)).count();
    let min = count(&[ParameterKind::Plain]);
    let has_variadic = count(&[ParameterKind::Variadic]) > 0;
    let max = count(&[ParameterKind::Plain, ParameterKind::Optional, ParameterKind::KeywordOnly]);
    (min, if has_variadic { usize::MAX } else { max })
}

// ---- calls

/// An argument of a call.
struct Argument {
    item: usize,
    name: Option<String>,
}

/// An item of the new list of arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NewItem {
    /// An item of the list before, as it is.
    Same(usize),
    /// The value of an item of the list before, under a name.
    Named(usize, String),
    Text(String),
}

/// The arguments of a call after a change. `fixed` arguments come before the parameters. The error says what is unsure.
pub(crate) fn change_arguments(
    nodes: &Nodes,
    call: &List,
    text: &str,
    (parameters, order): (&[Parameter], &NewOrder),
    fixed: usize,
    language: &str,
) -> Result<Vec<NewItem>, &'static str> {
    let (positional, named) = read_arguments(nodes, call, text)?;
    let declared: Vec<usize> =
        (0..parameters.len()).filter(|at| parameters[*at].kind != ParameterKind::Receiver).collect();
    if positional.len() < fixed {
        return Err("passes too few arguments");
    }
    let mut passed: Vec<Vec<&Argument>> = vec![Vec::new(); parameters.len()];
    let mut places =
        declared.iter().copied().filter(|at| parameters[*at].kind != ParameterKind::Marker).peekable();
    for argument in &positional[fixed..] {
        let at = *places.peek().ok_or("passes more arguments than the function takes")?;
        match parameters[at].kind {
            ParameterKind::KeywordOnly => return Err("passes more arguments than the function takes"),
            ParameterKind::Variadic => {}
            _ => drop(places.next()),
        }
        passed[at].push(argument);
    }
    let mut extra = Vec::new();
    for argument in &named {
        let own =
            |at: &&usize| parameters[**at].name.as_ref().map(|(name, _)| name) == argument.name.as_ref();
        match declared.iter().find(own) {
            Some(at) if passed[*at].is_empty() => passed[*at].push(argument),
            Some(_) => return Err("passes a parameter twice"),
            None => extra.push(argument),
        }
    }
    if !extra.is_empty() && !parameters.iter().any(|it| it.kind == ParameterKind::Variadic) {
        return Err("passes an argument that the function does not have");
    }
    let is_missing = |at: &&usize| parameters[**at].kind == ParameterKind::Plain && passed[**at].is_empty();
    if declared.iter().any(|at| is_missing(&at)) {
        return Err("passes too few arguments");
    }
    let mut out: Vec<NewItem> = positional[..fixed].iter().map(|it| NewItem::Same(it.item)).collect();
    lay_out(&passed, (parameters, order), language, &mut out)?;
    out.extend(extra.iter().map(|it| NewItem::Same(it.item)));
    Ok(out)
}

/// Puts the arguments in the order of the new parameters.
fn lay_out(
    passed: &[Vec<&Argument>],
    (parameters, order): (&[Parameter], &NewOrder),
    language: &str,
    out: &mut Vec<NewItem>,
) -> Result<(), &'static str> {
    let can_name = matches!(language, "Python" | "C#");
    // after an argument that is left out or named, the others are named too
    let (mut needs_name, mut missing, mut last) = (false, 0, Vec::new());
    let is_given = |slot: &Slot| match slot {
        Slot::Kept(at) => !passed[*at].is_empty(),
        Slot::Added(at) => order.added[*at].value.is_some(),
    };
    for slot in &order.slots {
        if let Slot::Kept(at) = slot
            && matches!(parameters[*at].kind, ParameterKind::Receiver | ParameterKind::Marker)
        {
            continue;
        }
        if !is_given(slot) {
            needs_name = true;
            missing += 1;
            continue;
        }
        if missing > 0 && !can_name {
            if language != "TypeScript" {
                return Err("leaves out an argument before another one");
            }
            out.extend((0..missing).map(|_| NewItem::Text("undefined".to_owned())));
            missing = 0;
        }
        let mark = if language == "C#" { ": " } else { "=" };
        match slot {
            Slot::Kept(at) if parameters[*at].kind == ParameterKind::Variadic => {
                if needs_name && can_name && passed[*at].iter().any(|it| it.name.is_none()) {
                    return Err("passes further arguments after one that is named");
                }
                out.extend(passed[*at].iter().map(|it| NewItem::Same(it.item)));
            }
            Slot::Kept(at) => {
                let argument = passed[*at][0];
                let name = order.new_name(*at, parameters).unwrap_or_default();
                let is_renamed = order.renamed.iter().any(|(index, _)| index == at);
                match &argument.name {
                    Some(_) => {
                        needs_name = true;
                        last.push(if is_renamed {
                            NewItem::Named(argument.item, format!("{name}{mark}"))
                        } else {
                            NewItem::Same(argument.item)
                        });
                    }
                    None if needs_name && can_name => {
                        last.push(NewItem::Named(argument.item, format!("{name}{mark}")));
                    }
                    None => out.push(NewItem::Same(argument.item)),
                }
            }
            Slot::Added(at) => {
                let added = &order.added[*at];
                let value = added.value.clone().unwrap_or_default();
                if needs_name && can_name {
                    last.push(NewItem::Text(format!("{}{mark}{value}", added.name)));
                } else {
                    out.push(NewItem::Text(value));
                }
            }
        }
    }
    out.append(&mut last);
    Ok(())
}

fn read_arguments(
    nodes: &Nodes,
    call: &List,
    text: &str,
) -> Result<(Vec<Argument>, Vec<Argument>), &'static str> {
    let (mut positional, mut named) = (Vec::new(), Vec::new());
    for (item, each) in call.items.iter().enumerate() {
        let Some(node) = each.nodes.first().copied() else { continue };
        if ["spread_element", "list_splat", "dictionary_splat"].contains(&nodes.get(node).kind) {
            return Err("passes a list as several arguments");
        }
        let is_named = matches!(nodes.get(node).kind, "keyword_argument" | "argument");
        match nodes.child(node, "name").filter(|_| is_named) {
            Some(name) => {
                let name = nodes.get(name).span.text_in(text).to_owned();
                named.push(Argument { item, name: Some(name) });
            }
            None if named.is_empty() => positional.push(Argument { item, name: None }),
            None => return Err("passes further arguments after one that is named"),
        }
    }
    Ok((positional, named))
}

/// The value of an argument, without its name.
pub(crate) fn value_span(nodes: &Nodes, item: &crate::shape::Item) -> Span {
    let Some(node) = item.nodes.first().copied() else { return item.span };
    if let Some(value) = nodes.child(node, "value") {
        return nodes.get(value).span;
    }
    match nodes.child(node, "name").filter(|_| nodes.get(node).kind == "argument") {
        Some(name) => {
            let rest = nodes.children(node).filter(|it| nodes.get(*it).span.from >= nodes.get(name).span.to);
            let first = rest.into_iter().find(|it| nodes.get(*it).kind != ":");
            Span { from: first.map_or(item.span.from, |it| nodes.get(it).span.from), to: item.span.to }
        }
        None => item.span,
    }
}
