//! Extracts types, members, modules, imports and references from the syntax tree of a table-driven language.
//!
//! Does not know a particular language: a `Dialect` assigns roles to node kinds and describes the layout of declarations.

mod blank;
mod doc;
pub(crate) mod gaps;
pub(crate) mod lexicon;
mod member_access;
mod members;
mod normalize;
mod references;
mod tokens;

use crate::digest::Digest;
use crate::facts::{
    FileFacts, Import, ImportKind, Member, MemberKind, Path, Position, Scope, Segment, Shape, TypeKind,
    TypePart, Visibility,
};
use crate::token::{Prepared, Source, Span};
use blank::respelled;
pub(crate) use blank::{Blank, Rule, is_word};
pub(crate) use doc::Docs;
use lexicon::Lexicon;
pub(crate) use member_access::{Asked, Asks};
pub(crate) use members::value_member;
pub(crate) use references::{FOLDERS, is_capital};
use rustc_hash::FxHashMap;
use std::sync::OnceLock;
pub(crate) use tokens::tokens;
use tree_sitter::{Node, Tree, TreeCursor};

/// Maximum depth of the traversal; the stack of a thread is large enough for several times this.
const DEPTH: u32 = 1000;

/// How the walk treats a node kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// Contains no declarations visible to other files.
    Other,
    /// Contains no references.
    Skip,
    /// Its children count as children of its parent, such as functions inside a module-level `if`.
    Through,
    Type(TypeKind),
    Member(MemberKind),
    Import,
    /// A simple or dotted name.
    Name(Position),
    /// A word that may be a type if its initial is uppercase.
    Word,
    /// Handled by the dialect.
    Own,
}

/// How a node kind is tokenized.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Piece {
    Inner,
    /// One token including its children, such as a string.
    Whole,
    Comment,
    /// Its children are terminated by line ends, which only the tree can identify.
    Lines,
}

/// A language described as a table; `PLAIN` contains the defaults.
pub(crate) struct Dialect {
    pub(crate) roles: &'static [(&'static str, Role)],
    pub(crate) pieces: &'static [(&'static str, Piece)],
    pub(crate) docs: Docs,
    pub(crate) asks: Asks,
    /// Nodes in which a comma after a single element is significant.
    pub(crate) tuples: &'static [&'static str],
    /// Nodes in which parentheses around a whole expression are redundant; formatters add or remove them by line width.
    pub(crate) groups: &'static [&'static str],
    /// Whether a nested module inherits the imports of the enclosing scope.
    pub(crate) sees_outer: bool,
    /// Whether `'a'` and `"a"` are equivalent.
    pub(crate) quotes_alike: bool,
    /// Whether functions can be overloaded by parameter types.
    pub(crate) overloads: bool,
    /// Whether a node is a docstring of the declaration that contains it.
    pub(crate) is_doc: fn(Node) -> bool,
    /// Whether a punctuation token is purely stylistic.
    pub(crate) is_taste: fn(Node, Node) -> bool,
    pub(crate) head: for<'a> fn(&Walk<'a>, Node<'a>) -> Head<'a>,
    pub(crate) import: for<'a> fn(&mut Walk<'a>, Node<'a>),
    pub(crate) own: for<'a> fn(&mut Walk<'a>, &mut TreeCursor<'a>),
    /// Applies facts known only at the end of the file, such as `export { a }`.
    pub(crate) finish: for<'a> fn(&mut Walk<'a>),
    /// Rules for the parts of a text that the grammar rejects.
    pub(crate) unreadable: fn(&str) -> &'static [Rule],
}

/// Defaults: a brace language with inherited outer imports, without overloads and without stylistic punctuation.
pub(crate) const PLAIN: Dialect = Dialect {
    roles: &[],
    pieces: &[],
    docs: Docs::Above,
    asks: Asks { rows: &[], own: &[], sight: false },
    tuples: &[],
    groups: &[],
    sees_outer: true,
    quotes_alike: false,
    overloads: false,
    is_doc: |_| false,
    is_taste: |_, _| false,
    head: |walk, node| Head::new(walk, node),
    import: |_, _| {},
    own: |_, _| {},
    finish: |_| {},
    unreadable: |_| &[],
};

/// A dialect with lookup tables, which are built from its grammar on first use.
pub(crate) struct Reading {
    dialect: Dialect,
    tables: OnceLock<Tables>,
}

/// Roles and token rules by node kind ID: comparing numbers is several times as fast as comparing names.
struct Tables {
    roles: Vec<Role>,
    pieces: Vec<Piece>,
    asks: Vec<Option<Asked>>,
}

impl Reading {
    pub(crate) const fn new(dialect: Dialect) -> Reading {
        Reading { dialect, tables: OnceLock::new() }
    }

    /// Blanks the parts of a text that the grammar rejects.
    pub(crate) fn prepare(&self, text: &str) -> Prepared {
        respelled(text, (self.dialect.unreadable)(text))
    }

    fn tables(&self, tree: &Tree) -> &Tables {
        self.tables.get_or_init(|| {
            let grammar = tree.language();
            let names = (0..grammar.node_kind_count() as u16)
                .map(|id| grammar.node_kind_for_id(id).filter(|_| grammar.node_kind_is_named(id)));
            let names: Vec<&str> = names.map(Option::unwrap_or_default).collect();
            Tables {
                roles: names
                    .iter()
                    .map(|name| found(self.dialect.roles, name).unwrap_or(Role::Other))
                    .collect(),
                pieces: names
                    .iter()
                    .map(|name| found(self.dialect.pieces, name).unwrap_or(Piece::Inner))
                    .collect(),
                asks: names.iter().map(|name| found(self.dialect.asks.rows, name)).collect(),
            }
        })
    }
}

fn found<T: Copy>(rows: &[(&str, T)], name: &str) -> Option<T> {
    rows.iter().find(|(known, _)| *known == name).map(|(_, row)| *row)
}

/// The part of a declaration before its body.
pub(crate) struct Head<'a> {
    /// The whole declaration, including wrappers such as `export` and decorators.
    pub(crate) whole: Node<'a>,
    /// Start of the declaration; attributes may be siblings that precede the node.
    pub(crate) from: usize,
    pub(crate) name: String,
    pub(crate) attributes: Vec<Node<'a>>,
    pub(crate) visibility: Option<Visibility>,
    pub(crate) is_static: bool,
    /// Whether an annotation marks it as an override; a keyword that does so is part of the signature.
    pub(crate) overrides: bool,
    /// Parts of the head that are excluded from the contract with callers: visibility, `async`.
    pub(crate) apart: Vec<Span>,
    /// Names of base types.
    pub(crate) bases: Vec<Node<'a>>,
    pub(crate) type_parameters: Option<Node<'a>>,
    /// Parameter lists; Go's results are one too, since they may have names.
    pub(crate) parameters: Vec<Node<'a>>,
    pub(crate) body: Option<Node<'a>>,
    /// A second body: that of an enum constant that also has arguments.
    pub(crate) more: Option<Node<'a>>,
    /// Whether the compiler inlines the value at its usages.
    pub(crate) is_inlined: bool,
    pub(crate) value_type: Option<Node<'a>>,
    /// Distinguishes it from other members with the same name.
    pub(crate) qualifier: String,
}

impl<'a> Head<'a> {
    /// Reads a head from the field names that most grammars use.
    pub(crate) fn new(walk: &Walk<'a>, node: Node<'a>) -> Head<'a> {
        Head {
            whole: node,
            from: node.start_byte(),
            // a name may be a quoted string, with either kind of quotes
            name: node
                .child_by_field_name("name")
                .map_or_else(String::new, |name| walk.glued(span(name), &[])),
            attributes: Vec::new(),
            visibility: None,
            is_static: false,
            overrides: false,
            apart: Vec::new(),
            bases: Vec::new(),
            type_parameters: node.child_by_field_name("type_parameters"),
            parameters: node.child_by_field_name("parameters").into_iter().collect(),
            more: None,
            body: node.child_by_field_name("body").or_else(|| node.child_by_field_name("value")),
            is_inlined: false,
            value_type: node.child_by_field_name("type").or_else(|| node.child_by_field_name("return_type")),
            qualifier: String::new(),
        }
    }

    /// Spans excluded from the shape; attributes have their own shapes.
    fn left_out(&self) -> Vec<Span> {
        self.apart.iter().copied().chain(self.attributes.iter().map(|it| span(*it))).collect()
    }

    /// The span from the first token after the attributes to the body.
    fn signature(&self, walk: &Walk) -> Span {
        let within =
            |at: usize| self.attributes.iter().find(|it| it.start_byte() <= at && at < it.end_byte());
        let mut from = self.from;
        let end = self.body.map_or(self.whole.end_byte(), |body| body.start_byte());
        for token in walk.source.within(Span::new(self.from, end)) {
            from = token.span.from as usize;
            if within(from).is_none() {
                break;
            }
        }
        Span::new(from, end)
    }
}

/// One walk through one tree.
pub(crate) struct Walk<'a> {
    pub(crate) dialect: &'static Dialect,
    tables: &'static Tables,
    pub(crate) source: Source<'a>,
    pub(crate) root: Node<'a>,
    pub(crate) facts: FileFacts,
    lexicon: Lexicon<'a>,
    /// Names bound by the imports of this file.
    imported: Vec<&'a str>,
    pub(crate) scope: u32,
    pub(crate) owner: Option<u32>,
    /// Whether declarations at this point are visible outside, that is, not inside a body.
    pub(crate) declaring: bool,
    type_parameters: Vec<&'a str>,
    sight: member_access::Sight<'a>,
    depth: u32,
    /// The module part of each scope that has one; `module_nodes` has the node of each module.
    modules: FxHashMap<u32, u32>,
    module_nodes: Vec<(u32, Node<'a>)>,
    /// Each scope of a nested module with its enclosing scope.
    scopes_around: Vec<(u32, u32)>,
    /// Ranges of types, members and imports, including the comments before them.
    taken: Vec<Span>,
    /// The ranges of types only.
    apart: Vec<Span>,
}

/// Extracts all facts from a tree.
pub(crate) fn read(reading: &'static Reading, tree: &Tree, text: &str) -> FileFacts {
    let tokens = tokens(reading, tree, text);
    let root = tree.root_node();
    let dialect = &reading.dialect;
    let mut walk = Walk::new(dialect, reading.tables(tree), Source { text, tokens: &tokens }, root);
    walk.module_nodes.push((0, root));
    walk.below(&mut root.walk());
    walk.finish_modules();
    walk.ask_all();
    (dialect.finish)(&mut walk);
    gaps::note(&mut walk.facts, root);
    walk.facts
}

impl<'a> Walk<'a> {
    fn new(
        dialect: &'static Dialect,
        tables: &'static Tables,
        source: Source<'a>,
        root: Node<'a>,
    ) -> Walk<'a> {
        let lines = crate::token::lines(source.text);
        let facts = FileFacts {
            scopes: vec![Scope::default()],
            bytes: source.text.len() as u32,
            closed: true,
            lines,
            ..FileFacts::default()
        };
        Walk {
            dialect,
            tables,
            source,
            root,
            facts,
            lexicon: Lexicon::default(),
            imported: Vec::new(),
            scope: 0,
            owner: None,
            declaring: true,
            type_parameters: Vec::new(),
            sight: member_access::Sight::default(),
            depth: 0,
            modules: FxHashMap::default(),
            module_nodes: Vec::new(),
            scopes_around: Vec::new(),
            taken: Vec::new(),
            apart: Vec::new(),
        }
    }

    pub(crate) fn text(&self, node: Node) -> &'a str {
        span(node).of(self.source.text)
    }

    pub(crate) fn word(&mut self, text: &'a str) -> u32 {
        self.lexicon.word(&mut self.facts, text)
    }

    pub(crate) fn path(&mut self, alias: Option<&'a str>, words: &[&'a str]) -> u32 {
        let alias = alias.map(|alias| self.word(alias));
        let segments = words.iter().map(|word| Segment { word: self.word(word), arity: 0 }).collect();
        self.lexicon.path(&mut self.facts, Path { alias, segments })
    }

    pub(crate) fn role(&self, node: Node) -> Role {
        self.tables.roles.get(node.kind_id() as usize).copied().unwrap_or(Role::Other)
    }

    /// Visits the children of the node at the cursor.
    pub(crate) fn below(&mut self, cursor: &mut TreeCursor<'a>) {
        let parent = cursor.node();
        if self.depth >= DEPTH {
            return gaps::too_deep(&mut self.facts, parent);
        }
        self.depth += 1;
        if cursor.goto_first_child() {
            loop {
                if cursor.node().is_named() {
                    self.visit(cursor, parent);
                }
                if !cursor.goto_next_sibling() {
                    break;
                }
            }
            cursor.goto_parent();
        }
        self.depth -= 1;
    }

    /// Visits the children of a node that contains no declarations visible outside.
    pub(crate) fn inside(&mut self, cursor: &mut TreeCursor<'a>) {
        let declaring = std::mem::replace(&mut self.declaring, false);
        self.below(cursor);
        self.declaring = declaring;
    }

    pub(crate) fn visit(&mut self, cursor: &mut TreeCursor<'a>, parent: Node<'a>) {
        let node = cursor.node();
        match self.role(node) {
            Role::Skip => {}
            Role::Through => self.below(cursor),
            Role::Import => self.import(node),
            Role::Type(kind) if self.declaring => self.type_part(kind, node),
            Role::Member(kind) if self.declaring => self.member(kind, node),
            Role::Name(position) => {
                let declared = cursor.field_name() == Some("name") && self.declares(parent);
                if !declared && !self.name(node, position) {
                    self.inside(cursor);
                }
            }
            Role::Word => self.lone_word(node, cursor.field_name().unwrap_or_default()),
            Role::Own => (self.dialect.own)(self, cursor),
            _ => self.inside(cursor),
        }
    }

    fn declares(&self, parent: Node) -> bool {
        matches!(self.role(parent), Role::Type(_) | Role::Member(_) | Role::Own)
    }

    fn import(&mut self, node: Node<'a>) {
        self.take(node.start_byte(), node.end_byte());
        (self.dialect.import)(self, node);
    }

    pub(crate) fn add_import(&mut self, alias: Option<&'a str>, path: (Option<&'a str>, &[&'a str])) {
        if path.1.is_empty() && alias.is_none() && path.0.is_none() {
            return;
        }
        let target = self.path(path.0, path.1);
        let kind = match alias {
            Some(name) => {
                self.imported.push(name);
                ImportKind::Alias(self.word(name))
            }
            None => ImportKind::Namespace,
        };
        self.facts.scopes[self.scope as usize].imports.push(Import { kind, path: target, global: false });
    }

    /// Records a name that an import binds implicitly: `a` of `import a.b`.
    pub(crate) fn bring(&mut self, word: &'a str) {
        self.imported.push(word);
    }

    /// Reads a namespace or module nested in this file.
    pub(crate) fn nested_scope(
        &mut self,
        words: &[&'a str],
        visibility: Visibility,
        node: Node<'a>,
        body: Node<'a>,
    ) {
        let outer = self.scope;
        let mut namespace = self.facts.scopes[outer as usize].namespace.clone();
        namespace.extend(words.iter().map(|word| self.word(word)).collect::<Vec<_>>());
        let parent = Some(outer).filter(|_| self.dialect.sees_outer);
        self.facts.scopes.push(Scope { parent, namespace, imports: Vec::new() });
        self.scope = self.facts.scopes.len() as u32 - 1;
        self.scopes_around.push((self.scope, outer));
        self.module_nodes.push((self.scope, node));
        let owner = self.owner.take();
        self.below(&mut body.walk());
        if let Some(module) = self.modules.get(&self.scope) {
            self.facts.types[*module as usize].visibility = Some(visibility);
        }
        self.owner = owner;
        self.scope = outer;
    }

    /// Puts the remainder of the file into a namespace.
    pub(crate) fn rest_in(&mut self, words: &[&'a str]) {
        let namespace = words.iter().map(|word| self.word(word)).collect();
        self.facts.scopes.push(Scope { parent: Some(self.scope), namespace, imports: Vec::new() });
        self.scope = self.facts.scopes.len() as u32 - 1;
    }

    /// Modifies the member that was added last.
    pub(crate) fn amend(&mut self, change: impl FnOnce(&mut Member)) {
        let owner = self.owner.or_else(|| self.modules.get(&self.scope).copied());
        let members = owner.map(|owner| &mut self.facts.types[owner as usize].members);
        if let Some(last) = members.and_then(|members| members.last_mut()) {
            change(last);
        }
    }

    /// Digest of every byte of a declaration and the comments before it.
    pub(crate) fn bytes_of(&self, node: Node<'a>) -> Digest {
        self.digest(&[Span::new(self.with_comments(node.start_byte()), node.end_byte())])
    }

    /// The module part that owns the free items of the current scope; created on first use.
    pub(crate) fn module(&mut self) -> u32 {
        let scope = self.scope;
        if let Some(known) = self.modules.get(&scope) {
            return *known;
        }
        let node = self.module_nodes.iter().find(|(of, _)| *of == scope).map(|(_, node)| *node);
        let at = self.facts.types.len() as u32;
        let mut part = empty_part(TypeKind::Module, scope);
        part.visibility = Some(Visibility::Public);
        if let Some(node) = node {
            part.span = span(node);
            part.signature = Span::new(node.start_byte(), node.start_byte());
        }
        let around = self.scopes_around.iter().find(|(of, _)| *of == scope);
        if let (Some(last), Some((_, around))) = (self.facts.scopes[scope as usize].namespace.last(), around)
        {
            self.facts.word(*last).clone_into(&mut part.name);
            part.scope = *around;
        }
        self.facts.types.push(part);
        self.modules.insert(scope, at);
        at
    }

    fn type_part(&mut self, kind: TypeKind, node: Node<'a>) {
        let head = (self.dialect.head)(self, node);
        self.part(kind, node, &head, Walk::body);
    }

    /// Reads the declarations in a body.
    pub(crate) fn body(&mut self, body: Node<'a>) {
        match self.role(body) {
            Role::Own => (self.dialect.own)(self, &mut body.walk()),
            _ => self.below(&mut body.walk()),
        }
    }

    /// Reads the declaration of a type; `inner` reads its body.
    pub(crate) fn part(
        &mut self,
        kind: TypeKind,
        node: Node<'a>,
        head: &Head<'a>,
        inner: impl FnOnce(&mut Walk<'a>, Node<'a>),
    ) {
        let at = self.facts.types.len() as u32;
        let known = self.type_parameters.len();
        self.push_type_parameters(head.type_parameters);
        let mut part = empty_part(kind, self.scope);
        part.name.clone_from(&head.name);
        part.outer = self.owner.filter(|owner| self.facts.types[*owner as usize].kind != TypeKind::Module);
        self.facts.types.push(part);
        let outer = self.owner.replace(at);
        let from = self.facts.references.len();
        self.visit_head(node, head);
        self.header(at, head, from);
        if let Some(body) = head.body {
            let declaring = std::mem::replace(&mut self.declaring, true);
            inner(self, body);
            self.declaring = declaring;
        }
        self.owner = outer;
        self.type_parameters.truncate(known);
        let start = self.with_comments(head.from);
        self.facts.types[at as usize].raw = self.raw(start, head.whole.end_byte(), at);
        self.take_type(head.from, head.whole.end_byte());
    }

    /// Visits the head of a declaration, and attributes that are siblings of it.
    fn visit_head(&mut self, node: Node<'a>, head: &Head<'a>) {
        let declaring = std::mem::replace(&mut self.declaring, false);
        for attribute in head.attributes.iter().filter(|it| !contains(node, **it)) {
            self.visit(&mut attribute.walk(), *attribute);
        }
        self.before(node, head.body);
        self.declaring = declaring;
    }

    fn before(&mut self, node: Node<'a>, body: Option<Node<'a>>) {
        let mut cursor = node.walk();
        let mut more = cursor.goto_first_child();
        while more {
            let child = cursor.node();
            let holds_body = body.is_some_and(|body| child != body && contains(child, body));
            if holds_body {
                self.before(child, body);
            } else if child.is_named() && Some(child) != body {
                self.visit(&mut cursor, node);
            }
            more = cursor.goto_next_sibling();
        }
    }

    fn header(&mut self, at: u32, head: &Head<'a>, from: usize) {
        let bases: Vec<Node> = head.bases.clone();
        for base in &bases {
            self.as_base(*base, from);
        }
        let signature = head.signature(self);
        let mut apart = head.left_out();
        apart.extend(bases.iter().map(|base| span(*base)));
        let mut part = self.facts.types[at as usize].clone();
        let parameters = self.parameters(&head.parameters, &mut apart);
        part.visibility = head.visibility;
        part.parameters = head.type_parameters.map_or_else(String::new, |list| self.glued(span(list), &[]));
        part.bases = bases.iter().map(|base| self.shape(span(*base), from, &[])).collect();
        part.base_names =
            bases.iter().filter_map(|base| self.reference_at(base.start_byte() as u32, from)).collect();
        part.attributes = self.attributes(head, from);
        part.header = self.shape(signature, from, &apart);
        if !parameters.is_empty() {
            part.header_body = Digest::of(&parameters);
        }
        let name_end = head.name_end(self).unwrap_or(signature.from);
        let list = head.type_parameters.map_or(name_end, |list| list.end_byte() as u32);
        let shown = Span { from: list.max(name_end), to: signature.to };
        part.shown = self.glued(shown, &[]);
        if part.kind == TypeKind::Impl {
            part.parameters.clear();
            part.shown = self.glued(signature, &[]);
        }
        part.doc = self.doc(head);
        part.span = Span::new(head.from, head.whole.end_byte());
        part.signature = signature;
        self.facts.types[at as usize] = part;
    }

    /// Brings the type parameters of a declaration into scope, before the part in front of their list is read.
    pub(crate) fn push_type_parameters(&mut self, list: Option<Node<'a>>) {
        let Some(list) = list else { return };
        let mut cursor = list.walk();
        for parameter in list.named_children(&mut cursor) {
            let name = parameter.child_by_field_name("name").or_else(|| parameter.named_child(0));
            let name = name.unwrap_or(parameter);
            self.type_parameters.push(self.text(name));
        }
    }

    /// Records that a range, with the comments before it, belongs to a declaration.
    pub(crate) fn take(&mut self, from: usize, to: usize) {
        let from = self.with_comments(from);
        self.taken.push(Span::new(from, to));
    }

    /// Records the range of a type, whose bytes do not count towards its module.
    pub(crate) fn take_type(&mut self, from: usize, to: usize) {
        self.take(from, to);
        self.apart.extend(self.taken.last());
    }

    /// Start of the comments before a byte: the end of the last significant token.
    fn with_comments(&self, byte: usize) -> usize {
        let index = self.source.index(byte as u32);
        let before =
            self.source.tokens[..index].iter().rfind(|it| it.kind.counts() && it.span.from < it.span.to);
        before.map_or(0, |token| token.span.to as usize)
    }

    /// Digest of every byte of a range, without nested types.
    fn raw(&self, from: usize, to: usize, at: u32) -> Digest {
        let nested = self.facts.types[at as usize + 1..].iter().filter(|part| part.outer == Some(at));
        let nested: Vec<Span> = nested.map(|part| part.span).collect();
        self.digest(&Walk::left(Span::new(from, to), &nested))
    }

    /// Subtracts ranges, which must be sorted, from a range.
    fn left(within: Span, without: &[Span]) -> Vec<Span> {
        let mut from = within.from;
        let mut found = Vec::new();
        for each in without.iter().filter(|each| each.from < within.to && each.to > within.from) {
            if each.from > from {
                found.push(Span { from, to: each.from });
            }
            from = from.max(each.to);
        }
        if from < within.to {
            found.push(Span { from, to: within.to });
        }
        found
    }

    fn digest(&self, ranges: &[Span]) -> Digest {
        let texts: Vec<&str> = ranges.iter().map(|range| range.of(self.source.text)).collect();
        Digest::of(texts.concat().as_bytes())
    }

    /// Sets the digests of each module: its code that runs on load, and the bytes of its free items.
    fn finish_modules(&mut self) {
        for (scope, node) in self.module_nodes.clone() {
            let inner = self.module_nodes.iter().filter(|(of, _)| *of != scope).map(|(_, it)| span(*it));
            let inner: Vec<Span> = inner.filter(|it| it.from > span(node).from).collect();
            let without = |more: &[Span]| {
                let mut all = [&inner[..], more].concat();
                all.sort_unstable();
                all
            };
            let mut loads = Vec::new();
            for range in Walk::left(Walk::loading(node), &without(&self.taken)) {
                self.tokens_into(&mut loads, range);
            }
            self.scope = scope;
            if loads.is_empty() && !self.modules.contains_key(&scope) {
                continue;
            }
            let at = self.module() as usize;
            let raw = self.digest(&Walk::left(span(node), &without(&self.apart)));
            let doc = self.module_doc(node);
            let part = &mut self.facts.types[at];
            part.raw = raw;
            part.doc = doc;
            if !loads.is_empty() {
                part.header_body = Digest::of(&loads);
            }
        }
        self.scope = 0;
    }

    /// The part of a module that runs on load: the whole file, or the body of a nested module.
    fn loading(node: Node<'a>) -> Span {
        node.child_by_field_name("body")
            .map_or(span(node), |body| Span::new(body.start_byte() + 1, body.end_byte().saturating_sub(1)))
    }
}

pub(crate) fn empty_part(kind: TypeKind, scope: u32) -> TypePart {
    TypePart {
        name: String::new(),
        arity: 0,
        kind,
        scope,
        outer: None,
        visibility: None,
        modifiers: Vec::new(),
        partial: matches!(kind, TypeKind::Module | TypeKind::Impl),
        parameters: String::new(),
        bases: Vec::new(),
        base_names: Vec::new(),
        extends: None,
        attributes: Vec::new(),
        header: Shape::default(),
        header_body: Digest::default(),
        shown: String::new(),
        says_layout: false,
        members: Vec::new(),
        declared: 0,
        doc: None,
        span: Span::default(),
        signature: Span::default(),
        raw: Digest::default(),
        degraded: false,
    }
}

pub(crate) fn span(node: Node) -> Span {
    Span::new(node.start_byte(), node.end_byte())
}

pub(crate) fn contains(outer: Node, inner: Node) -> bool {
    outer.start_byte() <= inner.start_byte() && inner.end_byte() <= outer.end_byte()
}

/// The children with a node kind.
pub(crate) fn children<'a>(node: Node<'a>, kind: &str) -> Vec<Node<'a>> {
    let mut cursor = node.walk();
    node.children(&mut cursor).filter(|child| child.kind() == kind).collect()
}

pub(crate) fn child<'a>(node: Node<'a>, kind: &str) -> Option<Node<'a>> {
    let mut cursor = node.walk();
    node.children(&mut cursor).find(|child| child.kind() == kind)
}

/// The named children of a node, without comments.
pub(crate) fn named(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).filter(|it| !it.is_extra()).collect()
}

/// The spans of the other elements of a list: for `c` in `int a, b, c`, that of `a, b, `.
pub(crate) fn others(list: &[Node], one: Node) -> [Span; 2] {
    let from = list.first().map_or(one.start_byte(), Node::start_byte);
    let to = list.last().map_or(one.end_byte(), Node::end_byte);
    [Span::new(from, one.start_byte()), Span::new(one.end_byte(), to)]
}
