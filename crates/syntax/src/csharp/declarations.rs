//! What a C# tree declares: namespaces, imports and types, each with what a user may rely on apart from what it does.
//!
//! Does not know other files: a part of a partial type is told as if it were alone. Members are read in `members`.

use super::kinds::Kind;
use super::walk::{Walk, after_attributes, child, is_visibility, span, visibility};
use crate::digest::Digest;
use crate::facts::{FileFacts, Import, ImportKind, Path, Scope, Segment, Shape, TypeKind, TypePart};
use crate::token::{Lexeme, Source, Span};
use crate::walk::gaps;
use tree_sitter::{Node, Tree, TreeCursor};

/// What the grammar calls a base of a record that is handed arguments.
const WITH_ARGUMENTS: &str = "primary_constructor_base_type";

/// Reads everything that a tree tells. `tree` may be of a text that is spelled differently, at the same places.
pub(crate) fn extract<'a>(tree: &'a Tree, source: &'a Source<'a>) -> FileFacts {
    let mut walk = Walk::new(source);
    let root = tree.root_node();
    walk.below(&mut root.walk());
    gaps::note(&mut walk.facts, root);
    walk.facts
}

impl<'a> Walk<'a> {
    pub(crate) fn declaration(&mut self, kind: Kind, cursor: &mut TreeCursor<'a>) {
        match kind {
            Kind::Namespace => {
                let outer = self.scope;
                self.enter_namespace(cursor.node());
                if let Some(body) = cursor.node().child_by_field_name("body") {
                    self.below(&mut body.walk());
                }
                self.scope = outer;
            }
            Kind::FileNamespace => self.enter_namespace(cursor.node()),
            Kind::Using => self.import(cursor.node()),
            _ if kind.is_type() => self.type_declaration(kind, cursor.node()),
            _ if kind.is_member() && self.owner.is_some() => self.member(kind, cursor),
            _ => drop(self.below(cursor)),
        }
    }

    fn enter_namespace(&mut self, node: Node<'a>) {
        let name = node.child_by_field_name("name").map_or("", |name| self.text(name));
        let mut namespace = self.facts.scopes[self.scope as usize].namespace.clone();
        namespace.extend(name.split('.').map(|word| self.word(word.trim())));
        self.facts.scopes.push(Scope { parent: Some(self.scope), namespace, imports: Vec::new() });
        self.scope = self.facts.scopes.len() as u32 - 1;
    }

    fn import(&mut self, node: Node<'a>) {
        let (mut global, mut is_static, mut alias, mut target) = (false, false, None, None);
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "global" => global = true,
                "static" => is_static = true,
                _ if child.is_named() && Kind::of(child) != Kind::Comment => {
                    if target.is_some() {
                        alias = target;
                    }
                    target = Some(child);
                }
                _ => {}
            }
        }
        let alias = alias.map(|alias: Node<'a>| self.word(self.text(alias)));
        let Some(path) = target.and_then(|target| self.target(target)) else { return };
        let kind = match alias {
            Some(word) => ImportKind::Alias(word),
            None if is_static => ImportKind::Static,
            None => ImportKind::Namespace,
        };
        self.facts.scopes[self.scope as usize].imports.push(Import { kind, path, global });
    }

    /// What an import names, without type arguments: `using X = List<int>` is an alias of `List` of one.
    fn target(&mut self, node: Node<'a>) -> Option<u32> {
        let span = Span::new(node.start_byte(), node.end_byte());
        let (mut words, mut alias, mut depth): (Vec<(&'a str, u16)>, _, _) = (Vec::new(), None, 0u32);
        for token in self.source.within(span) {
            match (self.source.of(token), token.kind) {
                ("<", _) => {
                    depth += 1;
                    if depth == 1
                        && let Some(last) = words.last_mut()
                    {
                        last.1 = 1;
                    }
                }
                (">", _) => depth = depth.saturating_sub(1),
                (",", _) if depth == 1 => {
                    if let Some(last) = words.last_mut() {
                        last.1 += 1;
                    }
                }
                ("::", _) => alias = words.pop().map(|(word, _)| word),
                (word, Lexeme::Word) if depth == 0 => words.push((word, 0)),
                (".", _) => {}
                _ if depth > 0 => {}
                // a tuple, an array or a pointer has no name of its own
                _ => return None,
            }
        }
        let alias = alias.map(|alias| self.word(alias));
        let segments = words.iter().map(|(word, arity)| Segment { word: self.word(word), arity: *arity });
        let path = Path { alias, segments: segments.collect() };
        (!path.segments.is_empty()).then(|| self.path(path))
    }

    /// Makes the type parameters of a declaration known, before what stands in front of their list is read.
    pub(crate) fn push_type_parameters(&mut self, node: Node<'a>) {
        let mut cursor = node.walk();
        for list in node.children(&mut cursor).filter(|child| Kind::of(*child) == Kind::TypeParameters) {
            let mut inner = list.walk();
            for parameter in list.named_children(&mut inner) {
                if let Some(name) = parameter.child_by_field_name("name") {
                    self.type_parameters.push(self.text(name));
                }
            }
        }
    }

    fn type_declaration(&mut self, kind: Kind, node: Node<'a>) {
        let known = self.type_parameters.len();
        self.push_type_parameters(node);
        let opener = self.source.text.get(node.start_byte()..).unwrap_or_default();
        if kind == Kind::Class && opener.starts_with("extension") {
            self.extension(node);
        } else {
            self.type_part(kind, node);
        }
        self.type_parameters.truncate(known);
    }

    /// Members of a block of extensions are members of the class around it.
    fn extension(&mut self, node: Node<'a>) {
        let from = self.facts.references.len();
        let list = child(node, Kind::ParameterList);
        if let Some(list) = list {
            self.below(&mut list.walk());
        }
        self.receiver = list.map(|list| self.parameters(list, from));
        self.receive(list);
        if let Some(body) = node.child_by_field_name("body") {
            self.below(&mut body.walk());
        }
        self.receiver = None;
        self.receive(None);
    }

    fn type_part(&mut self, kind: Kind, node: Node<'a>) {
        let at = self.facts.types.len() as u32;
        let outer = self.owner;
        let part = self.empty_part(kind, node);
        self.facts.types.push(part);
        self.owner = Some(at);
        let locals = std::mem::take(&mut self.locals);
        let receiver = self.receiver.take();
        let from = self.facts.references.len();
        let body = node.child_by_field_name("body");
        let mut cursor = node.walk();
        self.before_body(&mut cursor, body);
        self.settle(from);
        self.header(at, node, from);
        self.give_positional(at, node);
        if let Some(body) = body {
            self.below(&mut body.walk());
        }
        self.locals = locals;
        self.receiver = receiver;
        self.owner = outer;
        let raw = self.raw(at, node);
        self.facts.types[at as usize].raw = raw;
    }

    /// Visits attributes, parameters, bases and constraints.
    fn before_body(&mut self, cursor: &mut TreeCursor<'a>, body: Option<Node<'a>>) {
        let node = cursor.node();
        if !cursor.goto_first_child() {
            return;
        }
        loop {
            let child = cursor.node();
            if child.is_named() && Some(child) != body {
                self.visit(cursor, node);
            }
            if !cursor.goto_next_sibling() {
                break;
            }
        }
    }

    fn empty_part(&self, kind: Kind, node: Node<'a>) -> TypePart {
        let is_struct = || node.children(&mut node.walk()).any(|child| child.kind() == "struct");
        let kind = match kind {
            Kind::Struct => TypeKind::Struct,
            Kind::Interface => TypeKind::Interface,
            Kind::Enum => TypeKind::Enum,
            Kind::Delegate => TypeKind::Delegate,
            Kind::Record if is_struct() => TypeKind::RecordStruct,
            Kind::Record => TypeKind::Record,
            _ => TypeKind::Class,
        };
        let name = node.child_by_field_name("name").map_or("", |name| self.text(name));
        let parameters = child(node, Kind::TypeParameters);
        let body = node.child_by_field_name("body").map_or(node.end_byte(), |body| body.start_byte());
        TypePart {
            name: name.trim_start_matches('@').to_owned(),
            arity: parameters.map_or(0, |list| list.named_child_count() as u16),
            kind,
            scope: self.scope,
            outer: self.owner,
            visibility: None,
            modifiers: Vec::new(),
            partial: false,
            parameters: parameters.map_or_else(String::new, |list| self.glued(span(list))),
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
            doc: self.doc(node),
            span: span(node),
            signature: Span::new(after_attributes(node), body),
            raw: Digest::default(),
            degraded: false,
        }
    }

    /// What stands before the body: all that a type tells of itself apart from its members.
    fn header(&mut self, at: u32, node: Node<'a>, from: usize) {
        let mut modifiers = self.modifiers(node);
        let mut part = self.facts.types[at as usize].clone();
        part.visibility = visibility(&modifiers);
        part.partial = modifiers.contains(&"partial");
        modifiers.retain(|word| !is_visibility(word) && *word != "partial");
        part.modifiers = modifiers.into_iter().map(str::to_owned).collect();
        part.attributes = self.attributes(node, from);
        let before = Span::new(node.start_byte(), after_attributes(node));
        part.says_layout =
            self.source.within(before).any(|token| self.source.of(token).starts_with("StructLayout"));
        let behaviour = self.clauses(&mut part, node, from);
        if let Some(returns) = node.child_by_field_name("type") {
            part.header.append(&self.shape(span(returns), from));
            part.shown = format!("{} : {}", part.shown, self.glued(span(returns)));
        }
        // `ref struct` is written where modifiers end
        if node.children(&mut node.walk()).any(|child| child.kind() == "ref") || self.says_ref(node) {
            part.modifiers.push("ref".to_owned());
        }
        part.modifiers.sort();
        if !behaviour.is_empty() {
            part.header_body = Digest::of(&behaviour);
        }
        self.facts.types[at as usize] = part;
    }

    /// Reads parameters, bases and constraints into a part, and tells what of them is behaviour.
    fn clauses(&self, part: &mut TypePart, node: Node<'a>, from: usize) -> Vec<u8> {
        let mut behaviour = Vec::new();
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match Kind::of(child) {
                Kind::BaseList => self.bases(part, &mut behaviour, child, from),
                Kind::ParameterList => {
                    let parameters = self.parameters(child, from);
                    part.header.append(&parameters.shape);
                    part.shown.push_str(&parameters.shown);
                    behaviour.extend(&parameters.behaviour);
                    if matches!(part.kind, TypeKind::Record | TypeKind::RecordStruct) {
                        part.members.extend(self.positional(child, from));
                    }
                }
                Kind::Constraints => part.header.append(&self.shape(span(child), from)),
                _ => {}
            }
        }
        behaviour
    }

    /// Whether the source says `ref partial struct`, which the grammar is not shown.
    fn says_ref(&self, node: Node<'a>) -> bool {
        let name = node.child_by_field_name("name").map_or(node.start_byte(), |name| name.start_byte());
        Kind::of(node) == Kind::Struct
            && self
                .source
                .within(Span::new(after_attributes(node), name))
                .any(|it| self.source.of(it) == "ref")
    }

    /// Bases, each by itself, since the order of interfaces means nothing; what is handed to the constructor of a base is
    /// behaviour.
    fn bases(&self, part: &mut TypePart, behaviour: &mut Vec<u8>, list: Node<'a>, from: usize) {
        let mut cursor = list.walk();
        for base in list.named_children(&mut cursor) {
            if base.kind() == "argument_list" {
                self.tokens_into(behaviour, span(base));
            } else if let Some(named) =
                base.child_by_field_name("type").filter(|_| base.kind() == WITH_ARGUMENTS)
            {
                self.base(part, named, from);
                self.tokens_into(behaviour, Span::new(named.end_byte(), base.end_byte()));
            } else if Kind::of(base) != Kind::Comment {
                self.base(part, base, from);
            }
        }
    }

    fn base(&self, part: &mut TypePart, base: Node<'a>, from: usize) {
        part.bases.push(self.shape(span(base), from));
        part.base_names.extend(self.reference_at(base.start_byte() as u32, from));
    }

    /// The modifiers of a declaration, in the order of the alphabet.
    pub(crate) fn modifiers(&self, node: Node<'a>) -> Vec<&'a str> {
        let mut cursor = node.walk();
        let modifiers = node.children(&mut cursor).filter(|child| Kind::of(*child) == Kind::Modifier);
        let mut words: Vec<&str> = modifiers.map(|modifier| self.text(modifier)).collect();
        words.sort_unstable();
        words
    }

    pub(crate) fn too_deep(&mut self, node: Node<'a>) {
        gaps::too_deep(&mut self.facts, node);
    }

    /// Every byte of a declaration and of what is written before it, without the types nested in it.
    fn raw(&self, at: u32, node: Node<'a>) -> Digest {
        let index = self.source.index(node.start_byte() as u32);
        let before = self.source.tokens[..index].iter().rfind(|token| token.kind.counts());
        let mut from = before.map_or(0, |token| token.span.to) as usize;
        let mut bytes = Vec::new();
        for nested in self.facts.types[at as usize + 1..].iter().filter(|part| part.outer == Some(at)) {
            bytes.extend(Span::new(from, nested.span.from as usize).of(self.source.text).as_bytes());
            from = nested.span.to as usize;
        }
        bytes.extend(Span::new(from, node.end_byte()).of(self.source.text).as_bytes());
        Digest::of(&bytes)
    }
}
