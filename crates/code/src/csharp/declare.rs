//! What a C# tree declares: namespaces, imports, types and their members, each with what a user may rely on apart from what it
//! does.
//!
//! Does not know other files: a part of a partial type is told as if it were alone.

use super::kinds::Kind;
use super::refer::{Chain, Locals};
use super::shape::{Accessors, Parameters};
use crate::file::{
    FileFacts, Gap, GapKind, Import, ImportKind, Member, MemberKind, Path, Scope, Segment, Shape, TypeKind,
    TypePart, Visibility,
};
use crate::hash::Digest;
use crate::token::{Lexeme, Source, Span};
use rustc_hash::FxHashMap;
use tree_sitter::{Node, Tree, TreeCursor};

/// Modifiers that say how something is done, not what may be relied on. `partial` says only that there is more to read.
const OF_BODIES: &[&str] = &["async", "extern", "unsafe"];

/// One walk through one tree.
pub(crate) struct Walk<'a> {
    pub(crate) source: &'a Source<'a>,
    pub(crate) facts: FileFacts,
    words: FxHashMap<&'a str, u32>,
    paths: FxHashMap<Path, u32>,
    pub(crate) scope: u32,
    pub(crate) owner: Option<u32>,
    pub(crate) type_parameters: Vec<&'a str>,
    pub(crate) locals: Locals<'a>,
    /// Kept from one chain of names to the next, to save an allocation for each.
    pub(crate) chain: Chain<'a>,
    pub(crate) depth: u32,
    /// The receiver of the block of extensions that is being read.
    receiver: Option<Parameters>,
}

/// Reads everything that a tree tells. `tree` may be of a text that is spelled differently, at the same places.
pub(crate) fn extract(tree: &Tree, source: &Source) -> FileFacts {
    let mut walk = Walk {
        source,
        facts: FileFacts { scopes: vec![Scope::default()], ..FileFacts::default() },
        words: FxHashMap::default(),
        paths: FxHashMap::default(),
        scope: 0,
        owner: None,
        type_parameters: Vec::new(),
        locals: Locals::default(),
        chain: Chain::default(),
        depth: 0,
        receiver: None,
    };
    walk.facts.bytes = source.text.len() as u32;
    walk.facts.lines = memchr::memchr_iter(b'\n', source.text.as_bytes()).count() as u32 + 1;
    let root = tree.root_node();
    walk.below(&mut root.walk());
    if root.has_error() {
        walk.gaps(root);
    }
    walk.mark_degraded();
    walk.facts
}

impl<'a> Walk<'a> {
    pub(crate) fn word(&mut self, text: &'a str) -> u32 {
        // `@class` is the name `class`
        let text = text.strip_prefix('@').unwrap_or(text);
        let facts = &mut self.facts;
        *self.words.entry(text).or_insert_with(|| {
            facts.words.push(text.into());
            facts.words.len() as u32 - 1
        })
    }

    pub(crate) fn path(&mut self, path: Path) -> u32 {
        if let Some(known) = self.paths.get(&path) {
            return *known;
        }
        self.facts.paths.push(path.clone());
        let at = self.facts.paths.len() as u32 - 1;
        self.paths.insert(path, at);
        at
    }

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
            _ => self.below(cursor),
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
        if let Some(body) = node.child_by_field_name("body") {
            self.below(&mut body.walk());
        }
        self.receiver = None;
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
            parameters: parameters.map_or_else(String::new, |list| self.glued(span(list), &[])),
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
        let mut behaviour = Vec::new();
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match Kind::of(child) {
                Kind::BaseList => self.bases(&mut part, child, from),
                Kind::ParameterList => {
                    let parameters = self.parameters(child, from);
                    part.header.append(&parameters.shape);
                    part.shown.push_str(&parameters.shown);
                    behaviour.extend(&parameters.behaviour);
                    if matches!(part.kind, TypeKind::Record | TypeKind::RecordStruct) {
                        part.members.extend(self.positional(child, from));
                    }
                }
                Kind::Constraints => part.header.append(&self.shape(span(child), from, &[])),
                _ => {}
            }
        }
        if let Some(returns) = node.child_by_field_name("type") {
            part.header.append(&self.shape(span(returns), from, &[]));
            part.shown = format!("{} : {}", part.shown, self.glued(span(returns), &[]));
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
    fn bases(&mut self, part: &mut TypePart, list: Node<'a>, from: usize) {
        let mut cursor = list.walk();
        for base in list.named_children(&mut cursor) {
            if Kind::of(base) == Kind::Comment || base.kind() == "argument_list" {
                continue;
            }
            let named =
                base.child_by_field_name("type").filter(|_| base.kind() == "primary_constructor_base_type");
            let base = named.unwrap_or(base);
            part.bases.push(self.shape(span(base), from, &[]));
            part.base_names.extend(self.reference_at(base.start_byte() as u32, from));
        }
    }

    fn member(&mut self, kind: Kind, cursor: &mut TreeCursor<'a>) {
        let node = cursor.node();
        let known = self.type_parameters.len();
        self.push_type_parameters(node);
        let locals = std::mem::take(&mut self.locals);
        let from = self.facts.references.len();
        self.below(cursor);
        self.settle(from);
        self.locals = locals;
        self.type_parameters.truncate(known);
        let members = self.members(kind, node, from);
        if let Some(owner) = self.owner {
            let part = &mut self.facts.types[owner as usize];
            part.declared += 1;
            part.members.extend(members);
        }
    }

    fn members(&self, kind: Kind, node: Node<'a>, from: usize) -> Vec<Member> {
        match kind {
            Kind::Field | Kind::EventField => self.fields(kind, node, from),
            Kind::EnumMember => vec![self.enum_value(node, from)],
            _ => vec![self.function(kind, node, from)],
        }
    }

    /// What members have in common: visibility, modifiers, attributes, documentation.
    fn draft(&self, kind: MemberKind, node: Node<'a>, from: usize) -> Draft<'a> {
        let modifiers = self.modifiers(node);
        let owner = self.owner.map(|owner| self.facts.types[owner as usize].kind);
        let given = visibility(&modifiers);
        let default = match owner {
            Some(TypeKind::Interface | TypeKind::Enum) => Visibility::Public,
            _ => Visibility::Private,
        };
        let is_static =
            modifiers.contains(&"static") || modifiers.contains(&"const") || kind == MemberKind::EnumValue;
        let mut shape = Shape::default();
        for attribute in self.attributes(node, from) {
            shape.append(&attribute);
        }
        let (of_bodies, mut kept): (Vec<&str>, Vec<&str>) =
            modifiers.iter().partition(|word| OF_BODIES.contains(word));
        kept.retain(|word| !is_visibility(word) && *word != "partial");
        for word in &kept {
            shape.push(word);
        }
        // readers expect `static` first
        kept.sort_by_key(|word| *word != "static");
        let shown = kept.iter().flat_map(|word| [word, " "]).collect();
        let behaviour = of_bodies.concat().into_bytes();
        Draft {
            kind,
            visibility: given.unwrap_or(default),
            given: given.is_some(),
            is_static,
            shape,
            shown,
            behaviour,
            node,
        }
    }

    fn fields(&self, kind: Kind, node: Node<'a>, from: usize) -> Vec<Member> {
        let Some(declaration) = child(node, Kind::VariableDeclaration) else { return Vec::new() };
        let modifiers = self.modifiers(node);
        let constant = modifiers.contains(&"const");
        let kind = match kind {
            Kind::EventField => MemberKind::Event,
            _ if constant => MemberKind::Constant,
            _ => MemberKind::Field,
        };
        let declared = declaration.child_by_field_name("type");
        let mut found = Vec::new();
        let mut cursor = declaration.walk();
        for declarator in
            declaration.named_children(&mut cursor).filter(|it| Kind::of(*it) == Kind::Declarator)
        {
            let mut draft = self.draft(kind, node, from);
            let name = declarator.child_by_field_name("name").map_or("", |name| self.text(name));
            let equals = declarator.children(&mut declarator.walk()).find(|it| it.kind() == "=");
            let value = equals.map(|mark| Span::new(mark.end_byte(), declarator.end_byte()));
            if let Some(declared) = declared {
                draft.shape.append(&self.shape(span(declared), from, &[]));
                draft.shown.push_str(&self.glued(span(declared), &[]));
            }
            let sizes = Span::new(
                declarator.start_byte() + name.len(),
                equals.map_or(declarator.end_byte(), |mark| mark.start_byte()),
            );
            draft.shape.append(&self.shape(sizes, from, &[]));
            draft.shown.extend([" ", name]);
            if let Some(value) = value {
                if constant {
                    draft.shape.push("=");
                    draft.shape.append(&self.shape(value, from, &[]));
                    draft.shown.push_str(&self.value_shown(value));
                } else {
                    self.tokens_into(&mut draft.behaviour, value);
                }
            }
            let value_type = declared.and_then(|node| self.plain_type(node, from));
            found.push(draft.finish(self, name, name.to_owned(), value_type, value));
        }
        found
    }

    /// A value of an enumeration; one that is not written out follows from the last that is.
    fn enum_value(&self, node: Node<'a>, from: usize) -> Member {
        let mut draft = self.draft(MemberKind::EnumValue, node, from);
        let name = node.child_by_field_name("name").map_or("", |name| self.text(name));
        let mut after = 0;
        let mut at = Some(node);
        let explicit = loop {
            let Some(here) = at else { break None };
            if Kind::of(here) == Kind::EnumMember {
                if let Some(value) = here.child_by_field_name("value") {
                    break Some(value);
                }
                after += 1;
            }
            at = here.prev_named_sibling();
        };
        if let Some(value) = explicit {
            draft.shape.append(&self.shape(span(value), from, &[]));
        }
        draft.shape.push(&format!("+{after}"));
        draft.shown.push_str(name);
        if let Some(value) = explicit.filter(|_| after == 0) {
            draft.shown.push_str(&self.value_shown(span(value)));
        }
        draft.finish(self, name, name.to_owned(), None, None)
    }

    fn function(&self, kind: Kind, node: Node<'a>, from: usize) -> Member {
        let kind = match kind {
            Kind::Property => MemberKind::Property,
            Kind::Indexer => MemberKind::Indexer,
            Kind::Event => MemberKind::Event,
            Kind::Constructor => MemberKind::Constructor,
            Kind::Destructor => MemberKind::Destructor,
            Kind::Method => MemberKind::Method,
            _ => MemberKind::Operator,
        };
        let mut draft = self.draft(kind, node, from);
        let explicit = child(node, Kind::ExplicitInterface);
        if explicit.is_some() && !draft.given {
            draft.visibility = Visibility::Public;
        }
        let returns = node.child_by_field_name("returns").or_else(|| node.child_by_field_name("type"));
        let name = self.function_name(kind, node, explicit);
        let mut key = name.clone();
        let converts = kind == MemberKind::Operator && name.ends_with("operator");
        let result = returns.map_or_else(String::new, |returns| self.glued(span(returns), &[]));
        if let Some(returns) = returns {
            draft.shape.append(&self.shape(span(returns), from, &[]));
        }
        match (converts, result.as_str()) {
            (_, "") => draft.shown.push_str(&name),
            (true, result) => draft.shown.extend([&name, " ", result]),
            (false, result) => draft.shown.extend([result, " ", &name]),
        }
        if let Some(list) = child(node, Kind::TypeParameters) {
            draft.shape.append(&self.shape(span(list), from, &[]));
            draft.shown.push_str(&self.glued(span(list), &[]));
            key.extend(["`", &list.named_child_count().to_string()]);
        }
        if let Some(list) = node.child_by_field_name("parameters") {
            let parameters = self.parameters(list, from);
            draft.shape.append(&parameters.shape);
            draft.shown.push_str(&parameters.shown);
            draft.behaviour.extend(&parameters.behaviour);
            key.push_str(&parameters.key);
        }
        if let (MemberKind::Operator, Some(returns)) = (kind, returns) {
            key.extend(["~", &self.glued(span(returns), &[])]);
        }
        let mut cursor = node.walk();
        for clause in node.children(&mut cursor) {
            match Kind::of(clause) {
                Kind::Constraints => draft.shape.append(&self.shape(span(clause), from, &[])),
                Kind::ConstructorInitializer => self.tokens_into(&mut draft.behaviour, span(clause)),
                _ => {}
            }
        }
        let accessors = self.accessors(node, from);
        let body_span = self.bodies(&mut draft, node, &accessors);
        if let Some(receiver) = &self.receiver {
            draft.shape.push("extension");
            draft.shape.append(&receiver.shape);
            key = format!("extension{}.{key}", receiver.key);
            draft.shown = format!("extension{} {}", receiver.shown, draft.shown);
        }
        let value_type = returns.and_then(|node| self.plain_type(node, from));
        let mut member = draft.finish(self, &name, key, value_type, body_span);
        if !accessors.hidden.is_empty() {
            member.hidden = Digest::of(&accessors.hidden);
        }
        member
    }

    /// The name of a type that is a name and no more, apart from whether it may be null.
    fn plain_type(&self, node: Node<'a>, from: usize) -> Option<u32> {
        let plain =
            matches!(Kind::of(node), Kind::Identifier | Kind::QualifiedName | Kind::AliasQualifiedName);
        if plain || node.kind() == "nullable_type" {
            self.reference_at(node.start_byte() as u32, from)
        } else {
            None
        }
    }

    /// Adds what a member does, and says where that stands.
    fn bodies(&self, draft: &mut Draft<'a>, node: Node<'a>, accessors: &Accessors) -> Option<Span> {
        draft.shape.append(&accessors.shape);
        draft.shown.push_str(&accessors.shown);
        draft.behaviour.extend(&accessors.behaviour);
        let body = node.child_by_field_name("body");
        if let Some(body) = body {
            self.body_into(&mut draft.behaviour, body);
        }
        let value = node.child_by_field_name("value").filter(|value| Kind::of(*value) != Kind::Arrow);
        if let Some(value) = value {
            draft.behaviour.extend(b"=");
            self.tokens_into(&mut draft.behaviour, span(value));
        }
        body.or_else(|| node.child_by_field_name("accessors"))
            .or_else(|| node.child_by_field_name("value"))
            .map(span)
    }

    fn function_name(&self, kind: MemberKind, node: Node<'a>, explicit: Option<Node<'a>>) -> String {
        let name =
            node.child_by_field_name("name").map_or("", |name| self.text(name)).trim_start_matches('@');
        let name = match kind {
            MemberKind::Indexer => "this".to_owned(),
            MemberKind::Destructor => format!("~{name}"),
            MemberKind::Operator => self.operator_name(node),
            _ => name.to_owned(),
        };
        explicit.map_or(name.clone(), |interface| self.glued(span(interface), &[]) + &name)
    }

    /// `operator +`, `implicit operator`, as the source has them.
    fn operator_name(&self, node: Node<'a>) -> String {
        let end = node.child_by_field_name("parameters").map_or(node.end_byte(), |list| list.start_byte());
        let type_span = node.child_by_field_name("type").map(span);
        let mut name = String::new();
        for token in self.source.within(Span::new(after_attributes(node), end)) {
            let text = self.source.of(token);
            let started = !name.is_empty();
            let in_type = type_span.is_some_and(|it| it.overlaps(token.span));
            if !in_type && (started || matches!(text, "implicit" | "explicit" | "operator")) {
                if started && (token.kind == Lexeme::Word || name.ends_with("operator")) {
                    name.push(' ');
                }
                name.push_str(text);
            }
        }
        name
    }

    /// The properties that a record has for its parameters.
    fn positional(&self, list: Node<'a>, from: usize) -> Vec<Member> {
        let mut found = Vec::new();
        let mut cursor = list.walk();
        for parameter in list.named_children(&mut cursor).filter(|it| Kind::of(*it) == Kind::Parameter) {
            let (Some(name), Some(declared)) =
                (parameter.child_by_field_name("name"), parameter.child_by_field_name("type"))
            else {
                continue;
            };
            let mut draft = self.draft(MemberKind::Property, parameter, from);
            draft.visibility = Visibility::Public;
            draft.shape.append(&self.shape(span(declared), from, &[]));
            draft.shape.push("get; init;");
            draft.shown = format!("{} {}", self.glued(span(declared), &[]), self.text(name));
            let name = self.text(name);
            let value_type = self.plain_type(declared, from);
            found.push(draft.finish(self, name, name.to_owned(), value_type, None));
        }
        found
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
        self.gap(node, GapKind::TooDeep);
    }

    fn gap(&mut self, node: Node<'a>, kind: GapKind) {
        let line = node.start_position().row as u32 + 1;
        self.facts.gaps.push(Gap { span: Span::new(node.start_byte(), node.end_byte()), line, kind });
    }

    /// Every outermost place that fits no rule. Only what has an error inside is looked into.
    fn gaps(&mut self, node: Node<'a>) {
        if node.is_error() {
            return self.gap(node, GapKind::Unexpected);
        }
        if node.is_missing() {
            return self.gap(node, GapKind::Missing);
        }
        self.depth += 1;
        if self.depth < super::refer::DEPTH {
            let mut cursor = node.walk();
            for child in node.children(&mut cursor).filter(|child| child.has_error() || child.is_missing()) {
                self.gaps(child);
            }
        }
        self.depth -= 1;
    }

    fn mark_degraded(&mut self) {
        let FileFacts { types, gaps, .. } = &mut self.facts;
        for part in types {
            let inside = |gap: &Gap| gap.span.from >= part.span.from && gap.span.from <= part.span.to;
            part.degraded = gaps.iter().any(|gap| inside(gap) || gap.span.overlaps(part.span));
        }
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

/// A member while it is put together.
struct Draft<'a> {
    kind: MemberKind,
    visibility: Visibility,
    /// Whether the source says how visible it is.
    given: bool,
    is_static: bool,
    shape: Shape,
    shown: String,
    behaviour: Vec<u8>,
    node: Node<'a>,
}

impl<'a> Draft<'a> {
    fn finish(
        self,
        walk: &Walk<'a>,
        name: &str,
        key: String,
        value_type: Option<u32>,
        body_span: Option<Span>,
    ) -> Member {
        let node = self.node;
        let end = body_span.map_or(node.end_byte(), |body| body.from as usize);
        let body = if self.behaviour.is_empty() { Digest::default() } else { Digest::of(&self.behaviour) };
        Member {
            kind: self.kind,
            name: name.trim_start_matches('@').to_owned(),
            key,
            visibility: self.visibility,
            is_static: self.is_static,
            shape: self.shape,
            shown: self.shown,
            value_type,
            body,
            hidden: Digest::default(),
            doc: walk.doc(node),
            span: span(node),
            signature: Span::new(after_attributes(node), end),
            body_span,
        }
    }
}

pub(crate) fn span(node: Node) -> Span {
    Span::new(node.start_byte(), node.end_byte())
}

pub(crate) fn child(node: Node<'_>, kind: Kind) -> Option<Node<'_>> {
    let mut cursor = node.walk();
    node.children(&mut cursor).find(|child| Kind::of(*child) == kind)
}

/// Where a declaration begins, not counting its attributes.
pub(crate) fn after_attributes(node: Node) -> usize {
    let mut cursor = node.walk();
    let first =
        node.children(&mut cursor).find(|it| !matches!(Kind::of(*it), Kind::AttributeList | Kind::Comment));
    first.map_or(node.start_byte(), |child| child.start_byte())
}

fn is_visibility(word: &str) -> bool {
    matches!(word, "public" | "protected" | "internal" | "private" | "file")
}

pub(crate) fn visibility(modifiers: &[&str]) -> Option<Visibility> {
    let says = |word: &str| modifiers.contains(&word);
    match (says("protected"), says("internal"), says("private")) {
        (true, true, _) => Some(Visibility::ProtectedInternal),
        (true, _, true) => Some(Visibility::PrivateProtected),
        (true, ..) => Some(Visibility::Protected),
        (_, true, _) => Some(Visibility::Internal),
        (_, _, true) => Some(Visibility::Private),
        _ if says("public") => Some(Visibility::Public),
        _ if says("file") => Some(Visibility::File),
        _ => None,
    }
}
