//! Questions about the code base: the tree is read as it is now, and the answer says how much of it was understood.
//!
//! Keeps nothing between two questions: what is cached can be wrong, what is read is not.

use crate::{Service, scope};
use api::code::{
    CodeGraph, Coverage, Drawn, FindUsages, GetOutline, Meant, Outlined, ResolveSymbol, SearchSymbols,
    SymbolRef, Usage, Used,
};
use api::{Code, Error, Request};
use code::{
    Certainty, Codebase, FORMS, Field, Filter, Fit, Graph, Names, Outliner, Resolver, Symbol, count_tokens,
    is_prefix, wild,
};
use std::path::PathBuf;

/// A tree that was read for one question.
struct Desk {
    root: PathBuf,
    code: Codebase,
    /// What could not be read, and why.
    unread: Vec<String>,
}

impl Desk {
    fn open(service: &Service, root: Option<&String>) -> Result<Desk, Error> {
        let root = match root {
            Some(named) => scope::real(&service.cwd.join(named)),
            None => scope::enclosing(&service.cwd),
        };
        let layout = code::discover(&root).map_err(|error| {
            Error::new(Code::NotFound, error.to_string()).hint("--root names the source tree")
        })?;
        let (code, mut unread) = code::read_tree(&root, &layout, service.threads);
        unread.extend(layout.problems);
        if code.types.is_empty() {
            let known: Vec<&str> = code::LANGUAGES.iter().map(|language| language.name).collect();
            return Err(Error::new(Code::NotFound, format!("no source was found below {}", root.display()))
                .hint(format!("languages that are read: {}", known.join(", ")))
                .hint("--root names the source tree"));
        }
        Ok(Desk { root, code, unread })
    }

    fn code(&self) -> &Codebase {
        &self.code
    }

    fn coverage(&self) -> Coverage {
        Coverage {
            files: self.code().files.len() as u64,
            with_gaps: self.code.files.iter().filter(|file| !file.facts.gaps.is_empty()).count() as u64,
            unread: self.unread.iter().take(5).cloned().collect(),
        }
    }

    /// The text of a file, read once more.
    fn text(&self, file: u32) -> String {
        let path = self.root.join(&self.code().files[file as usize].path);
        std::fs::read(path).map_or_else(|_| String::new(), |bytes| code::decode(&bytes).into_owned())
    }

    /// The one symbol that a path or an id means.
    fn one(&self, names: &Names<'_>, path: &str) -> Result<Symbol, Error> {
        let by_id = |of: &usize| path.starts_with("T_") && is_prefix(path, self.code().types[*of].id);
        let mut ids = (0..self.code().types.len()).filter(by_id);
        if let (Some(of), None) = (ids.next(), ids.next()) {
            return Ok(Symbol { of: of as u32, member: None });
        }
        let meant = names.meant(path);
        if let Some(symbol) = meant.resolved {
            return Ok(symbol);
        }
        let listed = meant.candidates.iter().take(8).map(|(symbol, _)| names.full(*symbol));
        let near = meant.candidates.iter().any(|(_, fit)| matches!(fit, Fit::Near(_)));
        let error = if meant.candidates.is_empty() || near {
            Error::new(Code::SymbolNotFound, format!("nothing is called `{path}`"))
        } else {
            Error::new(Code::AmbiguousSymbol, format!("`{path}` may mean {} symbols", meant.candidates.len()))
        };
        let refused = listed.fold(error, Error::hint);
        Err(if meant.candidates.is_empty() {
            refused.hint("`loci code search` finds parts of names")
        } else {
            refused
        })
    }

    fn told(&self, names: &Names<'_>, symbol: Symbol) -> SymbolRef {
        let each = &self.code().types[symbol.of as usize];
        let member = names.member(symbol);
        let (file, span) = match (symbol.member, member) {
            (Some((file, ..)), Some(member)) => (file, member.signature),
            _ => (each.parts[0].0, self.code().part(each.parts[0]).signature),
        };
        SymbolRef {
            path: names.full(symbol),
            type_id: each.id.to_string(),
            member_id: member
                .map(|member| code::MemberId::new(each.id, member.kind, &member.key).to_string()),
            kind: member.map_or(each.kind.name(), |member| member.kind.name()).to_string(),
            access: member.map_or(each.visibility, |member| member.visibility).name().to_string(),
            file: self.code().files[file as usize].path.clone(),
            line: line_of(&self.text(file), span.from as usize),
        }
    }
}

fn line_of(text: &str, at: usize) -> u32 {
    1 + text.get(..at).unwrap_or(text).matches('\n').count() as u32
}

/// Nobody has asked for anything before.
fn never(_: u32) -> u64 {
    0
}

pub(crate) fn get_outline(service: &Service, ask: &GetOutline) -> Result<Outlined, Error> {
    ask.check()?;
    let desk = Desk::open(service, ask.root.as_ref())?;
    let names = Names::new(desk.code(), &never);
    let symbol = desk.one(&names, &ask.path)?;
    let resolver = Resolver::new(desk.code());
    let outliner = Outliner::new(desk.code(), &resolver);
    let each = &desk.code().types[symbol.of as usize];
    let (outline, source) = if let Some(member) = names.member(symbol) {
        let text = desk.text(symbol.member.map_or(0, |at| at.0));
        let outline = outliner.member(symbol.of, &member.key).unwrap_or_default();
        (outline, member.span.of(&text).to_string())
    } else {
        let part = |at: &(u32, u32)| desk.code().part(*at).span.of(&desk.text(at.0)).to_string();
        (outliner.text(symbol.of), each.parts.iter().map(part).collect())
    };
    Ok(Outlined {
        resolved: desk.told(&names, symbol),
        outline_tokens: count_tokens(&outline) as u64,
        source_tokens: count_tokens(&source) as u64,
        outline,
        coverage: desk.coverage(),
    })
}

pub(crate) fn resolve_symbol(service: &Service, ask: &ResolveSymbol) -> Result<Meant, Error> {
    ask.check()?;
    let desk = Desk::open(service, ask.root.as_ref())?;
    let names = Names::new(desk.code(), &never);
    let meant = names.meant(&ask.path);
    let told = |(symbol, _): &(Symbol, Fit)| desk.told(&names, *symbol);
    Ok(Meant {
        resolved: meant.resolved.map(|symbol| desk.told(&names, symbol)),
        nearly: meant.candidates.iter().any(|(_, fit)| matches!(fit, Fit::Near(_))),
        candidates: meant.candidates.iter().map(told).collect(),
        coverage: desk.coverage(),
    })
}

pub(crate) fn search_symbols(service: &Service, ask: &SearchSymbols) -> Result<Meant, Error> {
    ask.check()?;
    let desk = Desk::open(service, ask.root.as_ref())?;
    let names = Names::new(desk.code(), &never);
    let found = names.search(&ask.query, ask.limit as usize);
    let candidates = found.iter().map(|(symbol, _)| desk.told(&names, *symbol)).collect();
    Ok(Meant { resolved: None, candidates, nearly: false, coverage: desk.coverage() })
}

pub(crate) fn find_usages(service: &Service, ask: &FindUsages) -> Result<Used, Error> {
    ask.check()?;
    let desk = Desk::open(service, ask.root.as_ref())?;
    let names = Names::new(desk.code(), &never);
    let symbol = desk.one(&names, &ask.path)?;
    if symbol.member.is_some() {
        return Err(Error::new(Code::InvalidArgument, "usages are known of types, not of members yet")
            .hint(format!("loci code usages {}", desk.code().types[symbol.of as usize].name)));
    }
    let mut used = Used { resolved: desk.told(&names, symbol), coverage: desk.coverage(), ..Used::default() };
    let resolver = Resolver::new(desk.code());
    for file in 0..desk.code().files.len() as u32 {
        mentions(&desk, &resolver, file, symbol.of, ask.max_results, &mut used);
    }
    Ok(used)
}

/// The lines of one file that mention a type.
fn mentions(desk: &Desk, resolver: &Resolver<'_>, file: u32, of: u32, most: u64, used: &mut Used) {
    let source = &desk.code().files[file as usize];
    let mut text = None;
    for reference in &source.facts.references {
        let Some(mention) = resolver.mentions(file, reference).into_iter().find(|mention| mention.to == of)
        else {
            continue;
        };
        used.total += 1;
        if used.usages.len() as u64 >= most {
            continue;
        }
        let text = text.get_or_insert_with(|| desk.text(file));
        let line = line_of(text, reference.at as usize);
        let within = reference.owner.map(|part| source.facts.types[part as usize].name.clone());
        let certainty = if mention.certainty == Certainty::Certain { "certain" } else { "likely" };
        used.usages.push(Usage {
            file: source.path.clone(),
            line,
            text: text.lines().nth(line as usize - 1).unwrap_or_default().trim().chars().take(200).collect(),
            within,
            certainty: certainty.to_string(),
        });
    }
}

pub(crate) fn code_graph(service: &Service, ask: &CodeGraph) -> Result<Drawn, Error> {
    ask.check()?;
    let filter = Filter::parse(&ask.filter).map_err(|error| {
        Error::new(Code::InvalidFilter, "the filter cannot be read").hint(error.to_string())
    })?;
    let desk = Desk::open(service, ask.root.as_ref())?;
    let (code, resolver) = (desk.code(), Resolver::new(desk.code()));
    let graph = Graph::new(code.types.len(), &resolver.edges());
    let holds = |of: &u32| filter.holds(&|field, word| fits(code, &graph, *of, field, word));
    let of: Vec<u32> = (0..code.types.len() as u32).filter(holds).collect();
    let form = FORMS.iter().find(|(_, name)| *name == ask.form).map_or(FORMS[0].0, |(form, _)| *form);
    let name = |of: u32| code.types[of as usize].name.clone();
    let picture = code::picture(&graph, &of, &name, form);
    Ok(Drawn { types: of.len() as u64, picture, coverage: desk.coverage() })
}

/// Whether a word of a filter fits a type.
fn fits(code: &Codebase, graph: &Graph, of: u32, field: Field, word: &str) -> bool {
    let each = &code.types[of as usize];
    let like = |text: &str| wild(word.as_bytes(), text.to_lowercase().as_bytes());
    let simple = |of: u32| code.simple_name(of);
    match field {
        Field::Namespace => like(each.name.rsplit_once('.').map_or("", |(space, _)| space)),
        Field::Type => like(simple(of)) || like(&each.name),
        Field::Access => like(each.visibility.name()),
        Field::Tag => each.parts.iter().any(|(file, _)| like(tag(&code.files[*file as usize]))),
        Field::Depends => {
            graph.uses(of).iter().any(|to| like(simple(*to)) || like(&code.types[*to as usize].name))
        }
    }
}

/// What kind of file it is, in a word.
fn tag(file: &code::SourceFile) -> &'static str {
    let path = file.path.to_lowercase();
    match (file.generated, path.contains("test")) {
        (true, _) => "generated",
        (_, true) => "test",
        _ => "source",
    }
}
