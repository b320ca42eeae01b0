//! Node kinds by the ID that the grammar assigns: comparing numbers is several times as fast as comparing names, for thirty
//! million nodes.
//!
//! Does not know how a kind is handled.

use std::sync::OnceLock;
use tree_sitter::Node;

macro_rules! kinds {
    ($($name:literal => $kind:ident),* $(,)?) => {
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) enum Kind { Other, $($kind),* }

        fn named(name: &str) -> Kind {
            match name { $($name => Kind::$kind,)* _ => Kind::Other }
        }

        /// Every name above, so that a test can check that the grammar still has them.
        #[cfg(test)]
        const NAMES: &[&str] = &[$($name),*];
    };
}

kinds! {
    "accessor_declaration" => Accessor,
    "accessor_list" => AccessorList,
    "alias_qualified_name" => AliasQualifiedName,
    "anonymous_method_expression" => AnonymousMethod,
    "anonymous_object_creation_expression" => AnonymousObject,
    "argument" => Argument,
    "array_type" => ArrayType,
    "arrow_expression_clause" => Arrow,
    "as_expression" => As,
    "assignment_expression" => Assignment,
    "attribute" => Attribute,
    "attribute_argument" => AttributeArgument,
    "attribute_list" => AttributeList,
    "await_expression" => Await,
    "base_list" => BaseList,
    "binary_expression" => Binary,
    "block" => Block,
    "boolean_literal" => Boolean,
    "bracketed_parameter_list" => BracketedParameterList,
    "cast_expression" => Cast,
    "catch_clause" => Catch,
    "catch_declaration" => CatchDeclaration,
    "character_literal" => Character,
    "checked_expression" => Checked,
    "class_declaration" => Class,
    "comment" => Comment,
    "compilation_unit" => Unit,
    "conditional_access_expression" => ConditionalAccess,
    "conditional_expression" => Conditional,
    "constant_pattern" => ConstantPattern,
    "constructor_declaration" => Constructor,
    "constructor_initializer" => ConstructorInitializer,
    "conversion_operator_declaration" => Conversion,
    "declaration_expression" => DeclarationExpression,
    "declaration_list" => DeclarationList,
    "declaration_pattern" => DeclarationPattern,
    "default_expression" => Default,
    "delegate_declaration" => Delegate,
    "destructor_declaration" => Destructor,
    "element_access_expression" => ElementAccess,
    "enum_declaration" => Enum,
    "enum_member_declaration" => EnumMember,
    "enum_member_declaration_list" => EnumList,
    "event_declaration" => Event,
    "event_field_declaration" => EventField,
    "explicit_interface_specifier" => ExplicitInterface,
    "expression_statement" => ExpressionStatement,
    "field_declaration" => Field,
    "file_scoped_namespace_declaration" => FileNamespace,
    "fixed_statement" => Fixed,
    "for_statement" => For,
    "foreach_statement" => Foreach,
    "from_clause" => From,
    "generic_name" => GenericName,
    "global_attribute" => GlobalAttribute,
    "goto_statement" => Goto,
    "identifier" => Identifier,
    "implicit_object_creation_expression" => ImplicitCreation,
    "implicit_parameter" => ImplicitParameter,
    "indexer_declaration" => Indexer,
    "initializer_expression" => Initializer,
    "integer_literal" => Integer,
    "interface_declaration" => Interface,
    "interpolated_string_expression" => Interpolated,
    "invocation_expression" => Invocation,
    "is_expression" => Is,
    "is_pattern_expression" => IsPattern,
    "join_clause" => Join,
    "join_into_clause" => JoinInto,
    "labeled_statement" => Labeled,
    "lambda_expression" => Lambda,
    "let_clause" => Let,
    "list_pattern" => ListPattern,
    "local_function_statement" => LocalFunction,
    "member_access_expression" => MemberAccess,
    "member_binding_expression" => MemberBinding,
    "method_declaration" => Method,
    "modifier" => Modifier,
    "namespace_declaration" => Namespace,
    "nullable_type" => NullableType,
    "object_creation_expression" => Creation,
    "operator_declaration" => Operator,
    "parameter" => Parameter,
    "parameter_list" => ParameterList,
    "parenthesized_expression" => Parenthesized,
    "parenthesized_variable_designation" => Designation,
    "postfix_unary_expression" => Postfix,
    "predefined_type" => PredefinedType,
    "property_declaration" => Property,
    "property_pattern_clause" => PropertyPattern,
    "qualified_name" => QualifiedName,
    "query_expression" => Query,
    "raw_string_literal" => RawString,
    "real_literal" => Real,
    "record_declaration" => Record,
    "recursive_pattern" => RecursivePattern,
    "ref_type" => RefType,
    "return_statement" => Return,
    "sizeof_expression" => SizeOf,
    "string_literal" => Text,
    "struct_declaration" => Struct,
    "subpattern" => Subpattern,
    "switch_expression_arm" => SwitchArm,
    "switch_section" => SwitchSection,
    "throw_statement" => Throw,
    "tuple_pattern" => TuplePattern,
    "type_argument_list" => TypeArguments,
    "type_parameter" => TypeParameter,
    "type_parameter_constraint" => Constraint,
    "type_parameter_constraints_clause" => Constraints,
    "type_parameter_list" => TypeParameters,
    "typeof_expression" => TypeOf,
    "using_directive" => Using,
    "using_statement" => UsingStatement,
    "var_pattern" => VarPattern,
    "variable_declaration" => VariableDeclaration,
    "variable_declarator" => Declarator,
    "verbatim_string_literal" => VerbatimString,
    "with_expression" => With,
    "with_initializer" => WithInitializer,
}

impl Kind {
    pub(crate) fn of_node(node: Node) -> Kind {
        static TABLE: OnceLock<Vec<Kind>> = OnceLock::new();
        let table = TABLE.get_or_init(|| {
            let grammar: tree_sitter::Language = grammars::c_sharp().into();
            let kind = |id: usize| {
                let id = id as u16;
                grammar
                    .node_kind_for_id(id)
                    .filter(|_| grammar.node_kind_is_named(id))
                    .map_or(Kind::Other, named)
            };
            (0..grammar.node_kind_count()).map(kind).collect()
        });
        table.get(node.kind_id() as usize).copied().unwrap_or(Kind::Other)
    }

    pub(crate) fn is_type(self) -> bool {
        use Kind::{Class, Delegate, Enum, Interface, Record, Struct};
        matches!(self, Class | Delegate | Enum | Interface | Record | Struct)
    }

    pub(crate) fn is_member(self) -> bool {
        use Kind::{
            Constructor, Conversion, Destructor, EnumMember, Event, EventField, Field, Indexer, Method,
            Operator, Property,
        };
        matches!(
            self,
            Constructor
                | Conversion
                | Destructor
                | EnumMember
                | Event
                | EventField
                | Field
                | Indexer
                | Method
                | Operator
                | Property
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grammar_has_every_kind() {
        let grammar: tree_sitter::Language = grammars::c_sharp().into();
        let unknown = |name: &&&str| grammar.id_for_node_kind(name, true) == 0;
        assert_eq!(NAMES.iter().filter(unknown).collect::<Vec<_>>(), Vec::<&&str>::new());
    }
}
