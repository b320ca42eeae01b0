//! How each language declares and uses names, as tables over the node kinds of its grammar.
//!
//! Does not know how a table is applied: `occurrences` does.

/// What a name in a field of a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// A member of a type.
    Declares,
    /// A type, function or value; in the body of a function it is local.
    Item(Extent),
    Bind(Extent),
    /// Binds if the node has `:=`, otherwise assigns.
    BindIfDeclared(Extent),
    Parameter,
    TypeParameter,
    Name,
    Member,
    /// A member if the node has this field, otherwise a free name.
    MemberAfter(&'static str),
    /// A member if it is the last name in the node, otherwise a free name.
    LastMember,
    Key,
    Shorthand,
    ShorthandBinding,
    Import,
    Label,
    /// A token of a macro.
    Token,
    Unparsed,
}

impl Rule {
    /// Whether a plain name is a variable here.
    pub(super) fn binds_names(self) -> bool {
        matches!(self, Rule::Bind(_) | Rule::BindIfDeclared(_) | Rule::Parameter)
    }

    /// Whether this applies to the names inside of a pattern as well.
    pub(super) fn binds_patterns(self) -> bool {
        self.binds_names() || matches!(self, Rule::Item(_) | Rule::Key)
    }
}

/// Where a local name is visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// In the whole scope.
    Scope,
    /// In the scope around the declaration, where the declaration is a scope itself.
    Outer,
    /// From the end of the declaration to the end of the scope; a later declaration is another variable.
    After,
    /// The same, but a later declaration in the same scope is the same variable.
    AfterOnce,
    /// From the end of the condition to the end of the branch.
    Condition,
    /// In the function.
    Function,
    /// In the declaration that has these type parameters.
    Declaration,
}

use Extent::{After, AfterOnce, Condition, Outer, Scope};
use Rule::{
    Bind, BindIfDeclared, Declares, Item, Key, Label, LastMember, Member, MemberAfter, Name, Parameter,
    Shorthand, Token, TypeParameter, Unparsed,
};

pub(super) struct NameRules {
    /// Leaves that are names.
    pub(super) names: &'static [&'static str],
    /// Kind of the parent, field (`*` for any), rule; the first row applies.
    pub(super) rows: &'static [(&'static str, &'static str, Rule)],
    /// Patterns: a plain name in one is bound by what contains the pattern.
    pub(super) patterns: &'static [&'static str],
    /// Everything below these names what is imported or exported.
    pub(super) imports: &'static [&'static str],
    pub(super) macros: &'static [&'static str],
    pub(super) scopes: &'static [&'static str],
    pub(super) functions: &'static [&'static str],
    pub(super) type_bodies: &'static [&'static str],
    /// What a condition with a pattern belongs to.
    pub(super) conditions: &'static [&'static str],
    /// What a key belongs to: kind of node, and the field that names it.
    pub(super) key_owners: &'static [(&'static str, &'static str)],
    /// Whether format strings name variables.
    pub(super) captures: bool,
    /// Whether a string in a type is a type.
    pub(super) quoted_types: bool,
    /// Whether a capitalised name in a pattern is a constant or a type rather than a variable.
    pub(super) capitals_are_constants: bool,
}

const DEFAULT: NameRules = NameRules {
    names: &["identifier"],
    rows: &[],
    patterns: &[],
    imports: &[],
    macros: &[],
    scopes: &[],
    functions: &[],
    type_bodies: &[],
    conditions: &[],
    key_owners: &[],
    captures: false,
    quoted_types: false,
    capitals_are_constants: false,
};

impl NameRules {
    pub(super) fn find(&self, parent: &str, field: &str) -> Option<Rule> {
        let row = self.rows.iter().find(|(kind, of, _)| *kind == parent && (*of == field || *of == "*"));
        row.map(|(_, _, rule)| *rule)
    }
}

/// The rule for a kind of leaf where no row applies.
pub(super) fn default_rule(kind: &str) -> Rule {
    match kind {
        "shorthand_property_identifier" => Shorthand,
        "property_identifier" | "field_identifier" => Key,
        "statement_identifier" | "label_name" => Label,
        _ => Name,
    }
}

/// The rules of a language.
pub(super) fn rules_of(language: &str) -> &'static NameRules {
    match language {
        "C#" => &CSHARP,
        "Rust" => &RUST,
        "Python" => &PYTHON,
        "Go" => &GO,
        "Java" => &JAVA,
        "TypeScript" | "JavaScript" => &TYPESCRIPT,
        _ => &DECLARATIONS_ONLY,
    }
}

/// A language that is read at the level of declarations: what binds a name is unknown, so no name has a role.
static DECLARATIONS_ONLY: NameRules = NameRules { names: &[], ..DEFAULT };

static RUST: NameRules = NameRules {
    names: &["identifier", "type_identifier", "field_identifier", "shorthand_field_identifier"],
    rows: &[
        ("function_item", "name", Item(Outer)),
        ("struct_item", "name", Item(Outer)),
        ("enum_item", "name", Item(Outer)),
        ("union_item", "name", Item(Outer)),
        ("trait_item", "name", Item(Outer)),
        ("type_item", "name", Item(Outer)),
        ("const_item", "name", Item(Outer)),
        ("static_item", "name", Item(Outer)),
        ("mod_item", "name", Declares),
        ("macro_definition", "name", Declares),
        ("function_signature_item", "name", Declares),
        ("associated_type", "name", Declares),
        ("enum_variant", "name", Declares),
        ("field_declaration", "name", Declares),
        ("type_parameter", "name", TypeParameter),
        ("const_parameter", "name", TypeParameter),
        ("type_binding", "name", Member),
        ("lifetime", "*", Label),
        ("label", "*", Label),
        ("field_expression", "field", Member),
        ("scoped_identifier", "name", Member),
        ("scoped_type_identifier", "name", Member),
        ("field_initializer", "field", Key),
        ("field_initializer", "value", Name),
        ("shorthand_field_initializer", "*", Shorthand),
        ("field_pattern", "name", Key),
        ("tuple_struct_pattern", "type", Name),
        ("struct_pattern", "type", Name),
        ("range_pattern", "*", Name),
        ("match_pattern", "condition", Name),
        ("let_declaration", "pattern", Bind(After)),
        ("let_condition", "pattern", Bind(Condition)),
        ("for_expression", "pattern", Bind(Scope)),
        ("match_arm", "pattern", Bind(Scope)),
        ("parameter", "pattern", Parameter),
        ("closure_parameters", "*", Parameter),
        ("token_tree", "*", Token),
        ("token_tree_pattern", "*", Unparsed),
        ("token_repetition", "*", Unparsed),
        ("token_repetition_pattern", "*", Unparsed),
    ],
    patterns: &[
        "tuple_pattern",
        "tuple_struct_pattern",
        "struct_pattern",
        "field_pattern",
        "ref_pattern",
        "mut_pattern",
        "reference_pattern",
        "slice_pattern",
        "or_pattern",
        "captured_pattern",
        "match_pattern",
    ],
    imports: &["use_declaration", "extern_crate_declaration"],
    macros: &["token_tree", "macro_definition", "attribute_item", "inner_attribute_item"],
    scopes: &["block", "match_arm", "for_expression", "closure_expression", "function_item"],
    functions: &["function_item", "function_signature_item", "closure_expression"],
    type_bodies: &["impl_item", "trait_item", "mod_item"],
    conditions: &["if_expression", "while_expression", "match_arm"],
    key_owners: &[("struct_expression", "name"), ("struct_pattern", "type")],
    captures: true,
    capitals_are_constants: true,
    ..DEFAULT
};

static GO: NameRules = NameRules {
    names: &["identifier", "type_identifier", "field_identifier", "package_identifier", "label_name"],
    rows: &[
        ("function_declaration", "name", Declares),
        ("method_declaration", "name", Declares),
        ("method_elem", "name", Declares),
        ("field_declaration", "name", Declares),
        ("type_spec", "name", Item(Outer)),
        ("type_alias", "name", Item(Outer)),
        ("const_spec", "name", Item(AfterOnce)),
        ("var_spec", "name", Item(AfterOnce)),
        ("type_parameter_declaration", "name", TypeParameter),
        ("parameter_declaration", "name", Parameter),
        ("variadic_parameter_declaration", "name", Parameter),
        ("short_var_declaration", "left", Bind(AfterOnce)),
        ("range_clause", "left", BindIfDeclared(AfterOnce)),
        ("receive_statement", "left", BindIfDeclared(AfterOnce)),
        ("type_switch_statement", "alias", Bind(Scope)),
        ("selector_expression", "field", Member),
        ("qualified_type", "name", Member),
        ("keyed_element", "key", Key),
        ("package_clause", "*", Label),
        ("label_name", "*", Label),
    ],
    patterns: &["expression_list", "literal_element"],
    imports: &["import_spec"],
    scopes: &[
        "block",
        "if_statement",
        "for_statement",
        "expression_switch_statement",
        "type_switch_statement",
        "expression_case",
        "default_case",
        "type_case",
        "communication_case",
        "func_literal",
        "function_declaration",
        "method_declaration",
    ],
    functions: &[
        "function_declaration",
        "method_declaration",
        "func_literal",
        "function_type",
        "method_elem",
    ],
    key_owners: &[("composite_literal", "type")],
    ..DEFAULT
};

static JAVA: NameRules = NameRules {
    names: &["identifier", "type_identifier"],
    rows: &[
        ("class_declaration", "name", Item(Outer)),
        ("interface_declaration", "name", Item(Outer)),
        ("enum_declaration", "name", Item(Outer)),
        ("record_declaration", "name", Item(Outer)),
        ("annotation_type_declaration", "name", Item(Outer)),
        ("method_declaration", "name", Declares),
        ("constructor_declaration", "name", Declares),
        ("compact_constructor_declaration", "name", Declares),
        ("annotation_type_element_declaration", "name", Declares),
        ("enum_constant", "name", Declares),
        ("variable_declarator", "name", Item(AfterOnce)),
        ("formal_parameter", "name", Parameter),
        ("spread_parameter", "*", Parameter),
        ("catch_formal_parameter", "name", Bind(Scope)),
        ("resource", "name", Bind(Scope)),
        ("enhanced_for_statement", "name", Bind(Scope)),
        ("inferred_parameters", "*", Parameter),
        ("lambda_expression", "parameters", Parameter),
        ("instanceof_expression", "name", Bind(Scope)),
        ("type_pattern", "*", Bind(Scope)),
        ("record_pattern_component", "*", Bind(Scope)),
        ("type_parameter", "*", TypeParameter),
        ("field_access", "field", Member),
        ("method_invocation", "name", MemberAfter("object")),
        ("method_reference", "*", LastMember),
        ("scoped_type_identifier", "*", LastMember),
        ("scoped_identifier", "name", Member),
        ("element_value_pair", "key", Key),
        ("switch_label", "*", Key),
        ("labeled_statement", "*", Label),
        ("break_statement", "*", Label),
        ("continue_statement", "*", Label),
    ],
    imports: &["import_declaration", "package_declaration", "module_declaration"],
    scopes: &[
        "block",
        "constructor_body",
        "for_statement",
        "enhanced_for_statement",
        "try_with_resources_statement",
        "catch_clause",
        "switch_block",
        "switch_block_statement_group",
        "lambda_expression",
        "method_declaration",
        "constructor_declaration",
        "static_initializer",
    ],
    functions: &[
        "method_declaration",
        "constructor_declaration",
        "compact_constructor_declaration",
        "lambda_expression",
        "static_initializer",
    ],
    type_bodies: &["class_body", "interface_body", "enum_body", "annotation_type_body", "record_declaration"],
    key_owners: &[("annotation", "name")],
    ..DEFAULT
};

static TYPESCRIPT: NameRules = NameRules {
    names: &[
        "identifier",
        "type_identifier",
        "property_identifier",
        "shorthand_property_identifier",
        "shorthand_property_identifier_pattern",
        "statement_identifier",
    ],
    rows: &[
        ("function_declaration", "name", Item(Outer)),
        ("generator_function_declaration", "name", Item(Outer)),
        ("function_signature", "name", Item(Outer)),
        ("class_declaration", "name", Item(Outer)),
        ("abstract_class_declaration", "name", Item(Outer)),
        ("interface_declaration", "name", Item(Outer)),
        ("type_alias_declaration", "name", Item(Outer)),
        ("enum_declaration", "name", Item(Outer)),
        ("internal_module", "name", Declares),
        ("module", "name", Declares),
        ("variable_declarator", "name", Item(Scope)),
        ("method_definition", "name", Declares),
        ("public_field_definition", "name", Declares),
        ("method_signature", "name", Declares),
        ("property_signature", "name", Declares),
        ("abstract_method_signature", "name", Declares),
        ("enum_assignment", "name", Declares),
        ("enum_body", "*", Declares),
        ("required_parameter", "pattern", Parameter),
        ("optional_parameter", "pattern", Parameter),
        ("required_parameter", "name", Parameter),
        ("optional_parameter", "name", Parameter),
        ("arrow_function", "parameter", Parameter),
        ("catch_clause", "parameter", Bind(Scope)),
        ("for_in_statement", "left", Bind(Scope)),
        ("function_expression", "name", Unparsed),
        ("class", "name", Unparsed),
        ("type_parameter", "name", TypeParameter),
        ("mapped_type_clause", "name", Unparsed),
        ("infer_type", "*", Unparsed),
        ("index_signature", "name", Label),
        ("member_expression", "property", Member),
        ("nested_type_identifier", "name", Member),
        ("nested_identifier", "property", Member),
        ("pair", "key", Key),
        ("pair", "value", Name),
        ("pair_pattern", "key", Key),
        ("assignment_pattern", "right", Name),
        ("object_assignment_pattern", "right", Name),
        ("jsx_attribute", "*", Key),
        ("export_specifier", "*", Rule::Import),
        ("labeled_statement", "*", Label),
    ],
    patterns: &[
        "object_pattern",
        "array_pattern",
        "pair_pattern",
        "assignment_pattern",
        "object_assignment_pattern",
        "rest_pattern",
    ],
    imports: &["import_statement", "import_alias", "namespace_export"],
    scopes: &[
        "statement_block",
        "for_statement",
        "for_in_statement",
        "catch_clause",
        "switch_body",
        "arrow_function",
        "function_declaration",
        "function_expression",
        "generator_function",
        "generator_function_declaration",
        "method_definition",
        "internal_module",
        "module",
    ],
    functions: &[
        "arrow_function",
        "function_declaration",
        "function_expression",
        "generator_function",
        "generator_function_declaration",
        "method_definition",
        "function_type",
        "constructor_type",
        "method_signature",
        "abstract_method_signature",
        "function_signature",
        "call_signature",
        "construct_signature",
        "class_static_block",
    ],
    type_bodies: &["class_body", "interface_body", "object_type", "enum_body"],
    ..DEFAULT
};

static PYTHON: NameRules = NameRules {
    rows: &[
        ("function_definition", "name", Item(Outer)),
        ("class_definition", "name", Item(Outer)),
        ("assignment", "left", Item(Scope)),
        ("augmented_assignment", "left", Item(Scope)),
        ("named_expression", "name", Unparsed),
        ("for_statement", "left", Item(Scope)),
        ("for_in_clause", "left", Bind(Scope)),
        ("as_pattern_target", "*", Item(Scope)),
        ("default_parameter", "name", Parameter),
        ("typed_default_parameter", "name", Parameter),
        ("typed_parameter", "", Parameter),
        ("parameters", "*", Parameter),
        ("lambda_parameters", "*", Parameter),
        ("global_statement", "*", Unparsed),
        ("nonlocal_statement", "*", Unparsed),
        ("keyword_argument", "name", Key),
        ("keyword_argument", "value", Name),
        ("attribute", "attribute", Member),
        ("attribute", "object", Name),
        ("case_pattern", "*", Unparsed),
        ("keyword_pattern", "*", Unparsed),
        ("subscript", "*", Name),
    ],
    patterns: &[
        "pattern_list",
        "tuple_pattern",
        "list_pattern",
        "list_splat_pattern",
        "dictionary_splat_pattern",
        "expression_list",
        "tuple",
    ],
    imports: &["import_statement", "import_from_statement", "future_import_statement"],
    scopes: &[
        "function_definition",
        "lambda",
        "list_comprehension",
        "set_comprehension",
        "dictionary_comprehension",
        "generator_expression",
    ],
    functions: &["function_definition", "lambda"],
    type_bodies: &["class_definition"],
    key_owners: &[("call", "function")],
    quoted_types: true,
    ..DEFAULT
};

static CSHARP: NameRules = NameRules {
    names: &["identifier", "implicit_parameter"],
    rows: &[
        ("class_declaration", "name", Declares),
        ("struct_declaration", "name", Declares),
        ("interface_declaration", "name", Declares),
        ("enum_declaration", "name", Declares),
        ("record_declaration", "name", Declares),
        ("delegate_declaration", "name", Declares),
        ("method_declaration", "name", Declares),
        ("constructor_declaration", "name", Declares),
        ("destructor_declaration", "name", Declares),
        ("property_declaration", "name", Declares),
        ("event_declaration", "name", Declares),
        ("enum_member_declaration", "name", Declares),
        ("variable_declarator", "name", Item(Scope)),
        ("local_function_statement", "name", Bind(Outer)),
        ("parameter", "name", Parameter),
        ("parameter_list", "name", Parameter),
        ("lambda_expression", "parameters", Parameter),
        ("bracketed_parameter_list", "name", Parameter),
        ("foreach_statement", "left", Bind(Scope)),
        ("catch_declaration", "name", Bind(Scope)),
        ("declaration_expression", "name", Bind(Scope)),
        ("declaration_pattern", "name", Bind(Scope)),
        ("var_pattern", "name", Bind(Scope)),
        ("recursive_pattern", "name", Bind(Scope)),
        ("list_pattern", "name", Bind(Scope)),
        ("parenthesized_variable_designation", "name", Bind(Scope)),
        ("tuple_pattern", "name", Bind(Scope)),
        ("from_clause", "name", Bind(Scope)),
        ("let_clause", "*", Unparsed),
        ("join_clause", "*", Unparsed),
        ("join_into_clause", "*", Unparsed),
        ("query_expression", "*", Unparsed),
        ("type_parameter", "name", TypeParameter),
        ("member_access_expression", "name", Member),
        ("member_binding_expression", "name", Member),
        ("qualified_name", "name", Member),
        ("alias_qualified_name", "name", Member),
        ("explicit_interface_specifier", "*", Name),
        ("argument", "name", Key),
        ("attribute_argument", "name", Key),
        ("subpattern", "*", Key),
        ("with_initializer", "*", Key),
        ("anonymous_object_creation_expression", "*", Unparsed),
        ("tuple_element", "name", Unparsed),
        ("namespace_declaration", "name", Label),
        ("file_scoped_namespace_declaration", "name", Label),
        ("labeled_statement", "*", Label),
        ("extern_alias_directive", "name", Label),
    ],
    patterns: &["generic_name"],
    imports: &["using_directive"],
    scopes: &[
        "block",
        "for_statement",
        "foreach_statement",
        "using_statement",
        "fixed_statement",
        "catch_clause",
        "switch_section",
        "switch_expression_arm",
        "lambda_expression",
        "anonymous_method_expression",
        "local_function_statement",
        "method_declaration",
        "constructor_declaration",
        "property_declaration",
        "accessor_declaration",
        "operator_declaration",
        "query_expression",
    ],
    functions: &[
        "method_declaration",
        "constructor_declaration",
        "destructor_declaration",
        "operator_declaration",
        "conversion_operator_declaration",
        "lambda_expression",
        "anonymous_method_expression",
        "local_function_statement",
        "delegate_declaration",
        "accessor_declaration",
        "indexer_declaration",
        "property_declaration",
        "global_statement",
    ],
    type_bodies: &["declaration_list"],
    key_owners: &[
        ("invocation_expression", "function"),
        ("object_creation_expression", "type"),
        ("attribute", "name"),
    ],
    ..DEFAULT
};
