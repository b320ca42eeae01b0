//! `#[derive(Operation)]` and `#[derive(Params)]`: a request struct is the only place where its parameters are described.
//!
//! Generates constants and two functions that give the field at a position; what reads, writes, documents and checks parameters is plain
//! code over the constants, in `loci-api`. Mistakes of a programmer (no doc comment, an unknown word, a default of the wrong type) are
//! errors of the compiler at the field.

mod attributes;

use attributes::{Field, Header};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::{Data, DeriveInput, Error, Fields};

/// The row of an operation, its defaults and its fields.
///
/// `#[operation(name = "…", command = "…", answer = "…", example = "…", returns = Type)]`, and `read_only`, `local`, `daemon`, `page`,
/// `unmaskable`, `check`, `rows("…")`, `stats("…")`, `second = "…"`, `confirm("why", "question")`, `phrase = Typed`,
/// `words(InTurn, "VALUE", "help", into("a", "b"))`. Of a field: see [`macro@Params`].
#[proc_macro_derive(Operation, attributes(operation, param))]
pub fn derive_operation(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    expand(input, |input, fields| {
        let header = Header::parse(input)?;
        let (name, row) = (&input.ident, operation_row(&header, fields)?);
        let returns = &header.returns;
        let check = header.check.then(|| quote!(self.check()?;));
        Ok(quote! {
            impl crate::operation::Request for #name {
                const OPERATION: &'static crate::operation::Operation = &#row;
                type Response = #returns;

                fn check_params(&self) -> Result<(), crate::Error> {
                    crate::params::check(self, Self::OPERATION.params, Self::OPERATION.example)?;
                    #check
                    Ok(())
                }
            }
        })
    })
}

/// The table of parameters, their defaults and fields, without an operation.
///
/// The doc comment of a field is its help. `#[param(value = "N")]` is the placeholder, and `default = 20`, `name = "…"`, `choice = WORDS`,
/// `texts` (commas belong to a value), `range = 1..=9`, `required = "what"`, `program`, `spelled = TABLE`, `check = check_time` (of each text), `like = PARAM` (described once for
/// several requests), `word` (the positional argument), `flag(…)` (a short way to give it).
#[proc_macro_derive(Params, attributes(param))]
pub fn derive_params(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    expand(input, |input, fields| {
        let (name, rows) = (&input.ident, param_rows(fields));
        Ok(quote! {
            impl #name {
                pub const PARAMS: &'static [crate::params::Param] = &[#(#rows),*];
            }
        })
    })
}

fn expand(
    input: proc_macro::TokenStream,
    more: impl Fn(&DeriveInput, &[Field]) -> syn::Result<TokenStream>,
) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    let expanded = read_fields(&input).and_then(|fields| {
        let (more, shared) = (more(&input, &fields)?, field_access(&input.ident, &fields));
        Ok(quote!(#shared #more))
    });
    expanded.unwrap_or_else(|error| error.to_compile_error()).into()
}

fn read_fields(input: &DeriveInput) -> syn::Result<Vec<Field>> {
    match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => fields.named.iter().map(Field::parse).collect(),
            Fields::Unit => Ok(Vec::new()),
            Fields::Unnamed(_) => Err(Error::new_spanned(&input.ident, "a request has named fields")),
        },
        _ => Err(Error::new_spanned(&input.ident, "a request is a struct")),
    }
}

/// Its defaults, and the fields by position.
fn field_access(name: &Ident, fields: &[Field]) -> TokenStream {
    let idents: Vec<&Ident> = fields.iter().map(|field| &field.ident).collect();
    let defaults = fields.iter().map(Field::default_value);
    let positions: Vec<usize> = (0..fields.len()).collect();
    quote! {
        impl Default for #name {
            fn default() -> Self {
                Self { #(#idents: #defaults),* }
            }
        }

        impl crate::fields::Fields for #name {
            fn field(&self, position: usize) -> &dyn crate::fields::Value {
                match position {
                    #(#positions => &self.#idents,)*
                    _ => unreachable!("a parameter has a field"),
                }
            }

            fn field_mut(&mut self, position: usize) -> &mut dyn crate::fields::Value {
                match position {
                    #(#positions => &mut self.#idents,)*
                    _ => unreachable!("a parameter has a field"),
                }
            }
        }
    }
}

fn param_rows(fields: &[Field]) -> Vec<TokenStream> {
    fields.iter().map(Field::row).collect()
}

fn operation_row(header: &Header, fields: &[Field]) -> syn::Result<TokenStream> {
    let Header { name, command, about, answer, example, rows, stats, .. } = header;
    let params = param_rows(fields);
    let required = fields.iter().filter(|field| field.required.is_some()).map(|field| &field.name);
    let words = words_row(header, fields)?;
    let flags = fields.iter().flat_map(|field| field.flags.iter().map(|flag| flag.row(&field.name)));
    let facts = header.facts.iter().map(|fact| format_ident!("{fact}"));
    let confirm =
        option(header.confirm.as_ref().map(
            |(why, question)| quote!(crate::operation::Confirmation { why: #why, question: #question }),
        ));
    let second_name = option(header.second.as_ref().map(|second| quote!(#second)));
    let phrase = header.phrase.clone().unwrap_or_else(|| format_ident!("None"));
    Ok(quote! {
        crate::operation::Operation {
            name: #name,
            command: #command,
            about: #about,
            answer: #answer,
            example: #example,
            words: #words,
            params: &[#(#params),*],
            required: &[#(#required),*],
            handy: &[#(#flags),*],
            rows: &[#(#rows),*],
            stats: &[#(#stats),*],
            confirm: #confirm,
            second_name: #second_name,
            phrase: crate::operation::Phrase::#phrase,
            #(#facts: true,)*
            ..crate::operation::Operation::EMPTY
        }
    })
}

/// The positional arguments: those of the header, or the field that is marked as `word`.
fn words_row(header: &Header, fields: &[Field]) -> syn::Result<TokenStream> {
    if let Some(words) = &header.words {
        let unknown = words.into.iter().find(|into| fields.iter().all(|field| field.name != into.value()));
        if let Some(unknown) = unknown {
            return Err(Error::new_spanned(unknown, "no parameter has this name"));
        }
        return Ok(option(Some(words.row())));
    }
    Ok(option(fields.iter().find(|field| field.word).map(Field::word_row)))
}

fn option(value: Option<TokenStream>) -> TokenStream {
    value.map_or_else(|| quote!(None), |value| quote!(Some(#value)))
}
