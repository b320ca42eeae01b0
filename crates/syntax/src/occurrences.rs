//! Finds every occurrence of a name in one file: its exact token range, its role, and the local variable it refers to.
//!
//! Does not know other files: what a free name or a member access refers to is decided by the caller.

mod rules;

use crate::parsed::ParsedText;
use crate::preprocessor::Symbols;
use crate::reader::Reader;
use crate::token::{Token, TokenKind};
use crate::walk::is_word_char;
use facts::Span;
use rules::{Extent, NameRules, Rule, default_rule, rules_of};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tree_sitter::{Node, Tree};

/// An occurrence of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// The name alone, without quotes or punctuation.
    pub span: Span,
    pub role: Role,
    /// The local variable it declares or refers to, by index into [`Occurrences::variables`].
    pub variable: Option<u32>,
    /// Whether it is inside a macro invocation or definition, whose expansion is unknown.
    pub in_macro: bool,
    /// Whether it is written where only a type can be.
    pub is_type: bool,
    /// For a key: the last word of the type or function that the key belongs to.
    pub owner: Option<String>,
}

/// The role of a name where it occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Declares something that other files may name: a type, a member, a free function.
    Declaration,
    /// Declares a local variable, a parameter or a type parameter.
    Binding,
    /// A name without a receiver.
    Name,
    /// A name after a receiver or a path.
    Member,
    /// A key of an object, a field of a struct literal, a named argument.
    Key,
    /// A name that is also a key: `{ name }`.
    Shorthand,
    /// A binding that is also a key: `let { name } = …`.
    ShorthandBinding,
    /// In an import, an export list or a package clause.
    Import,
    /// A label, a lifetime or a private name: never what another role with the same letters refers to.
    Label,
    /// In a format string that captures variables.
    Capture,
    Comment,
    /// In a string.
    Text,
    /// In text that the preprocessor excludes.
    Inactive,
    /// In text that the grammar does not understand, or in a construct without a rule.
    Unparsed,
}

/// A local variable, parameter or type parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    pub kind: VariableKind,
    /// Where it is visible.
    pub visible: Span,
    /// A part of that where it is not: what a comprehension iterates over.
    hidden: Span,
    /// The declaration around it: a function, or the file.
    pub within: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariableKind {
    Local,
    Parameter,
    TypeParameter,
    /// A type or function declared in a body.
    Item,
}

/// All occurrences of a name in a file, by position.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Occurrences {
    pub all: Vec<Occurrence>,
    pub variables: Vec<Variable>,
}

impl Reader {
    /// Every place where a name occurs as a whole word, including comments, strings and excluded text.
    pub fn occurrences(&mut self, text: &str, symbols: &Symbols, name: &str) -> Occurrences {
        let places = whole_words(text, name);
        if places.is_empty() {
            return Occurrences::default();
        }
        let parsed = self.parse(text, symbols);
        parsed.map_or_else(Occurrences::default, |parsed| parsed.occurrences(text, name))
    }
}

impl ParsedText {
    /// Every place where a name occurs as a whole word, including comments, strings and excluded text.
    pub fn occurrences(&self, text: &str, name: &str) -> Occurrences {
        let places = whole_words(text, name);
        let (tree, tokens) = (&self.tree, &self.prepared.tokens);
        let (path, steps) = (RefCell::default(), Cell::new(0));
        Finder { rules: rules_of(self.language), text, tree, tokens, path, steps }.find(&places)
    }
}

/// The places where a name is a whole word.
pub fn whole_words(text: &str, name: &str) -> Vec<Span> {
    if name.is_empty() {
        return Vec::new();
    }
    let is_part = |c: char| is_word_char(c) || c == '$';
    memchr::memmem::find_iter(text.as_bytes(), name.as_bytes())
        .filter(|at| text.is_char_boundary(*at) && text.is_char_boundary(at + name.len()))
        .filter(|at| !text[..*at].ends_with(is_part) && !text[at + name.len()..].starts_with(is_part))
        .map(|at| Span::new(at, at + name.len()))
        .collect()
}

struct Finder<'a> {
    rules: &'static NameRules,
    text: &'a str,
    tree: &'a Tree,
    tokens: &'a [Token],
    /// The nodes from the root to the place that is being classified: `Node::parent` would search each of them from the root.
    path: RefCell<Rc<Vec<Node<'a>>>>,
    /// How many nodes were on the paths so far.
    steps: Cell<usize>,
}

/// Of a name that occurs ten thousand times, each five thousand levels deep, the rest is not understood.
const MAX_STEPS: usize = 50_000_000;

/// A binding that was found, before bindings are joined into variables.
struct Binding<'a> {
    occurrence: usize,
    kind: VariableKind,
    visible: Span,
    hidden: Span,
    scope: Node<'a>,
    /// The declaration around the scope.
    within: Span,
    extent: Extent,
}

impl<'a> Finder<'a> {
    fn find(&self, places: &[Span]) -> Occurrences {
        let mut found = Occurrences::default();
        let mut bindings = Vec::new();
        for span in places {
            let at = found.all.len();
            let (occurrence, binding) = self.classify(*span, at);
            found.all.push(occurrence);
            bindings.extend(binding);
        }
        Self::join_bindings(&mut found, &bindings);
        bind_names(&mut found);
        found
    }

    fn classify(&self, span: Span, at: usize) -> (Occurrence, Option<Binding<'a>>) {
        let mut found = Occurrence {
            span,
            role: Role::Unparsed,
            variable: None,
            in_macro: false,
            is_type: false,
            owner: None,
        };
        let root = self.tree.root_node();
        let Some(node) = root.named_descendant_for_byte_range(span.from as usize, span.to as usize) else {
            return (found, None);
        };
        if !self.enter_path(root, node) {
            return (found, None);
        }
        found.in_macro = self.has_ancestor(node, self.rules.macros);
        let is_whole = (node.start_byte(), node.end_byte()) == (span.from as usize, span.to as usize);
        if !is_whole || !self.rules.names.contains(&node.kind()) {
            found.role = self.role_in_text(node, span, found.in_macro);
            return (found, None);
        }
        found.is_type = node.kind() == "type_identifier" || self.is_in_type_path(node);
        let is_broken = |node: Node| node.is_error() || node.is_missing();
        if self.parent_of(node).is_none_or(is_broken) {
            return (found, None);
        }
        let (rule, at_rule) = self.rule_of(node);
        let binding = self.apply_rule(rule, node, at_rule, &mut found, at);
        if matches!(found.role, Role::Key | Role::Shorthand | Role::ShorthandBinding) {
            found.owner = self.owner_of_key(node);
        }
        (found, binding)
    }

    /// The role of a word inside a leaf that is not a name: a comment, a string, or text that was not parsed.
    fn role_in_text(&self, node: Node<'a>, span: Span, in_macro: bool) -> Role {
        // tokens do not overlap each other
        let first = self.tokens.partition_point(|token| token.span.to <= span.from);
        let near = || self.tokens[first..].iter().take_while(|token| token.span.from < span.to);
        let is_inactive = |token: &Token| matches!(token.kind, TokenKind::Inactive | TokenKind::Directive);
        let is_comment = |token: &Token| matches!(token.kind, TokenKind::Comment | TokenKind::Doc);
        let kind = node.kind();
        let is_text = ["string", "literal", "char", "template", "regex"].iter().any(|it| kind.contains(it))
            || kind.contains("text");
        if kind.ends_with("private_property_identifier") || kind == "lifetime" || kind == "label" {
            Role::Label
        } else if kind.contains("comment") || near().any(is_comment) {
            Role::Comment
        } else if near().any(is_inactive) {
            Role::Inactive
        } else if is_text && in_macro && self.rules.captures && self.is_capture(span) {
            Role::Capture
        } else if is_text && self.rules.quoted_types && self.has_ancestor(node, &["type"]) {
            Role::Name
        } else if is_text {
            Role::Text
        } else {
            Role::Unparsed
        }
    }

    /// `{name}` or `{name:?}` in a format string.
    fn is_capture(&self, span: Span) -> bool {
        let (before, after) = (&self.text[..span.from as usize], &self.text[span.to as usize..]);
        let is_escaped = before.ends_with("{{") && !before.ends_with("{{{");
        let ends = after.starts_with(['}', ':']) || after.starts_with('$');
        (before.ends_with('{') && !is_escaped && ends)
            || (after.starts_with('$') && before.ends_with([':', '.']))
    }

    /// The rule for a name and the node it applies to; climbs out of patterns, which bind every plain name in them.
    fn rule_of(&self, leaf: Node<'a>) -> (Rule, Node<'a>) {
        if self.has_ancestor(leaf, self.rules.imports) {
            return (Rule::Import, leaf);
        }
        if leaf.kind().starts_with("shorthand_") && leaf.kind() != "shorthand_property_identifier" {
            return (Rule::ShorthandBinding, leaf);
        }
        let mut node = leaf;
        let mut in_pattern = false;
        for parent in self.around(leaf) {
            if let Some(rule) = self.rules.find(parent.kind(), field_of(parent, node)) {
                let is_use = in_pattern && !rule.binds_patterns();
                return if is_use { (Rule::Name, leaf) } else { (rule, node) };
            }
            if !self.rules.patterns.contains(&parent.kind()) {
                break;
            }
            // `name<T>` is no pattern, but hides the name from what contains it
            in_pattern |= parent.kind() != "generic_name";
            node = parent;
        }
        (default_rule(leaf.kind()), leaf)
    }

    fn apply_rule(
        &self,
        rule: Rule,
        leaf: Node<'a>,
        node: Node<'a>,
        found: &mut Occurrence,
        at: usize,
    ) -> Option<Binding<'a>> {
        let parent = self.parent_of(node).unwrap_or(node);
        let is_last =
            || parent.named_child(parent.named_child_count().saturating_sub(1) as u32) == Some(node);
        let (role, local) = match rule {
            _ if rule.binds_names() && self.is_constant(leaf) => (Role::Name, None),
            Rule::BindIfDeclared(_) if !has_child(parent, ":=") => (Role::Name, None),
            Rule::Bind(extent) | Rule::BindIfDeclared(extent) => {
                (Role::Binding, Some((VariableKind::Local, extent)))
            }
            Rule::Parameter => self.role_of_parameter(parent),
            Rule::TypeParameter => (Role::Binding, Some((VariableKind::TypeParameter, Extent::Declaration))),
            Rule::ShorthandBinding => return self.bind_shorthand(parent, found, at),
            Rule::Item(extent) if self.is_in_body(parent) => {
                let kind = if is_variable(parent) { VariableKind::Local } else { VariableKind::Item };
                (Role::Binding, Some((kind, extent)))
            }
            Rule::Declares if self.parent_of(parent).is_some_and(|it| it.kind() == "object") => {
                (Role::Key, None)
            }
            Rule::Item(_) | Rule::Declares => (Role::Declaration, None),
            Rule::Name => (Role::Name, None),
            Rule::MemberAfter(receiver) if parent.child_by_field_name(receiver).is_none() => {
                (Role::Name, None)
            }
            Rule::LastMember if !is_last() => (Role::Name, None),
            Rule::Member | Rule::MemberAfter(_) | Rule::LastMember => (Role::Member, None),
            Rule::Key => (Role::Key, None),
            Rule::Shorthand => (Role::Shorthand, None),
            Rule::Import => (Role::Import, None),
            Rule::Label => (Role::Label, None),
            Rule::Token => (self.role_of_token(leaf), None),
            Rule::Unparsed => (Role::Unparsed, None),
        };
        found.role = role;
        local.and_then(|(kind, extent)| self.binding(at, kind, node, extent))
    }

    fn is_constant(&self, leaf: Node<'a>) -> bool {
        self.rules.capitals_are_constants && self.node_text(leaf).starts_with(char::is_uppercase)
    }

    fn bind_shorthand(&self, pattern: Node<'a>, found: &mut Occurrence, at: usize) -> Option<Binding<'a>> {
        found.role = Role::ShorthandBinding;
        let (rule, node) = self.rule_of(pattern);
        let parent = self.parent_of(node)?;
        match rule {
            Rule::Bind(extent) => self.binding(at, VariableKind::Local, node, extent),
            Rule::Item(extent) if self.is_in_body(parent) => {
                self.binding(at, VariableKind::Local, node, extent)
            }
            Rule::Parameter => self.binding(at, VariableKind::Parameter, node, Extent::Function),
            _ => None,
        }
    }

    /// The role of a word in the tokens of a macro.
    fn role_of_token(&self, leaf: Node<'a>) -> Role {
        let before = self.text[..leaf.start_byte()].trim_end();
        let after = self.text[leaf.end_byte()..].trim_start();
        if (before.ends_with('.') && !before.ends_with("..")) || before.ends_with("::") {
            Role::Member
        } else if before.ends_with('$') {
            Role::Label
        } else if after.starts_with(':') && !after.starts_with("::") {
            Role::Key
        } else {
            Role::Name
        }
    }

    fn binding(&self, at: usize, kind: VariableKind, node: Node<'a>, extent: Extent) -> Option<Binding<'a>> {
        let declaration = self.parent_of(node)?;
        let scope = self.scope_of(declaration, extent);
        let part = |fields: &[&str]| fields.iter().find_map(|field| scope.child_by_field_name(field));
        let (from, to) = match extent {
            Extent::After | Extent::AfterOnce => (declaration.end_byte(), scope.end_byte()),
            Extent::Condition => {
                let branch = part(&["consequence", "body", "value"]).unwrap_or(scope);
                (declaration.end_byte(), branch.end_byte())
            }
            Extent::Scope if scope == declaration => {
                let body = part(&["body"]).unwrap_or(scope);
                (body.start_byte(), body.end_byte())
            }
            _ => (scope.start_byte(), scope.end_byte()),
        };
        let is_comprehension = declaration.kind() == "for_in_clause";
        let source = declaration.child_by_field_name("right").filter(|_| is_comprehension);
        let hidden = source.map_or_else(Span::default, |node| Span::new(node.start_byte(), node.end_byte()));
        let within = self.outer_declaration(scope);
        Some(Binding { occurrence: at, kind, visible: Span::new(from, to), hidden, scope, within, extent })
    }

    fn scope_of(&self, declaration: Node<'a>, extent: Extent) -> Node<'a> {
        let root = self.tree.root_node();
        let kinds = match extent {
            Extent::Declaration => {
                let list = self.parent_of(declaration).unwrap_or(root);
                return self.parent_of(list).filter(|_| list.kind().contains("parameter")).unwrap_or(list);
            }
            Extent::Function => self.rules.functions,
            Extent::Condition => self.rules.conditions,
            _ => self.rules.scopes,
        };
        let start = Some(declaration).filter(|_| extent != Extent::Outer);
        let mut around = start.into_iter().chain(self.around(declaration));
        let scope = around.find(|node| kinds.contains(&node.kind())).unwrap_or(root);
        // parameters and the variables of the body share one scope
        let function = self.parent_of(scope).filter(|it| self.rules.functions.contains(&it.kind()));
        let is_body = scope.kind().ends_with("block") || scope.kind().ends_with("body");
        function.filter(|_| is_body).unwrap_or(scope)
    }

    /// Whether the innermost function around a declaration is closer than the innermost type.
    fn is_in_body(&self, declaration: Node<'a>) -> bool {
        let around = self.around(declaration);
        let kinds = (self.rules.functions, self.rules.type_bodies);
        let first =
            around.map(|node| node.kind()).find(|kind| kinds.0.contains(kind) || kinds.1.contains(kind));
        first.is_some_and(|kind| kinds.0.contains(&kind))
    }

    /// Joins the bindings of one variable: all in the same scope, unless the language lets a later one shadow.
    fn join_bindings(found: &mut Occurrences, bindings: &[Binding<'a>]) {
        let mut known: Vec<(usize, u32)> = Vec::new();
        for binding in bindings {
            // a branch of a pattern with alternatives binds the same variable
            let same = |(scope, at): &&(usize, u32)| {
                *scope == binding.scope.id()
                    && (!matches!(binding.extent, Extent::After | Extent::Condition)
                        || found.variables[*at as usize].visible == binding.visible)
            };
            let at = known.iter().find(same).map_or_else(
                || {
                    let Binding { kind, visible, hidden, within, .. } = *binding;
                    found.variables.push(Variable { kind, visible, hidden, within });
                    found.variables.len() as u32 - 1
                },
                |(_, at)| *at,
            );
            known.push((binding.scope.id(), at));
            let variable = &mut found.variables[at as usize];
            variable.visible.from = variable.visible.from.min(binding.visible.from);
            found.all[binding.occurrence].variable = Some(at);
        }
    }

    fn outer_declaration(&self, scope: Node<'a>) -> Span {
        let around = std::iter::once(scope).chain(self.around(scope));
        let outer = around.filter(|node| self.rules.functions.contains(&node.kind())).last();
        let node = outer.unwrap_or(scope);
        Span::new(node.start_byte(), node.end_byte())
    }

    fn owner_of_key(&self, node: Node<'a>) -> Option<String> {
        let mut around = self.around(node).take(6);
        let owner = around.find_map(|node| {
            let (_, field) = self.rules.key_owners.iter().find(|(kind, _)| *kind == node.kind())?;
            node.child_by_field_name(field)
        })?;
        let text = self.node_text(owner);
        let text = text.split(['<', '(', '[']).next().unwrap_or_default();
        let last = text.rsplit(|c: char| !is_word_char(c)).find(|word| !word.is_empty())?;
        Some(last.to_owned())
    }

    fn node_text(&self, node: Node) -> &'a str {
        self.text.get(node.start_byte()..node.end_byte()).unwrap_or_default()
    }

    /// Descends to a node; returns false if that was done too often.
    fn enter_path(&self, root: Node<'a>, node: Node<'a>) -> bool {
        let mut path = vec![root];
        let mut at = root;
        while at != node {
            let Some(next) = at.child_with_descendant(node) else { return false };
            path.push(next);
            at = next;
            if self.steps.replace(self.steps.get() + 1) > MAX_STEPS {
                return false;
            }
        }
        self.path.replace(Rc::new(path));
        true
    }

    /// The nodes around one on the path, innermost first.
    fn around(&self, node: Node<'a>) -> impl Iterator<Item = Node<'a>> + use<'a> {
        let path = Rc::clone(&self.path.borrow());
        let at = path.iter().rposition(|it| *it == node).unwrap_or(0);
        self.steps.set(self.steps.get() + path.len() - at);
        (0..at).rev().map(move |at| path[at])
    }

    fn parent_of(&self, node: Node<'a>) -> Option<Node<'a>> {
        self.around(node).next()
    }

    fn has_ancestor(&self, node: Node<'a>, kinds: &[&str]) -> bool {
        let is_one = |it: Node| kinds.contains(&it.kind());
        !kinds.is_empty() && (is_one(node) || self.around(node).any(is_one))
    }

    /// Whether a name begins the path of a type: the `checks` of `checks.Check` is a module, also where a variable has its name.
    fn is_in_type_path(&self, name: Node<'a>) -> bool {
        let mut around = self.around(name);
        around
            .find(|it| it.kind() != "nested_identifier")
            .is_some_and(|it| it.kind() == "nested_type_identifier")
    }

    /// A parameter of a function; of a record it is a member, of a class it is visible to all members.
    fn role_of_parameter(&self, parameter: Node<'a>) -> (Role, Option<(VariableKind, Extent)>) {
        let around = std::iter::once(parameter).chain(self.around(parameter));
        let declaration = around.into_iter().find(|node| !node.kind().contains("parameter"));
        let is_property = has_child(parameter, "accessibility_modifier") || has_child(parameter, "readonly");
        match declaration.map_or("", |it| it.kind()) {
            "record_declaration" => (Role::Declaration, None),
            "class_declaration" | "struct_declaration" => (Role::Unparsed, None),
            _ if is_property => (Role::Unparsed, None),
            _ => (Role::Binding, Some((VariableKind::Parameter, Extent::Function))),
        }
    }
}

/// Binds names to the innermost variable that is visible there.
fn bind_names(found: &mut Occurrences) {
    let variables = &found.variables;
    for occurrence in &mut found.all {
        let is_use = matches!(occurrence.role, Role::Name | Role::Shorthand | Role::Capture);
        if !is_use || occurrence.variable.is_some() {
            continue;
        }
        let at = occurrence.span.from;
        let fits = |variable: &(usize, &Variable)| {
            let can_be = !occurrence.is_type
                || matches!(variable.1.kind, VariableKind::TypeParameter | VariableKind::Item);
            let is_in = |span: Span| (span.from..span.to).contains(&at);
            can_be && is_in(variable.1.visible) && !is_in(variable.1.hidden)
        };
        let innermost =
            variables.iter().enumerate().filter(fits).min_by_key(|(_, it)| it.visible.to - it.visible.from);
        occurrence.variable = innermost.map(|(at, _)| at as u32);
    }
}

fn has_child(node: Node, kind: &str) -> bool {
    let mut cursor = node.walk();
    node.children(&mut cursor).any(|it| it.kind() == kind)
}

fn is_variable(declaration: Node) -> bool {
    let kind = declaration.kind();
    ["declarator", "assignment", "_spec", "for_statement", "as_pattern_target"]
        .iter()
        .any(|it| kind.ends_with(it))
}

fn field_of<'a>(parent: Node<'a>, child: Node<'a>) -> &'a str {
    let mut cursor = parent.walk();
    let mut more = cursor.goto_first_child();
    while more {
        if cursor.node() == child {
            return cursor.field_name().unwrap_or("");
        }
        more = cursor.goto_next_sibling();
    }
    ""
}
