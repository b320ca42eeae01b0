//! Declarations in a C# tree: namespaces, imports and types, with the contract (shape) separated from the behaviour.
//!
//! Does not know other files: each part of a partial type is read on its own. Members are read in `members`.

use super::kinds::Kind;
use super::walk::{Walk, after_attributes, child_of_kind, is_visibility, node_span, parse_visibility};
use crate::effort::EffortLimit;
use crate::token::{Source, TokenKind};
use crate::walk::gaps;
use facts::Digest;
use facts::Span;
use facts::{FileFacts, Import, ImportKind, Path, Scope, Segment, Shape, TypeKind, TypePart};
use tree_sitter::{Node, Tree, TreeCursor};

/// The grammar's name for a base type with constructor arguments, as in a record.
const BASE_WITH_ARGUMENTS: &str = "primary_constructor_base_type";

/// Extracts all facts from a tree. `tree` may come from a prepared text that differs from the source at the same offsets.
pub(crate) fn extract_facts<'a>(
    tree: &'a Tree,
    source: &'a Source<'a>,
    budget: &'a EffortLimit<'a>,
) -> FileFacts {
    let mut walk = Walk::new(source, budget);
    let root = tree.root_node();
    walk.visit_children(&mut root.walk());
    gaps::record_gaps(&mut walk.facts, root);
    let has_inactive = || source.tokens.iter().any(|token| token.kind == TokenKind::Inactive);
    walk.facts.is_inactive = walk.facts.types.is_empty() && has_inactive();
    walk.facts
}

impl<'a> Walk<'a> {
    pub(crate) fn read_declaration(&mut self, kind: Kind, cursor: &mut TreeCursor<'a>) {
        match kind {
            Kind::Namespace => {
                let outer = self.scope;
                self.enter_namespace(cursor.node());
                if let Some(body) = cursor.node().child_by_field_name("body") {
                    self.visit_children(&mut body.walk());
                }
                self.scope = outer;
            }
            Kind::FileNamespace => self.enter_namespace(cursor.node()),
            Kind::Using => self.read_using(cursor.node()),
            _ if kind.is_type() => self.read_type_declaration(kind, cursor.node()),
            _ if kind.is_member() && self.owner.is_some() => self.read_member(kind, cursor),
            _ => drop(self.visit_children(cursor)),
        }
    }

    fn enter_namespace(&mut self, node: Node<'a>) {
        let name = node.child_by_field_name("name").map_or("", |name| self.node_text(name));
        let mut namespace = self.facts.scopes[self.scope as usize].namespace.clone();
        namespace.extend(name.split('.').map(|word| self.intern_word(word.trim())));
        self.facts.scopes.push(Scope { parent: Some(self.scope), namespace, imports: Vec::new() });
        self.scope = self.facts.scopes.len() as u32 - 1;
    }

    fn read_using(&mut self, node: Node<'a>) {
        let (mut global, mut is_static, mut alias, mut target) = (false, false, None, None);
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "global" => global = true,
                "static" => is_static = true,
                _ if child.is_named() && Kind::of_node(child) != Kind::Comment => {
                    if target.is_some() {
                        alias = target;
                    }
                    target = Some(child);
                }
                _ => {}
            }
        }
        let alias = alias.map(|alias: Node<'a>| self.intern_word(self.node_text(alias)));
        let Some(path) = target.and_then(|target| self.using_target(target)) else { return };
        let kind = match alias {
            Some(word) => ImportKind::Alias(word),
            None if is_static => ImportKind::Static,
            None => ImportKind::Namespace,
        };
        self.facts.scopes[self.scope as usize].imports.push(Import { kind, path, global });
    }

    /// The target of an import, without type arguments: `using X = List<int>` is an alias of `List` with arity 1.
    fn using_target(&mut self, node: Node<'a>) -> Option<u32> {
        let span = Span::new(node.start_byte(), node.end_byte());
        let (mut words, mut alias, mut depth): (Vec<(&'a str, u16)>, _, _) = (Vec::new(), None, 0u32);
        for token in self.source.tokens_in(span) {
            match (self.source.text_of(token), token.kind) {
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
                (word, TokenKind::Word) if depth == 0 => words.push((word, 0)),
                (".", _) => {}
                _ if depth > 0 => {}
                // a tuple, an array or a pointer has no name
                _ => return None,
            }
        }
        let alias = alias.map(|alias| self.intern_word(alias));
        let segments =
            words.iter().map(|(word, arity)| Segment { word: self.intern_word(word), arity: *arity });
        let path = Path { alias, segments: segments.collect() };
        (!path.segments.is_empty()).then(|| self.intern_path(path))
    }

    /// Brings the type parameters of a declaration into scope, before the part in front of their list is read.
    pub(crate) fn push_type_parameters(&mut self, node: Node<'a>) {
        let mut cursor = node.walk();
        for list in node.children(&mut cursor).filter(|child| Kind::of_node(*child) == Kind::TypeParameters) {
            let mut inner = list.walk();
            for parameter in list.named_children(&mut inner) {
                if let Some(name) = parameter.child_by_field_name("name") {
                    self.type_parameters.push(self.node_text(name));
                }
            }
        }
    }

    fn read_type_declaration(&mut self, kind: Kind, node: Node<'a>) {
        let known = self.type_parameters.len();
        self.push_type_parameters(node);
        let opener = self.source.text.get(node.start_byte()..).unwrap_or_default();
        if kind == Kind::Class && opener.starts_with("extension") {
            self.read_extension_block(node);
        } else {
            self.read_type_part(kind, node);
        }
        self.type_parameters.truncate(known);
    }

    /// Reads an extension block; its members belong to the enclosing class.
    fn read_extension_block(&mut self, node: Node<'a>) {
        let from = self.facts.references.len();
        let list = child_of_kind(node, Kind::ParameterList);
        if let Some(list) = list {
            self.visit_children(&mut list.walk());
        }
        self.extension_receiver = list.map(|list| self.read_parameters(list, from));
        self.set_extension_parameter(list);
        if let Some(body) = node.child_by_field_name("body") {
            self.visit_children(&mut body.walk());
        }
        self.extension_receiver = None;
        self.set_extension_parameter(None);
    }

    fn read_type_part(&mut self, kind: Kind, node: Node<'a>) {
        let at = self.facts.types.len() as u32;
        let outer = self.owner;
        let part = self.empty_part(kind, node);
        self.facts.types.push(part);
        self.owner = Some(at);
        let locals = std::mem::take(&mut self.locals);
        let receiver = self.extension_receiver.take();
        let from = self.facts.references.len();
        let body = node.child_by_field_name("body");
        let mut cursor = node.walk();
        self.visit_before_body(&mut cursor, body);
        self.drop_variable_references(from);
        self.fill_header(at, node, from);
        self.set_positional_types(at, node);
        if let Some(body) = body {
            self.visit_children(&mut body.walk());
        }
        self.locals = locals;
        self.extension_receiver = receiver;
        self.owner = outer;
        let raw = self.raw_digest(at, node);
        self.facts.types[at as usize].raw_digest = raw;
    }

    /// Visits attributes, parameters, bases and constraints.
    fn visit_before_body(&mut self, cursor: &mut TreeCursor<'a>, body: Option<Node<'a>>) {
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
        let name = node.child_by_field_name("name").map_or("", |name| self.node_text(name));
        let parameters = child_of_kind(node, Kind::TypeParameters);
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
            parameters: parameters.map_or_else(String::new, |list| self.join_tokens(node_span(list))),
            bases: Vec::new(),
            base_references: Vec::new(),
            extended_type: None,
            attributes: Vec::new(),
            header: Shape::default(),
            header_behaviour: Digest::default(),
            header_text: String::new(),
            has_explicit_layout: false,
            members: Vec::new(),
            declaration_count: 0,
            doc: self.read_doc(node),
            span: node_span(node),
            signature: Span::new(after_attributes(node), body),
            raw_digest: Digest::default(),
            degraded: false,
        }
    }

    /// Fills in the part before the body: everything but the members.
    fn fill_header(&mut self, at: u32, node: Node<'a>, from: usize) {
        let mut modifiers = self.sorted_modifiers(node);
        let mut part = self.facts.types[at as usize].clone();
        part.visibility = parse_visibility(&modifiers);
        part.partial = modifiers.contains(&"partial");
        modifiers.retain(|word| !is_visibility(word) && *word != "partial");
        part.modifiers = modifiers.into_iter().map(str::to_owned).collect();
        part.attributes = self.attribute_shapes(node, from);
        let before = Span::new(node.start_byte(), after_attributes(node));
        part.has_explicit_layout =
            self.source.tokens_in(before).any(|token| self.source.text_of(token).starts_with("StructLayout"));
        let behaviour = self.read_clauses(&mut part, node, from);
        if let Some(returns) = node.child_by_field_name("type") {
            part.header.append_shape(&self.shape_of(node_span(returns), from));
            part.header_text = format!("{} : {}", part.header_text, self.join_tokens(node_span(returns)));
        }
        // in `ref struct`, `ref` follows the modifiers and is not one of them
        if node.children(&mut node.walk()).any(|child| child.kind() == "ref") || self.has_ref_modifier(node) {
            part.modifiers.push("ref".to_owned());
        }
        part.modifiers.sort();
        if !behaviour.is_empty() {
            part.header_behaviour = Digest::of_bytes(&behaviour);
        }
        self.facts.types[at as usize] = part;
    }

    /// Reads parameters, bases and constraints into a part; returns the bytes that count as behaviour.
    fn read_clauses(&self, part: &mut TypePart, node: Node<'a>, from: usize) -> Vec<u8> {
        let mut behaviour = Vec::new();
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match Kind::of_node(child) {
                Kind::BaseList => self.read_bases(part, &mut behaviour, child, from),
                Kind::ParameterList => {
                    let parameters = self.read_parameters(child, from);
                    part.header.append_shape(&parameters.shape);
                    part.header_text.push_str(&parameters.text);
                    behaviour.extend(&parameters.behaviour);
                    if matches!(part.kind, TypeKind::Record | TypeKind::RecordStruct) {
                        part.members.extend(self.positional_properties(child, from));
                    }
                }
                Kind::Constraints => part.header.append_shape(&self.shape_of(node_span(child), from)),
                _ => {}
            }
        }
        behaviour
    }

    /// Whether the source has `ref partial struct`; the prepared text omits `ref`.
    fn has_ref_modifier(&self, node: Node<'a>) -> bool {
        let name = node.child_by_field_name("name").map_or(node.start_byte(), |name| name.start_byte());
        Kind::of_node(node) == Kind::Struct
            && self
                .source
                .tokens_in(Span::new(after_attributes(node), name))
                .any(|it| self.source.text_of(it) == "ref")
    }

    /// Reads each base separately, because the order of interfaces is insignificant. Arguments for the constructor of a base count
    /// as behaviour.
    fn read_bases(&self, part: &mut TypePart, behaviour: &mut Vec<u8>, list: Node<'a>, from: usize) {
        let mut cursor = list.walk();
        for base in list.named_children(&mut cursor) {
            if base.kind() == "argument_list" {
                self.push_tokens(behaviour, node_span(base));
            } else if let Some(named) =
                base.child_by_field_name("type").filter(|_| base.kind() == BASE_WITH_ARGUMENTS)
            {
                self.push_base(part, named, from);
                self.push_tokens(behaviour, Span::new(named.end_byte(), base.end_byte()));
            } else if Kind::of_node(base) != Kind::Comment {
                self.push_base(part, base, from);
            }
        }
    }

    fn push_base(&self, part: &mut TypePart, base: Node<'a>, from: usize) {
        part.bases.push(self.shape_of(node_span(base), from));
        part.base_references.extend(self.reference_at(base.start_byte() as u32, from));
    }

    /// The modifiers of a declaration, sorted alphabetically.
    pub(crate) fn sorted_modifiers(&self, node: Node<'a>) -> Vec<&'a str> {
        let mut cursor = node.walk();
        let modifiers = node.children(&mut cursor).filter(|child| Kind::of_node(*child) == Kind::Modifier);
        let mut words: Vec<&str> = modifiers.map(|modifier| self.node_text(modifier)).collect();
        words.sort_unstable();
        words
    }

    pub(crate) fn record_too_deep(&mut self, node: Node<'a>) {
        gaps::record_too_deep(&mut self.facts, node);
    }

    /// Digest of every byte of a declaration and the comments before it, without nested types.
    fn raw_digest(&self, at: u32, node: Node<'a>) -> Digest {
        let index = self.source.token_index(node.start_byte() as u32);
        let before = self.source.tokens[..index].iter().rfind(|token| token.kind.is_significant());
        let mut from = before.map_or(0, |token| token.span.to) as usize;
        let mut bytes = Vec::new();
        self.budget.spend(self.facts.types.len() - at as usize);
        for nested in self.facts.types[at as usize + 1..].iter().filter(|part| part.outer == Some(at)) {
            bytes.extend(Span::new(from, nested.span.from as usize).text_in(self.source.text).as_bytes());
            from = nested.span.to as usize;
        }
        bytes.extend(Span::new(from, node.end_byte()).text_in(self.source.text).as_bytes());
        Digest::of_bytes(&bytes)
    }
}
