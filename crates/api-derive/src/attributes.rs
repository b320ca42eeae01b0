//! What is written at a request struct and at its fields.
//!
//! Does not know what is generated from the struct.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use syn::meta::ParseNestedMeta;
use syn::parse::Parse;
use syn::punctuated::Punctuated;
use syn::{Attribute, DeriveInput, Error, Expr, ExprLit, ExprRange, Lit, LitStr, Token, Type, parenthesized};

/// Facts of an operation that are either said or not.
const FACTS: &[&str] = &["read_only", "local", "daemon", "page", "unmaskable"];

/// What `#[operation(…)]` says.
pub(crate) struct Header {
    pub(crate) name: LitStr,
    pub(crate) command: LitStr,
    pub(crate) about: String,
    pub(crate) answer: LitStr,
    pub(crate) example: LitStr,
    pub(crate) returns: Type,
    pub(crate) facts: Vec<String>,
    pub(crate) check: bool,
    pub(crate) rows: Vec<LitStr>,
    pub(crate) stats: Vec<LitStr>,
    pub(crate) second: Option<LitStr>,
    pub(crate) confirm: Option<(LitStr, LitStr)>,
    pub(crate) phrase: Option<Ident>,
    pub(crate) words: Option<Words>,
}

/// The positional arguments of a command.
pub(crate) struct Words {
    number: Ident,
    value: LitStr,
    about: LitStr,
    pub(crate) into: Vec<LitStr>,
}

impl Header {
    pub(crate) fn parse(input: &DeriveInput) -> syn::Result<Header> {
        let (mut name, mut command, mut answer, mut example, mut returns) = (None, None, None, None, None);
        let (mut facts, mut check, mut rows, mut stats) = (Vec::new(), false, Vec::new(), Vec::new());
        let (mut second, mut confirm, mut phrase, mut words) = (None, None, None, None);
        for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("operation")) {
            attribute.parse_nested_meta(|meta| {
                let word = meta.path.require_ident()?.to_string();
                match word.as_str() {
                    "name" => name = Some(value(&meta)?),
                    "command" => command = Some(value(&meta)?),
                    "answer" => answer = Some(value(&meta)?),
                    "example" => example = Some(value(&meta)?),
                    "returns" => returns = Some(value(&meta)?),
                    "check" => check = true,
                    "rows" => rows = list(&meta)?,
                    "stats" => stats = list(&meta)?,
                    "second" => second = Some(value(&meta)?),
                    "phrase" => phrase = Some(value(&meta)?),
                    "confirm" => match &list::<LitStr>(&meta)?[..] {
                        [why, question] => confirm = Some((why.clone(), question.clone())),
                        _ => return Err(meta.error("confirm(\"why it asks\", \"the question\")")),
                    },
                    "words" => words = Some(Words::parse(&meta)?),
                    fact if FACTS.contains(&fact) => facts.push(word),
                    _ => return Err(meta.error("unknown attribute of an operation")),
                }
                Ok(())
            })?;
        }
        let missing =
            |what: &str| Error::new_spanned(&input.ident, format!("#[operation({what} = …)] is missing"));
        Ok(Header {
            name: name.ok_or_else(|| missing("name"))?,
            command: command.ok_or_else(|| missing("command"))?,
            about: doc_text(&input.attrs).ok_or_else(|| missing_doc(&input.ident))?,
            answer: answer.ok_or_else(|| missing("answer"))?,
            example: example.ok_or_else(|| missing("example"))?,
            returns: returns.ok_or_else(|| missing("returns"))?,
            facts,
            check,
            rows,
            stats,
            second,
            confirm,
            phrase,
            words,
        })
    }
}

impl Words {
    fn parse(meta: &ParseNestedMeta<'_>) -> syn::Result<Words> {
        let content;
        parenthesized!(content in meta.input);
        let number = content.parse()?;
        content.parse::<Token![,]>()?;
        let value = content.parse()?;
        content.parse::<Token![,]>()?;
        let about = content.parse()?;
        content.parse::<Token![,]>()?;
        content.parse::<Ident>()?; // into
        let names;
        parenthesized!(names in content);
        let into = Punctuated::<LitStr, Token![,]>::parse_terminated(&names)?;
        Ok(Words { number, value, about, into: into.into_iter().collect() })
    }

    pub(crate) fn row(&self) -> TokenStream {
        let Words { number, value, about, into } = self;
        quote!(crate::operation::Positional {
            value: #value, about: #about, into: &[#(#into),*], number: crate::operation::Number::#number,
        })
    }
}

/// A field, which is a parameter.
pub(crate) struct Field {
    pub(crate) ident: Ident,
    ty: Type,
    pub(crate) name: String,
    about: String,
    /// The parameter that describes it, if it is described once for several requests.
    like: Option<Expr>,
    value: Option<LitStr>,
    default: Option<Expr>,
    choice: Option<Expr>,
    texts: bool,
    range: Option<ExprRange>,
    /// What is missing without it.
    pub(crate) required: Option<LitStr>,
    program: bool,
    spelled: Option<Expr>,
    check: Option<Expr>,
    pub(crate) word: bool,
    pub(crate) flags: Vec<Flag>,
}

impl Field {
    pub(crate) fn parse(field: &syn::Field) -> syn::Result<Field> {
        let ident =
            field.ident.clone().ok_or_else(|| Error::new_spanned(field, "a request has named fields"))?;
        let mut parsed = Field {
            name: ident.to_string(),
            ident,
            ty: field.ty.clone(),
            about: String::new(),
            like: None,
            value: None,
            default: None,
            choice: None,
            texts: false,
            range: None,
            required: None,
            program: false,
            spelled: None,
            check: None,
            word: false,
            flags: Vec::new(),
        };
        for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("param")) {
            attribute.parse_nested_meta(|meta| parsed.take(&meta))?;
        }
        match (doc_text(&field.attrs), &parsed.like) {
            // A default with a condition is said in the doc comment.
            (Some(text), None) if text.contains("[default: ") => parsed.about = text,
            (Some(text), None) => parsed.about = text + &parsed.default_note(),
            (None, Some(_)) => {}
            (Some(_), Some(like)) => {
                return Err(Error::new_spanned(like, "this parameter is described elsewhere"));
            }
            (None, None) => return Err(missing_doc(&parsed.ident)),
        }
        Ok(parsed)
    }

    fn take(&mut self, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        match meta.path.require_ident()?.to_string().as_str() {
            "name" => self.name = value::<LitStr>(meta)?.value(),
            "value" => self.value = Some(value(meta)?),
            "default" => self.default = Some(value(meta)?),
            "choice" => self.choice = Some(value(meta)?),
            "texts" => self.texts = true,
            "range" => self.range = Some(value(meta)?),
            "required" => self.required = Some(value(meta)?),
            "program" => self.program = true,
            "spelled" => self.spelled = Some(value(meta)?),
            "like" => self.like = Some(value(meta)?),
            "check" => self.check = Some(value(meta)?),
            "word" => self.word = true,
            "flag" => self.flags.push(Flag::parse(meta)?),
            _ => return Err(meta.error("unknown attribute of a parameter")),
        }
        Ok(())
    }

    pub(crate) fn default_value(&self) -> TokenStream {
        match &self.default {
            Some(text) if literal(text).is_some_and(|lit| matches!(lit, Lit::Str(_))) => quote!(#text.into()),
            Some(value) => value.to_token_stream(),
            None => quote!(Default::default()),
        }
    }

    /// What help says of the default, unless the doc comment says it in its own words.
    fn default_note(&self) -> String {
        let shown = match self.default.as_ref().map(|value| (value, literal(value))) {
            Some((_, Some(Lit::Str(text)))) => text.value(),
            Some((_, Some(lit))) => lit.to_token_stream().to_string(),
            Some((Expr::Path(variant), None)) => {
                let last = variant.path.segments.last().map(|segment| segment.ident.to_string());
                last.unwrap_or_default().to_lowercase()
            }
            _ => return String::new(),
        };
        format!(" [default: {shown}]")
    }

    pub(crate) fn row(&self) -> TokenStream {
        let Field { name, ty, about, program, .. } = self;
        let required = optional(self.required.as_ref());
        if let Some(like) = &self.like {
            return quote!(crate::params::Param { name: #name, required: #required, ..#like });
        }
        let is_true = self
            .default
            .as_ref()
            .and_then(literal)
            .is_some_and(|lit| matches!(lit, Lit::Bool(lit) if lit.value));
        let shape = match (&self.choice, self.texts, is_true) {
            (Some(words), ..) => quote!(crate::Shape::Choice(#words)),
            (_, true, _) => quote!(crate::Shape::Texts),
            (_, _, true) => quote!(crate::Shape::Switch),
            _ => quote!(<#ty as crate::fields::Kind>::SHAPE),
        };
        let value = self
            .value
            .as_ref()
            .map_or_else(|| quote!(<#ty as crate::fields::Kind>::PLACEHOLDER), ToTokens::to_token_stream);
        let check = self.check.as_ref().map_or_else(|| quote!(None), |check| quote!(Some(#check)));
        let range = self
            .range
            .as_ref()
            .map_or_else(|| quote!(None), |ExprRange { start, end, .. }| quote!(Some((#start, #end))));
        let spelled = self.spelled.as_ref().map_or_else(|| quote!(&[]), ToTokens::to_token_stream);
        quote!(crate::params::Param {
            name: #name,
            shape: #shape,
            value: #value,
            about: #about,
            schema: <#ty as crate::fields::Kind>::schema,
            required: #required,
            range: #range,
            program: #program,
            spelled: #spelled,
            check: #check,
        })
    }

    /// The row of the positional argument that fills this parameter alone.
    pub(crate) fn word_row(&self) -> TokenStream {
        let (name, row) = (&self.name, self.row());
        quote!({
            const WORD: crate::params::Param = #row;
            crate::operation::Positional {
                value: WORD.value, about: WORD.about, into: &[#name], number: crate::operation::Number::One,
            }
        })
    }
}

/// A short way to give a parameter: `flag("fuzzy", Is("fuzzy"), "", "help")`.
pub(crate) struct Flag {
    name: LitStr,
    means: Ident,
    word: Option<LitStr>,
    value: LitStr,
    about: LitStr,
}

impl Flag {
    fn parse(meta: &ParseNestedMeta<'_>) -> syn::Result<Flag> {
        let content;
        parenthesized!(content in meta.input);
        let name = content.parse()?;
        content.parse::<Token![,]>()?;
        let means = content.parse()?;
        let mut word = None;
        if content.peek(syn::token::Paren) {
            let inner;
            parenthesized!(inner in content);
            word = Some(inner.parse()?);
        }
        content.parse::<Token![,]>()?;
        let value = content.parse()?;
        content.parse::<Token![,]>()?;
        let about = content.parse()?;
        content.parse::<Option<Token![,]>>()?;
        Ok(Flag { name, means, word, value, about })
    }

    pub(crate) fn row(&self, of: &str) -> TokenStream {
        let Flag { name, means, word, value, about } = self;
        let word = word.as_ref().map(|word| quote!(, #word));
        quote!(crate::operation::ShortFlag {
            flag: #name, value: #value, means: crate::operation::FlagMeaning::#means(#of #word), about: #about,
        })
    }
}

fn value<T: Parse>(meta: &ParseNestedMeta<'_>) -> syn::Result<T> {
    meta.value()?.parse()
}

fn list<T: Parse>(meta: &ParseNestedMeta<'_>) -> syn::Result<Vec<T>> {
    let content;
    parenthesized!(content in meta.input);
    Ok(Punctuated::<T, Token![,]>::parse_terminated(&content)?.into_iter().collect())
}

fn optional(value: Option<&LitStr>) -> TokenStream {
    value.map_or_else(|| quote!(None), |value| quote!(Some(#value)))
}

fn literal(expression: &Expr) -> Option<&Lit> {
    match expression {
        Expr::Lit(ExprLit { lit, .. }) => Some(lit),
        _ => None,
    }
}

fn missing_doc(of: &Ident) -> Error {
    Error::new_spanned(of, "a doc comment is missing: it is the help of every interface")
}

/// The lines of a doc comment as one line.
fn doc_text(attributes: &[Attribute]) -> Option<String> {
    let docs = attributes.iter().filter(|attribute| attribute.path().is_ident("doc"));
    let lines = docs.filter_map(|attribute| match &attribute.meta.require_name_value().ok()?.value {
        Expr::Lit(ExprLit { lit: Lit::Str(line), .. }) => Some(line.value().trim().to_owned()),
        _ => None,
    });
    let text = lines.collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then_some(text)
}
