//! What is known of one file without looking at any other: its namespaces and imports, the types it declares with their members,
//! the names it mentions and has not looked up, and the places it could not be read.
//!
//! Does not know what any name means. References stay unresolved here, so that a change elsewhere never needs this file again.

use crate::digest::Digest;
use crate::token::Span;
use serde::{Deserialize, Serialize};

/// Everything told by one file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileFacts {
    /// The words that paths are made of, each once.
    pub words: Vec<Box<str>>,
    pub paths: Vec<Path>,
    /// The first is the file itself.
    pub scopes: Vec<Scope>,
    pub types: Vec<TypePart>,
    /// In the order of the text.
    pub references: Vec<Reference>,
    /// Types as they are written, each once: what variables and members are declared with.
    pub written: Vec<Written>,
    /// Each after what it is asked of.
    pub uses: Vec<Use>,
    pub gaps: Vec<Gap>,
    pub lines: u32,
    pub bytes: u32,
    /// Whether names of outer namespaces have to be imported.
    pub closed: bool,
    /// Whether names say where in its project the file stands.
    pub placed: bool,
}

impl FileFacts {
    pub fn word(&self, word: u32) -> &str {
        self.words.get(word as usize).map_or("", |word| word)
    }

    pub fn path(&self, reference: &Reference) -> &Path {
        &self.paths[reference.path as usize]
    }
}

/// A name as it is written, `A.B<,>.C`, with how many type arguments each part has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Path {
    /// What stands before `::`; `global` is one like any other.
    pub alias: Option<u32>,
    pub segments: Box<[Segment]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Segment {
    pub word: u32,
    pub arity: u16,
}

/// A stretch of a file in which names are looked up alike: the file, or a block of a namespace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scope {
    pub parent: Option<u32>,
    /// The words of the namespace, from the outermost on; empty for the file.
    pub namespace: Vec<u32>,
    pub imports: Vec<Import>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Import {
    pub kind: ImportKind,
    pub path: u32,
    /// Whether it holds for every file of the project.
    pub global: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ImportKind {
    Namespace,
    Static,
    /// `using X = …`, with the word X.
    Alias(u32),
}

/// A mention of something that may be a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    pub path: u32,
    pub at: u32,
    /// Where the part before the first type argument ends.
    pub until: u32,
    pub scope: u32,
    /// The type in whose declaration it stands.
    pub owner: Option<u32>,
    pub position: Position,
    /// A variable of this name is in sight, whose type has this name too.
    pub veiled: bool,
}

/// A type as it is written. What is no name and no array of something, such as `T*`, is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Written {
    /// None for an array and the two below.
    pub path: Option<u32>,
    /// What it is a list of: its last type argument, or what an array has.
    pub inner: Option<u32>,
    /// Whether that is its only one. A `Dictionary<K, V>` gives a V when indexed, and no V when walked through.
    pub single: bool,
}

impl Written {
    /// `int`, `string`.
    pub const PREDEFINED: Written = Written { path: None, inner: None, single: false };
    /// A type parameter of the type around.
    pub const PARAMETER: Written = Written { path: None, inner: None, single: true };
}

/// A mention of something that may be a member, or be asked for one: 20 bytes, for a million of them in a large code base.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Use {
    pub word: u32,
    pub at: u32,
    pub on: On,
    /// With how many arguments it is called.
    pub called: Option<u8>,
    /// How many type arguments it has.
    pub arity: u8,
}

/// What a member is asked of, as far as the text of the file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum On {
    /// Nothing stands before the name.
    Sight,
    This,
    Base,
    /// `global::`.
    Root,
    /// A value of a type that is written somewhere.
    Written(u32),
    /// What another mention gives.
    Use(u32),
    /// One of those that another mention gives: by walking through them or by waiting for it.
    Element(u32),
    /// The same, by an index.
    Indexed(u32),
    /// A value that no source has declared: a string, a number.
    Outside,
    /// A value that only a compiler knows the type of.
    Unknown,
}

/// How many arguments a member takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Takes {
    pub least: u8,
    /// [`Takes::ANY`] if the last may be repeated.
    pub most: u8,
    /// Whether it may be called as if it were a member of its first parameter's type.
    pub extends: bool,
    /// That type, among those the file has written.
    pub receiver: Option<u32>,
}

impl Takes {
    pub const ANY: u8 = u8::MAX;
}

/// Where a name stands decides how it is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Position {
    Type,
    /// In the list of bases, where the type's own nested types are not in sight.
    Base,
    Attribute,
    /// `A.B` in an expression: any part may be a namespace, a type or a value.
    Value,
    /// The same, and the last part is called.
    Called,
    /// Alone, where both a constant and a type may stand: `nameof(A)`, `case A:`.
    Bare,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum TypeKind {
    Class,
    Struct,
    Interface,
    Enum,
    Delegate,
    Record,
    RecordStruct,
    Union,
    Trait,
    Annotation,
    /// Another name for a type, or a type made from one: Rust's and TypeScript's `type`, Go's `type A int`.
    Alias,
    /// What stands free in a file or package belongs to it.
    Module,
    /// More members for a type that is declared elsewhere: Rust's `impl`, Go's methods.
    Impl,
}

impl TypeKind {
    pub fn name(self) -> &'static str {
        match self {
            TypeKind::Class => "class",
            TypeKind::Struct => "struct",
            TypeKind::Interface => "interface",
            TypeKind::Enum => "enum",
            TypeKind::Delegate => "delegate",
            TypeKind::Record => "record",
            TypeKind::RecordStruct => "record struct",
            TypeKind::Union => "union",
            TypeKind::Trait => "trait",
            TypeKind::Annotation => "annotation",
            TypeKind::Alias => "type",
            TypeKind::Module => "module",
            TypeKind::Impl => "impl",
        }
    }
}

/// From the widest to the narrowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Visibility {
    Public,
    ProtectedInternal,
    Protected,
    Internal,
    /// `pub(crate)`.
    Crate,
    /// Java without a word, Go with a small letter.
    Package,
    /// `pub(super)` and `pub(in path)`.
    Restricted,
    PrivateProtected,
    File,
    Private,
}

impl Visibility {
    pub fn name(self) -> &'static str {
        match self {
            Visibility::Public => "public",
            Visibility::ProtectedInternal => "protected internal",
            Visibility::Protected => "protected",
            Visibility::Internal => "internal",
            Visibility::Crate => "pub(crate)",
            Visibility::Package => "package",
            Visibility::Restricted => "pub(in)",
            Visibility::PrivateProtected => "private protected",
            Visibility::File => "file",
            Visibility::Private => "private",
        }
    }

    /// Whether what is behind it is behaviour that users of the library see.
    pub fn is_open(self) -> bool {
        self <= Visibility::Protected
    }

    /// Whether another type can see it at all.
    pub fn is_seen(self) -> bool {
        self < Visibility::Private
    }
}

/// A type as one declaration of it tells; a partial type has several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TypePart {
    pub name: String,
    pub arity: u16,
    pub kind: TypeKind,
    pub scope: u32,
    pub outer: Option<u32>,
    /// None if the declaration does not say.
    pub visibility: Option<Visibility>,
    /// Without visibility and `partial`, sorted.
    pub modifiers: Vec<String>,
    pub partial: bool,
    /// `<T, U>` as written, empty for a type without.
    pub parameters: String,
    pub bases: Vec<Shape>,
    /// The references among the bases, for who inherits from whom.
    pub base_names: Vec<u32>,
    /// The reference to the type that this adds members to.
    pub extends: Option<u32>,
    pub attributes: Vec<Shape>,
    /// Constraints; the parameters of a primary constructor; what a delegate takes and returns.
    pub header: Shape,
    /// Default values and parameter names of the header.
    pub header_body: Digest,
    /// The header as a reader wants to see it, behind the name.
    pub shown: String,
    /// Whether an attribute says how its fields lie in memory.
    pub says_layout: bool,
    pub members: Vec<Member>,
    /// How many members are declared, `int a, b;` being one.
    pub declared: u32,
    pub doc: Option<Doc>,
    pub span: Span,
    /// From the first modifier to the body.
    pub signature: Span,
    /// Every byte, with the comments before it.
    pub raw: Digest,
    /// Whether a gap lies inside.
    pub degraded: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum MemberKind {
    Field,
    Constant,
    EnumValue,
    Property,
    Indexer,
    Event,
    Constructor,
    Destructor,
    Method,
    Operator,
    /// Of a module, not of a type.
    Function,
    Macro,
    /// A type that a trait leaves open and its implementations name.
    AssociatedType,
}

impl MemberKind {
    pub fn name(self) -> &'static str {
        match self {
            MemberKind::Field => "field",
            MemberKind::Constant => "constant",
            MemberKind::EnumValue => "value",
            MemberKind::Property => "property",
            MemberKind::Indexer => "indexer",
            MemberKind::Event => "event",
            MemberKind::Constructor => "constructor",
            MemberKind::Destructor => "destructor",
            MemberKind::Method => "method",
            MemberKind::Operator => "operator",
            MemberKind::Function => "function",
            MemberKind::Macro => "macro",
            MemberKind::AssociatedType => "type",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Member {
    pub kind: MemberKind,
    pub name: String,
    /// What tells it from the others of its type: name, number of type parameters, types of parameters.
    pub key: String,
    pub visibility: Visibility,
    pub is_static: bool,
    /// Modifiers, attributes and types, and the value of a constant: what a user of the member may rely on.
    pub shape: Shape,
    /// The signature as a reader wants to see it.
    pub shown: String,
    /// The reference that names its type, if that is a plain name.
    pub value_type: Option<u32>,
    /// The type of its value or result, among those the file has written.
    pub gives: Option<u32>,
    pub takes: Takes,
    /// What it does: bodies, initial values, default values and names of parameters.
    pub body: Digest,
    /// The same of accessors that are private in a member that is not.
    pub hidden: Digest,
    pub doc: Option<Doc>,
    pub span: Span,
    pub signature: Span,
    pub body_span: Option<Span>,
}

/// A piece of a declaration in one spelling, whatever its layout was, with a place held open for each name that can be
/// looked up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    text: String,
    names: Vec<u32>,
}

/// Holds a name's place in the text of a shape; no source has this character outside of strings.
const PLACE: char = '\u{1}';

impl Shape {
    pub(crate) fn push(&mut self, token: &str) {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        // a string may hold the character itself
        self.text.extend(token.chars().filter(|c| *c != PLACE && *c != '\r'));
    }

    pub(crate) fn push_name(&mut self, reference: u32) {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        self.text.push(PLACE);
        self.names.push(reference);
    }

    pub(crate) fn append(&mut self, other: &Shape) {
        if !other.text.is_empty() {
            if !self.text.is_empty() {
                self.text.push(' ');
            }
            self.text.push_str(&other.text);
            self.names.extend(&other.names);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub fn names(&self) -> &[u32] {
        &self.names
    }

    /// The text with each name as `name` has it.
    pub fn render(&self, mut name: impl FnMut(u32, &mut String), out: &mut String) {
        let mut names = self.names.iter();
        for piece in self.text.split_inclusive(PLACE) {
            match piece.strip_suffix(PLACE) {
                Some(before) => {
                    out.push_str(before);
                    if let Some(reference) = names.next() {
                        name(*reference, out);
                    }
                }
                None => out.push_str(piece),
            }
        }
    }
}

/// What a comment documents, without its markup's layout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doc {
    /// The first sentence, or line, of the summary.
    pub summary: String,
    pub digest: Digest,
}

/// A place that could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    pub span: Span,
    pub line: u32,
    pub kind: GapKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GapKind {
    /// Text that fits no rule.
    Unexpected,
    /// Something that a rule wants and that is not there.
    Missing,
    /// Nesting beyond what is followed.
    TooDeep,
}
