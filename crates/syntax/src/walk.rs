//! Extracts types, members, modules, imports and references from the syntax tree of a table-driven language.
//!
//! Does not know a particular language: a `Dialect` assigns roles to node kinds and describes the layout of declarations.

mod blanking;
mod doc;
pub(crate) mod gaps;
mod head_rules;
pub(crate) mod interner;
mod member_access;
mod members;
mod names;
mod normalize;
mod references;
mod textual;
mod tokens;

use crate::ancestors::{SiblingsBefore, parent_within, sibling_after, siblings_before};
use crate::effort::EffortLimit;
use crate::token::{PreparedText, Source};
use blanking::blank_text;
pub(crate) use blanking::{BlankRange, BlankRule, is_word_char};
pub(crate) use doc::DocStyle;
use facts::Digest;
use facts::Span;
use facts::{
    FileFacts, Import, ImportKind, Member, MemberKind, Path, Position, Scope, Segment, Shape, TypeKind,
    TypePart, Visibility,
};
pub(crate) use head_rules::{DEFAULT_HEAD_RULES, HeadRules, field_of, find_part};
use interner::Interner;
pub(crate) use member_access::{AccessRule, DEFAULT_MEMBER_ACCESS, MemberAccessRules};
pub(crate) use members::plain_member;
use references::ReferenceOrder;
pub(crate) use references::{FOLDER_ROOTS, starts_uppercase};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::{OnceCell, RefCell};
use std::sync::OnceLock;
pub(crate) use tokens::tokenize;
use tree_sitter::{Node, Tree, TreeCursor};

/// Maximum depth of the traversal; the stack of a thread is large enough for several times this.
const MAX_DEPTH: u32 = 1000;

/// How the walk treats a node kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// Contains no declarations visible to other files.
    Other,
    /// Contains no references.
    Skip,
    /// Its children count as children of its parent, such as functions inside a module-level `if`.
    Transparent,
    Type(TypeKind),
    Member(MemberKind),
    Import,
    /// A simple or dotted name.
    Name(Position),
    /// A word that may be a type if its initial is uppercase.
    Word,
    /// Handled by the dialect.
    Custom,
}

/// How a node kind is tokenized.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TokenRule {
    Descend,
    /// One token including its children, such as a string.
    Whole,
    Comment,
    /// Its children are terminated by line ends, which only the tree can identify.
    LineTerminated,
}

/// A language described as a table; `DEFAULT_DIALECT` contains the defaults.
pub(crate) struct Dialect {
    pub(crate) roles: &'static [(&'static str, Role)],
    pub(crate) token_rules: &'static [(&'static str, TokenRule)],
    pub(crate) doc_style: DocStyle,
    pub(crate) member_access: MemberAccessRules,
    /// Set if the language is read at the level of declarations, with textual references instead of `member_access`.
    pub(crate) head_rules: Option<&'static HeadRules>,
    /// Nodes in which a comma after a single element is significant.
    pub(crate) tuples: &'static [&'static str],
    /// Nodes in which parentheses around a whole expression are redundant; formatters add or remove them by line width.
    pub(crate) redundant_parens: &'static [&'static str],
    /// Whether a nested module inherits the imports of the enclosing scope.
    pub(crate) inherits_imports: bool,
    /// Whether `'a'` and `"a"` are equivalent.
    pub(crate) interchangeable_quotes: bool,
    /// Whether functions can be overloaded by parameter types.
    pub(crate) has_overloads: bool,
    /// Whether the first node of its parent is a docstring of the declaration that contains it. The slice has the nodes around it,
    /// outermost first, as that of `is_stylistic`.
    pub(crate) is_doc: fn(Node, &[Node]) -> bool,
    /// Whether a punctuation token is purely stylistic.
    pub(crate) is_stylistic: fn(Node, &[Node]) -> bool,
    pub(crate) head: for<'a> fn(&Walk<'a>, Node<'a>) -> Head<'a>,
    pub(crate) import: for<'a> fn(&mut Walk<'a>, Node<'a>),
    pub(crate) custom: for<'a> fn(&mut Walk<'a>, &mut TreeCursor<'a>),
    /// Applies facts known only at the end of the file, such as `export { a }`.
    pub(crate) finish: for<'a> fn(&mut Walk<'a>),
    /// Rules for the parts of a text that the grammar rejects.
    pub(crate) blank_rules: fn(&str) -> &'static [BlankRule],
}

/// Defaults: a brace language with inherited outer imports, without overloads and without stylistic punctuation.
pub(crate) const DEFAULT_DIALECT: Dialect = Dialect {
    roles: &[],
    token_rules: &[],
    doc_style: DocStyle::Above,
    member_access: DEFAULT_MEMBER_ACCESS,
    head_rules: None,
    tuples: &[],
    redundant_parens: &[],
    inherits_imports: true,
    interchangeable_quotes: false,
    has_overloads: false,
    is_doc: |_, _| false,
    is_stylistic: |_, _| false,
    head: |walk, node| Head::new(walk, node),
    import: |_, _| {},
    custom: |_, _| {},
    finish: |_| {},
    blank_rules: |_| &[],
};

/// A dialect with lookup tables, which are built from its grammar on first use.
pub(crate) struct LazyDialect {
    dialect: Dialect,
    tables: OnceLock<Tables>,
}

/// Roles and token rules by node kind ID: comparing numbers is several times as fast as comparing names.
struct Tables {
    roles: Vec<Role>,
    token_rules: Vec<TokenRule>,
    access_rules: Vec<Option<AccessRule>>,
    hoisted: Vec<Option<&'static str>>,
    /// Whether a leaf is a name, in a language with textual references.
    names: Vec<bool>,
}

impl LazyDialect {
    pub(crate) const fn new(dialect: Dialect) -> LazyDialect {
        LazyDialect { dialect, tables: OnceLock::new() }
    }

    /// Whether damage is hidden from the grammar.
    pub(crate) fn skips_damage(&self) -> bool {
        self.dialect.head_rules.is_some_and(|rules| rules.skips_damage)
    }

    /// Whether references are only names in the text.
    pub(crate) fn is_textual(&self) -> bool {
        self.dialect.head_rules.is_some()
    }

    /// Blanks the parts of a text that the grammar rejects.
    pub(crate) fn prepare_text(&self, text: &str) -> PreparedText {
        blank_text(text, (self.dialect.blank_rules)(text))
    }

    fn tables_for(&self, tree: &Tree) -> &Tables {
        self.tables.get_or_init(|| {
            let grammar = tree.language();
            let names = (0..grammar.node_kind_count() as u16)
                .map(|id| grammar.node_kind_for_id(id).filter(|_| grammar.node_kind_is_named(id)));
            let names: Vec<&str> = names.map(Option::unwrap_or_default).collect();
            Tables {
                roles: names
                    .iter()
                    .map(|name| find_row(self.dialect.roles, name).unwrap_or(Role::Other))
                    .collect(),
                token_rules: names
                    .iter()
                    .map(|name| find_row(self.dialect.token_rules, name).unwrap_or(TokenRule::Descend))
                    .collect(),
                access_rules: names
                    .iter()
                    .map(|name| find_row(self.dialect.member_access.rules, name))
                    .collect(),
                hoisted: names
                    .iter()
                    .map(|name| find_row(self.dialect.member_access.hoisted, name))
                    .collect(),
                names: names
                    .iter()
                    .map(|name| self.dialect.head_rules.is_some_and(|rules| rules.names.contains(name)))
                    .collect(),
            }
        })
    }
}

fn find_row<T: Copy>(rows: &[(&str, T)], name: &str) -> Option<T> {
    rows.iter().find(|(known, _)| *known == name).map(|(_, row)| *row)
}

/// The part of a declaration before its body.
#[derive(Clone)]
pub(crate) struct Head<'a> {
    /// The whole declaration, including wrappers such as `export` and decorators.
    pub(crate) declaration: Node<'a>,
    /// Start of the declaration; attributes may be siblings that precede the node.
    pub(crate) start: usize,
    pub(crate) name: String,
    /// The declared name, which is no reference.
    pub(crate) name_node: Option<Node<'a>>,
    pub(crate) attributes: Vec<Node<'a>>,
    pub(crate) visibility: Option<Visibility>,
    pub(crate) is_static: bool,
    /// Whether an annotation marks it as an override; a keyword that does so is part of the signature.
    pub(crate) is_override: bool,
    /// Parts of the head that are excluded from the contract with callers: visibility, `async`.
    pub(crate) excluded: Vec<Span>,
    /// Names of base types.
    pub(crate) bases: Vec<Node<'a>>,
    pub(crate) type_parameters: Option<Node<'a>>,
    /// Parameter lists; Go's results are one too, since they may have names.
    pub(crate) parameters: Vec<Node<'a>>,
    pub(crate) body: Option<Node<'a>>,
    /// A second body: that of an enum constant that also has arguments.
    pub(crate) extra_body: Option<Node<'a>>,
    /// Whether the compiler inlines the value at its usages.
    pub(crate) is_inlined: bool,
    pub(crate) value_type: Option<Node<'a>>,
    /// Distinguishes it from other members with the same name.
    pub(crate) qualifier: String,
    /// The labels of its parameters, where they are part of the name: Swift.
    pub(crate) labels: String,
}

impl<'a> Head<'a> {
    /// Reads a head from the field names that most grammars use.
    pub(crate) fn new(walk: &Walk<'a>, node: Node<'a>) -> Head<'a> {
        Head {
            declaration: node,
            start: node.start_byte(),
            // a name may be a quoted string, with either kind of quotes
            name: node
                .child_by_field_name("name")
                .map_or_else(String::new, |name| walk.join_tokens(node_span(name), &[])),
            name_node: node.child_by_field_name("name"),
            attributes: Vec::new(),
            visibility: None,
            is_static: false,
            is_override: false,
            excluded: Vec::new(),
            bases: Vec::new(),
            type_parameters: node.child_by_field_name("type_parameters"),
            parameters: node.child_by_field_name("parameters").into_iter().collect(),
            extra_body: None,
            body: node.child_by_field_name("body").or_else(|| node.child_by_field_name("value")),
            is_inlined: false,
            value_type: node.child_by_field_name("type").or_else(|| node.child_by_field_name("return_type")),
            qualifier: String::new(),
            labels: String::new(),
        }
    }

    /// Spans excluded from the shape; attributes have their own shapes.
    fn excluded_spans(&self) -> Vec<Span> {
        self.excluded.iter().copied().chain(self.attributes.iter().map(|it| node_span(*it))).collect()
    }

    /// The span from the first token after the attributes to the body.
    fn signature_span(&self, walk: &Walk) -> Span {
        let end = self.body.map_or(self.declaration.end_byte(), |body| body.start_byte());
        if let Some(shared) = &walk.shared {
            return Span::new(shared.signature, end);
        }
        let attributes = SortedSpans::new(self.attributes.iter().map(|it| node_span(*it)).collect());
        let mut from = self.start;
        for token in walk.source.tokens_in(Span::new(self.start, end)) {
            from = token.span.from as usize;
            let (attributes_end, _) = attributes.at(token.span.from);
            if attributes_end <= token.span.from || !walk.budget.spend(1) {
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
    interner: Interner<'a>,
    /// Names bound by the imports of this file.
    imported: FxHashSet<&'a str>,
    pub(crate) scope: u32,
    pub(crate) owner: Option<u32>,
    /// Whether declarations at this point are visible outside, that is, not inside a body.
    pub(crate) declaring: bool,
    type_parameters: TypeParameters<'a>,
    variable_scope: member_access::VariableScope<'a>,
    /// The nodes around the current one whose children are being visited, outermost first.
    open: Vec<Node<'a>>,
    pub(crate) budget: &'a EffortLimit<'a>,
    /// The list of constants of which one was read last, and how many are before that one.
    pub(crate) last_constant: (usize, usize),
    /// The declaration with several names that is being read.
    shared: Option<names::SharedReading>,
    /// The kinds and keys of the members of each type.
    member_keys: FxHashSet<(u32, MemberKind, String)>,
    /// The members of each type by name, once asked for.
    named_members: FxHashMap<u32, members::NamedMembers>,
    /// The bytes whose digest was computed last: those of a declaration with several names.
    last_digest: RefCell<(Vec<Span>, Digest)>,
    /// The names of the C types that have a body in this file, once asked for.
    pub(crate) bodied_tags: OnceCell<FxHashSet<&'a str>>,
    reference_order: RefCell<ReferenceOrder>,
    /// The module part of each scope that has one; `module_nodes` has the node of each module.
    modules: FxHashMap<u32, u32>,
    module_nodes: Vec<(u32, Node<'a>)>,
    /// The index into `module_nodes` of each scope, and of each node.
    module_of_scope: FxHashMap<u32, usize>,
    module_of_node: FxHashMap<usize, usize>,
    /// Each scope of a nested module with its enclosing scope.
    outer_scopes: FxHashMap<u32, u32>,
    /// Ranges of types, members and imports, including the comments before them.
    claimed: Vec<Span>,
    /// The ranges of types only.
    type_ranges: Vec<Span>,
    /// Members declared inside a body, with their type; added after those that the type itself declares.
    pub(crate) late_members: Vec<(u32, Member)>,
    /// The visibility that a section gives to the declarations after it: `private:`.
    pub(crate) section: Option<Visibility>,
    /// Where names are declared, in a language with textual references.
    declared_names: FxHashSet<u32>,
}

/// Extracts all facts from a tree.
pub(crate) fn extract_facts(
    reading: &'static LazyDialect,
    tree: &Tree,
    text: &str,
    hidden: &[Span],
    budget: &EffortLimit,
) -> FileFacts {
    let tokens = tokenize(reading, tree, text, budget);
    let root = tree.root_node();
    let dialect = &reading.dialect;
    let source = Source { text, tokens: &tokens };
    let mut walk = Walk::new(dialect, reading.tables_for(tree), source, root, budget);
    walk.add_module_node(0, root);
    walk.visit_children(&mut root.walk());
    walk.finish_modules();
    match dialect.head_rules {
        Some(rules) => walk.collect_textual_references(rules, hidden),
        None => walk.collect_member_references(),
    }
    (dialect.finish)(&mut walk);
    gaps::record_gaps(&mut walk.facts, root);
    walk.facts
}

impl<'a> Walk<'a> {
    fn new(
        dialect: &'static Dialect,
        tables: &'static Tables,
        source: Source<'a>,
        root: Node<'a>,
        budget: &'a EffortLimit<'a>,
    ) -> Walk<'a> {
        let lines = crate::token::count_lines(source.text);
        let facts = FileFacts {
            scopes: vec![Scope::default()],
            bytes: source.text.len() as u32,
            requires_imports: true,
            is_textual: dialect.head_rules.is_some(),
            lines,
            ..FileFacts::default()
        };
        Walk {
            dialect,
            tables,
            source,
            root,
            facts,
            interner: Interner::default(),
            imported: FxHashSet::default(),
            scope: 0,
            owner: None,
            declaring: true,
            type_parameters: TypeParameters::default(),
            variable_scope: member_access::VariableScope::default(),
            open: Vec::new(),
            budget,
            last_constant: (0, 0),
            shared: None,
            member_keys: FxHashSet::default(),
            named_members: FxHashMap::default(),
            last_digest: RefCell::default(),
            bodied_tags: OnceCell::new(),
            reference_order: RefCell::default(),
            modules: FxHashMap::default(),
            module_nodes: Vec::new(),
            module_of_scope: FxHashMap::default(),
            module_of_node: FxHashMap::default(),
            outer_scopes: FxHashMap::default(),
            claimed: Vec::new(),
            type_ranges: Vec::new(),
            late_members: Vec::new(),
            section: None,
            declared_names: FxHashSet::default(),
        }
    }

    pub(crate) fn node_text(&self, node: Node) -> &'a str {
        node_span(node).text_in(self.source.text)
    }

    pub(crate) fn intern_word(&mut self, text: &'a str) -> u32 {
        self.interner.intern_word(&mut self.facts, text)
    }

    pub(crate) fn intern_path(&mut self, alias: Option<&'a str>, words: &[&'a str]) -> u32 {
        let alias = alias.map(|alias| self.intern_word(alias));
        let segments = words.iter().map(|word| Segment { word: self.intern_word(word), arity: 0 }).collect();
        self.interner.intern_path(&mut self.facts, Path { alias, segments })
    }

    pub(crate) fn role_of(&self, node: Node) -> Role {
        // a macro that hides a brace turns half a C file into one error; the declarations in it are still there
        if node.is_error() && self.dialect.head_rules.is_some() {
            return Role::Transparent;
        }
        self.tables.roles.get(node.kind_id() as usize).copied().unwrap_or(Role::Other)
    }

    /// Visits the children of the node at the cursor.
    pub(crate) fn visit_children(&mut self, cursor: &mut TreeCursor<'a>) {
        let parent = cursor.node();
        if self.is_too_deep() {
            return gaps::record_too_deep(&mut self.facts, parent);
        }
        self.open.push(parent);
        if cursor.goto_first_child() {
            while self.budget.spend(1) {
                if cursor.node().is_named() {
                    self.visit(cursor, parent);
                }
                if !cursor.goto_next_sibling() {
                    break;
                }
            }
            cursor.goto_parent();
        }
        self.open.pop();
    }

    fn is_too_deep(&self) -> bool {
        self.open.len() >= MAX_DEPTH as usize
    }

    /// Reads what is in a node, unless the nesting is too deep.
    pub(crate) fn descend(&mut self, node: Node<'a>, read: impl FnOnce(&mut Self)) {
        if !self.is_too_deep() && self.budget.spend(1) {
            self.open.push(node);
            read(self);
            self.open.pop();
        }
    }

    /// The parent of a node at or near the current one.
    pub(crate) fn parent_of(&self, node: Node<'a>) -> Option<Node<'a>> {
        parent_within(&self.open, node)
    }

    /// The siblings before a node at or near the current one, the nearest first.
    pub(crate) fn siblings_before(&self, node: Node<'a>) -> impl Iterator<Item = Node<'a>> + use<'a, '_> {
        let siblings: SiblingsBefore<'a> = siblings_before(self.parent_of(node), node);
        siblings.take_while(|_| self.budget.spend(1))
    }

    /// The named sibling after a node at or near the current one.
    pub(crate) fn named_sibling_after(&self, node: Node<'a>) -> Option<Node<'a>> {
        let parent = self.parent_of(node);
        let mut next = sibling_after(parent, node);
        while next.is_some_and(|next| !next.is_named()) && self.budget.spend(1) {
            next = next.and_then(|next| sibling_after(parent, next));
        }
        next
    }

    fn add_module_node(&mut self, scope: u32, node: Node<'a>) {
        let at = self.module_nodes.len();
        self.module_of_scope.insert(scope, at);
        self.module_of_node.insert(node.id(), at);
        self.module_nodes.push((scope, node));
    }

    /// Visits the children of a node that contains no declarations visible outside.
    pub(crate) fn visit_non_declaring(&mut self, cursor: &mut TreeCursor<'a>) {
        let declaring = std::mem::replace(&mut self.declaring, false);
        self.visit_children(cursor);
        self.declaring = declaring;
    }

    pub(crate) fn visit(&mut self, cursor: &mut TreeCursor<'a>, parent: Node<'a>) {
        let node = cursor.node();
        match self.role_of(node) {
            Role::Skip => {}
            Role::Transparent => self.visit_children(cursor),
            Role::Import => self.read_import(node),
            Role::Type(kind) if self.declaring => self.read_type(kind, node),
            Role::Member(kind) if self.declaring => self.read_member(kind, node),
            Role::Name(position) => {
                let declared = cursor.field_name() == Some("name") && self.is_declaration(parent);
                if !declared && !self.record_name(node, position) {
                    self.visit_non_declaring(cursor);
                }
            }
            Role::Word => self.record_lone_word(node, cursor.field_name().unwrap_or_default()),
            Role::Custom => (self.dialect.custom)(self, cursor),
            _ => self.visit_non_declaring(cursor),
        }
    }

    fn is_declaration(&self, parent: Node) -> bool {
        matches!(self.role_of(parent), Role::Type(_) | Role::Member(_) | Role::Custom)
    }

    fn read_import(&mut self, node: Node<'a>) {
        self.claim_range(node.start_byte(), node.end_byte());
        (self.dialect.import)(self, node);
    }

    pub(crate) fn add_import(&mut self, alias: Option<&'a str>, path: (Option<&'a str>, &[&'a str])) {
        if path.1.is_empty() && alias.is_none() && path.0.is_none() {
            return;
        }
        let target = self.intern_path(path.0, path.1);
        let kind = match alias {
            Some(name) => {
                self.imported.insert(name);
                ImportKind::Alias(self.intern_word(name))
            }
            None => ImportKind::Namespace,
        };
        self.facts.scopes[self.scope as usize].imports.push(Import { kind, path: target, global: false });
    }

    /// Records a name that an import binds implicitly: `a` of `import a.b`.
    pub(crate) fn add_imported_name(&mut self, word: &'a str) {
        self.imported.insert(word);
    }

    /// Reads a namespace or module nested in this file.
    pub(crate) fn read_nested_scope(
        &mut self,
        words: &[&'a str],
        visibility: Visibility,
        node: Node<'a>,
        body: Node<'a>,
    ) {
        let outer = self.scope;
        let mut namespace = self.facts.scopes[outer as usize].namespace.clone();
        namespace.extend(words.iter().map(|word| self.intern_word(word)).collect::<Vec<_>>());
        let parent = Some(outer).filter(|_| self.dialect.inherits_imports);
        self.facts.scopes.push(Scope { parent, namespace, imports: Vec::new() });
        self.scope = self.facts.scopes.len() as u32 - 1;
        self.outer_scopes.insert(self.scope, outer);
        self.add_module_node(self.scope, node);
        let owner = self.owner.take();
        self.visit_children(&mut body.walk());
        if let Some(module) = self.modules.get(&self.scope) {
            self.facts.types[*module as usize].visibility = Some(visibility);
        }
        self.owner = owner;
        self.scope = outer;
    }

    /// Reads declarations that name the namespace they are in: `class A::B`.
    pub(crate) fn read_in_scope(&mut self, words: &[&'a str], read: impl FnOnce(&mut Walk<'a>)) {
        let outer = self.scope;
        let mut namespace = self.facts.scopes[outer as usize].namespace.clone();
        namespace.extend(words.iter().map(|word| self.intern_word(word)).collect::<Vec<_>>());
        self.facts.scopes.push(Scope { parent: Some(outer), namespace, imports: Vec::new() });
        self.scope = self.facts.scopes.len() as u32 - 1;
        read(self);
        self.scope = outer;
    }

    /// Puts the remainder of the file into a namespace.
    pub(crate) fn enter_file_namespace(&mut self, words: &[&'a str]) {
        let namespace = words.iter().map(|word| self.intern_word(word)).collect();
        self.facts.scopes.push(Scope { parent: Some(self.scope), namespace, imports: Vec::new() });
        self.scope = self.facts.scopes.len() as u32 - 1;
    }

    /// Puts the remainder of the file, with its free functions and values, into a namespace.
    pub(crate) fn enter_file_module(&mut self, words: &[&'a str]) {
        let file = self.scope;
        self.enter_file_namespace(words);
        self.outer_scopes.insert(self.scope, file);
        if let Some(at) = self.module_of_scope.remove(&file) {
            self.module_nodes[at].0 = self.scope;
            self.module_of_scope.insert(self.scope, at);
        }
    }

    /// Modifies the member that was added last.
    pub(crate) fn amend_last_member(&mut self, change: impl FnOnce(&mut Member)) {
        let owner = self.owner.or_else(|| self.modules.get(&self.scope).copied());
        let members = owner.map(|owner| &mut self.facts.types[owner as usize].members);
        if let Some(last) = members.and_then(|members| members.last_mut()) {
            change(last);
        }
    }

    /// Digest of every byte of a declaration and the comments before it.
    pub(crate) fn declaration_digest(&self, node: Node<'a>) -> Digest {
        self.digest_spans(&[Span::new(self.start_with_comments(node.start_byte()), node.end_byte())])
    }

    /// The module part that owns the free items of the current scope; created on first use.
    pub(crate) fn module_part(&mut self) -> u32 {
        let scope = self.scope;
        if let Some(known) = self.modules.get(&scope) {
            return *known;
        }
        let node = self.module_of_scope.get(&scope).map(|at| self.module_nodes[*at].1);
        let at = self.facts.types.len() as u32;
        let mut part = empty_part(TypeKind::Module, scope);
        part.visibility = Some(Visibility::Public);
        if let Some(node) = node {
            part.span = node_span(node);
            part.signature = Span::new(node.start_byte(), node.start_byte());
        }
        let around = self.outer_scopes.get(&scope).copied();
        if let (Some(last), Some(around)) = (self.facts.scopes[scope as usize].namespace.last(), around) {
            self.facts.word_text(*last).clone_into(&mut part.name);
            part.scope = around;
        }
        self.facts.types.push(part);
        self.modules.insert(scope, at);
        at
    }

    fn read_type(&mut self, kind: TypeKind, node: Node<'a>) {
        let head = (self.dialect.head)(self, node);
        if self.is_nameless(&head) {
            return self.visit_children(&mut node.walk());
        }
        self.read_type_part(kind, node, &head, Walk::read_body);
    }

    /// Whether a declaration has no name, so that what it contains belongs to what is around it: an anonymous `union`.
    pub(crate) fn is_nameless(&self, head: &Head<'a>) -> bool {
        self.dialect.head_rules.is_some() && head.name.is_empty()
    }

    /// Reads the declarations in a body.
    pub(crate) fn read_body(&mut self, body: Node<'a>) {
        match self.role_of(body) {
            Role::Custom => (self.dialect.custom)(self, &mut body.walk()),
            _ => self.visit_children(&mut body.walk()),
        }
    }

    /// Reads the declaration of a type; `inner` reads its body.
    pub(crate) fn read_type_part(
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
        self.mark_declared(head);
        let section = self.section.take();
        let outer = self.owner.replace(at);
        let from = self.read_references(node, head);
        self.fill_header(at, head, from);
        if let Some(body) = head.body {
            let declaring = std::mem::replace(&mut self.declaring, true);
            inner(self, body);
            self.declaring = declaring;
        }
        self.section = section;
        self.owner = outer;
        self.type_parameters.truncate(known);
        let start = self.start_with_comments(head.start);
        self.facts.types[at as usize].raw_digest = self.raw_digest(start, head.declaration.end_byte(), at);
        self.claim_type(head.start, head.declaration.end_byte());
    }

    /// Remembers where a declaration has its name, so that it is not taken for a reference.
    fn mark_declared(&mut self, head: &Head<'a>) {
        if let Some(name) = head.name_node {
            self.mark_declared_at(name.start_byte());
        }
    }

    pub(crate) fn mark_declared_at(&mut self, byte: usize) {
        self.declared_names.insert(byte as u32);
    }

    /// Reads the references in the head of a declaration, unless its names share them; returns the first.
    fn read_references(&mut self, node: Node<'a>, head: &Head<'a>) -> usize {
        if let Some(shared) = &self.shared {
            return shared.references.start;
        }
        let from = self.facts.references.len();
        self.visit_head(node, &head.attributes, head.body);
        from
    }

    /// Visits a declaration up to its body, and attributes that are siblings of it.
    fn visit_head(&mut self, node: Node<'a>, attributes: &[Node<'a>], body: Option<Node<'a>>) {
        let declaring = std::mem::replace(&mut self.declaring, false);
        for attribute in attributes.iter().filter(|it| !contains_node(node, **it)) {
            self.visit(&mut attribute.walk(), *attribute);
        }
        self.visit_before_body(node, body);
        self.declaring = declaring;
    }

    fn visit_before_body(&mut self, node: Node<'a>, body: Option<Node<'a>>) {
        let mut cursor = node.walk();
        let mut more = cursor.goto_first_child();
        while more {
            let child = cursor.node();
            let holds_body = body.is_some_and(|body| child != body && contains_node(child, body));
            if holds_body {
                self.visit_before_body(child, body);
            } else if child.is_named() && Some(child) != body {
                self.visit(&mut cursor, node);
            }
            more = cursor.goto_next_sibling();
        }
    }

    fn fill_header(&mut self, at: u32, head: &Head<'a>, from: usize) {
        let bases: Vec<Node> = head.bases.clone();
        for base in &bases {
            self.mark_as_base(*base, from);
        }
        let signature = head.signature_span(self);
        let mut apart = head.excluded_spans();
        apart.extend(bases.iter().map(|base| node_span(*base)));
        let mut part = self.facts.types[at as usize].clone();
        let parameters = self.parameter_behaviour(&head.parameters, &mut apart);
        part.visibility = head.visibility;
        part.parameters =
            head.type_parameters.map_or_else(String::new, |list| self.join_tokens(node_span(list), &[]));
        part.bases = bases.iter().map(|base| self.shape_of(node_span(*base), from, &[])).collect();
        part.base_references =
            bases.iter().filter_map(|base| self.reference_at(base.start_byte() as u32, from)).collect();
        part.attributes = self.attribute_shapes(head, from);
        part.header = self.shape_of(signature, from, &apart);
        if !parameters.is_empty() {
            part.header_behaviour = Digest::of_bytes(&parameters);
        }
        let shared_name = head.name_node.filter(|_| self.shared.is_some());
        let name_end = shared_name.map(|name| name.end_byte() as u32).or_else(|| head.name_end(self));
        let name_end = name_end.unwrap_or(signature.from);
        let list = head.type_parameters.map_or(name_end, |list| list.end_byte() as u32);
        let shown = Span { from: list.max(name_end), to: signature.to };
        let others: &[Span] = if self.shared.is_some() { &head.excluded } else { &[] };
        part.header_text = self.join_tokens(shown, others);
        if part.kind == TypeKind::Impl {
            part.parameters.clear();
            part.header_text = self.join_tokens(signature, &[]);
        }
        part.doc = self.read_doc(head);
        part.span = Span::new(head.start, head.declaration.end_byte());
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
            self.type_parameters.push(self.node_text(name));
        }
    }

    /// Records that a range, with the comments before it, belongs to a declaration.
    pub(crate) fn claim_range(&mut self, from: usize, to: usize) {
        let from = self.start_with_comments(from);
        self.claimed.push(Span::new(from, to));
    }

    /// Records the range of a type, whose bytes do not count towards its module.
    pub(crate) fn claim_type(&mut self, from: usize, to: usize) {
        self.claim_range(from, to);
        self.type_ranges.extend(self.claimed.last());
    }

    /// Start of the comments before a byte: the end of the last significant token.
    fn start_with_comments(&self, byte: usize) -> usize {
        if let Some(shared) = self.shared.as_ref().filter(|shared| shared.start == byte) {
            return shared.comments;
        }
        let index = self.source.token_index(byte as u32);
        let before = self.source.tokens[..index].iter().rfind(|it| {
            self.budget.spend(1);
            it.kind.is_significant() && it.span.from < it.span.to
        });
        before.map_or(0, |token| token.span.to as usize)
    }

    /// Digest of every byte of a range, without nested types.
    fn raw_digest(&self, from: usize, to: usize, at: u32) -> Digest {
        let nested = self.facts.types[at as usize + 1..].iter().filter(|part| part.outer == Some(at));
        let nested: Vec<Span> = nested.map(|part| part.span).collect();
        self.budget.spend(self.facts.types.len() - at as usize);
        self.digest_spans(&subtract_spans(Span::new(from, to), &[&SortedSpans::new(nested)]))
    }

    fn digest_spans(&self, ranges: &[Span]) -> Digest {
        let mut last = self.last_digest.borrow_mut();
        if last.0 != ranges {
            let texts: Vec<&str> = ranges.iter().map(|range| range.text_in(self.source.text)).collect();
            *last = (ranges.to_vec(), Digest::of_bytes(texts.concat().as_bytes()));
        }
        last.1
    }

    /// Sets the digests of each module: its code that runs on load, and the bytes of its free items.
    fn finish_modules(&mut self) {
        let inner = self.inner_modules();
        let claimed = SortedSpans::new(self.claimed.clone());
        let types = SortedSpans::new(self.type_ranges.clone());
        for (at, inner) in inner.iter().enumerate() {
            let (scope, node) = self.module_nodes[at];
            let mut loads = Vec::new();
            for range in subtract_spans(Walk::load_span(node), &[inner, &claimed]) {
                self.push_tokens(&mut loads, range);
            }
            if !self.budget.spend(1) {
                break;
            }
            self.scope = scope;
            if loads.is_empty() && !self.modules.contains_key(&scope) {
                continue;
            }
            let at = self.module_part() as usize;
            let raw = self.digest_spans(&subtract_spans(node_span(node), &[inner, &types]));
            let doc = self.read_module_doc(node);
            let part = &mut self.facts.types[at];
            part.raw_digest = raw;
            part.doc = doc;
            if !loads.is_empty() {
                part.header_behaviour = Digest::of_bytes(&loads);
            }
        }
        self.scope = 0;
    }

    /// The outermost modules inside of each module that do not begin where it begins.
    fn inner_modules(&self) -> Vec<SortedSpans> {
        let spans: Vec<Span> = self.module_nodes.iter().map(|(_, node)| node_span(*node)).collect();
        let mut order: Vec<usize> = (0..spans.len()).collect();
        // an outer module before what is in it; the file first
        order.sort_by_key(|at| (spans[*at].from, std::cmp::Reverse(spans[*at].to), *at));
        let mut inner = vec![Vec::new(); spans.len()];
        let mut open: Vec<usize> = Vec::new();
        for at in order {
            while open.last().is_some_and(|last| spans[*last].to <= spans[at].from) {
                open.pop();
            }
            // where several begin at one place, each of them has what is in the innermost
            for around in open.iter().rev() {
                if spans[*around].from < spans[at].from {
                    inner[*around].push(spans[at]);
                    let begins_above = |above: &&usize| spans[**above].from == spans[*around].from;
                    let same =
                        open.iter().rev().skip_while(|it| *it != around).skip(1).take_while(begins_above);
                    same.for_each(|above| inner[*above].push(spans[at]));
                    break;
                }
            }
            open.push(at);
        }
        inner.into_iter().map(SortedSpans::new).collect()
    }

    /// The part of a module that runs on load: the whole file, or the body of a nested module.
    fn load_span(node: Node<'a>) -> Span {
        let Some(body) = node.child_by_field_name("body") else { return node_span(node) };
        // in Ruby, a body has no braces
        let brace = usize::from(body.child(0).is_some_and(|first| first.kind() == "{"));
        Span::new(body.start_byte() + brace, body.end_byte().saturating_sub(brace))
    }
}

/// Spans in order, each with the end of the longest up to it.
struct SortedSpans {
    spans: Vec<Span>,
    reach: Vec<u32>,
}

impl SortedSpans {
    fn new(mut spans: Vec<Span>) -> SortedSpans {
        spans.sort_unstable();
        let mut longest = 0;
        let reach = |span: &Span| {
            longest = longest.max(span.to);
            longest
        };
        SortedSpans { reach: spans.iter().map(reach).collect(), spans }
    }

    /// Where the spans end that begin before a place.
    fn reach_before(&self, place: u32) -> u32 {
        let next = self.spans.partition_point(|span| span.from < place);
        next.checked_sub(1).map_or(0, |last| self.reach[last])
    }

    /// Where the spans end that cover a place, and where the next one begins.
    fn at(&self, place: u32) -> (u32, u32) {
        let next = self.spans.partition_point(|span| span.from <= place);
        let reach = next.checked_sub(1).map_or(0, |last| self.reach[last]);
        (reach, self.spans.get(next).map_or(u32::MAX, |span| span.from))
    }
}

/// Subtracts spans from a range.
fn subtract_spans(within: Span, without: &[&SortedSpans]) -> Vec<Span> {
    let mut from = within.from;
    let mut kept = Vec::new();
    while from < within.to {
        let covers = without.iter().map(|spans| spans.at(from));
        let (reach, next) = covers.fold((0, u32::MAX), |all, one| (all.0.max(one.0), all.1.min(one.1)));
        if reach > from {
            from = reach;
            continue;
        }
        let to = next.min(within.to);
        kept.push(Span { from, to });
        from = to;
    }
    kept
}

/// The type parameters in scope.
#[derive(Default)]
struct TypeParameters<'a> {
    words: Vec<&'a str>,
    counts: FxHashMap<&'a str, u32>,
}

impl<'a> TypeParameters<'a> {
    fn len(&self) -> usize {
        self.words.len()
    }

    fn push(&mut self, word: &'a str) {
        self.words.push(word);
        *self.counts.entry(word).or_default() += 1;
    }

    fn truncate(&mut self, length: usize) {
        for word in self.words.drain(length..) {
            self.counts.entry(word).and_modify(|count| *count -= 1);
        }
    }

    fn contains(&self, word: &str) -> bool {
        self.counts.get(word).is_some_and(|count| *count > 0)
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
        base_references: Vec::new(),
        extended_type: None,
        attributes: Vec::new(),
        header: Shape::default(),
        header_behaviour: Digest::default(),
        header_text: String::new(),
        has_explicit_layout: false,
        members: Vec::new(),
        declaration_count: 0,
        doc: None,
        span: Span::default(),
        signature: Span::default(),
        raw_digest: Digest::default(),
        degraded: false,
    }
}

pub(crate) fn node_span(node: Node) -> Span {
    Span::new(node.start_byte(), node.end_byte())
}

pub(crate) fn contains_node(outer: Node, inner: Node) -> bool {
    outer.start_byte() <= inner.start_byte() && inner.end_byte() <= outer.end_byte()
}

/// The children with a node kind.
pub(crate) fn children_of_kind<'a>(node: Node<'a>, kind: &str) -> Vec<Node<'a>> {
    let mut cursor = node.walk();
    node.children(&mut cursor).filter(|child| child.kind() == kind).collect()
}

pub(crate) fn child_of_kind<'a>(node: Node<'a>, kind: &str) -> Option<Node<'a>> {
    let mut cursor = node.walk();
    node.children(&mut cursor).find(|child| child.kind() == kind)
}

/// The named children of a node, without comments.
pub(crate) fn named_children_of(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).filter(|it| !it.is_extra()).collect()
}

/// The spans of the other elements of a list: for `c` in `int a, b, c`, that of `a, b, `.
pub(crate) fn other_spans(list: &[Node], one: Node) -> [Span; 2] {
    let from = list.first().map_or(one.start_byte(), Node::start_byte);
    let to = list.last().map_or(one.end_byte(), Node::end_byte);
    [Span::new(from, one.start_byte()), Span::new(one.end_byte(), to)]
}
