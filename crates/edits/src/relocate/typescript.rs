//! Moves an exported or private declaration of a TypeScript or JavaScript module to another module: imports and re-exports of it
//! follow, its own imports go with it.
//!
//! Does not follow uses through a namespace (`module.name`) or a default export, and does not close a cycle of imports of values:
//! these are listed as unsure.

use super::import_graph::ImportGraph;
use super::{Draft, Moved, append_at_end, cut_item, folder_of};
use crate::error::EditError;
use crate::shape::Nodes;
use crate::sources::language_family;
use crate::text::whole_lines;
use crate::tree::Tree;
use syntax::{Role, Span};

/// An import or a re-export.
struct Statement {
    span: Span,
    source: String,
    source_span: Span,
    items: Vec<Item>,
    is_export: bool,
    /// `import type` or `export type`.
    is_type: bool,
    /// `export *` without a name.
    is_star: bool,
}

/// A name that an import brings, as written: `a`, `type a as b`, `* as a`, or a default.
struct Item {
    written: String,
    /// The name in the other module; `*` or `default` for these.
    name: String,
    bound: String,
    span: Span,
    name_span: Span,
    is_type: bool,
}

pub(super) fn plan(moved: &Moved<'_>, draft: &mut Draft) -> Result<(), EditError> {
    let declared = declaration_of(&moved.nodes, moved.item);
    let kind = moved.nodes.get(declared).kind;
    let is_type = matches!(kind, "interface_declaration" | "type_alias_declaration");
    let is_single = || {
        moved.nodes.children(declared).filter(|it| moved.nodes.get(*it).kind == "variable_declarator").count()
            == 1
    };
    let is_known = is_type
        || matches!(
            kind,
            "function_declaration"
                | "class_declaration"
                | "abstract_class_declaration"
                | "enum_declaration"
                | "generator_function_declaration"
        )
        || kind == "lexical_declaration" && is_single();
    if !is_known {
        return moved.refuse("only a declaration with one name at the top of a module can be moved");
    }
    let text = moved.text()?;
    let head = Span { from: moved.nodes.get(moved.item).span.from, to: moved.nodes.get(declared).span.from }
        .text_in(text);
    if head.contains("default") || head.contains("declare") {
        return moved.refuse("a default export or an ambient declaration cannot be moved");
    }
    if declared_names(&moved.nodes, text).iter().filter(|(name, _)| name == moved.name).count() > 1 {
        return moved.refuse("its module declares the name twice");
    }
    let is_exported = moved.item_kind() == "export_statement";
    draft.follows_uses = true;
    let mut graph = read_graph(moved.tree)?;
    let mut mover = ScriptMove { moved, draft, is_type, is_exported, graph: &mut graph };
    let rest_needs = mover.follow_uses()?;
    let needed = mover.needed_imports()?;
    if rest_needs {
        mover.import_into_source()?;
    }
    mover.place(&needed, rest_needs)?;
    mover.check_cycles()
}

/// The declaration in an `export`.
fn declaration_of(nodes: &Nodes, item: u32) -> u32 {
    nodes.child(item, "declaration").filter(|_| nodes.get(item).kind == "export_statement").unwrap_or(item)
}

struct ScriptMove<'a, 'b> {
    moved: &'a Moved<'b>,
    draft: &'a mut Draft,
    /// Whether it exists only for the compiler.
    is_type: bool,
    is_exported: bool,
    graph: &'a mut ImportGraph,
}

impl ScriptMove<'_, '_> {
    // ---- uses

    fn follow_uses(&mut self) -> Result<bool, EditError> {
        let moved = self.moved;
        let mut rest_needs = false;
        for (path, span) in moved.uses() {
            let role = moved.role_at(path, span, moved.name)?;
            match role {
                Some(Role::Import) if path == moved.from => {
                    self.draft.doubt(moved, (path, span.from), "exported in a list", false)?;
                }
                Some(Role::Import) => self.follow_import(path, span)?,
                Some(Role::Name | Role::Capture | Role::Shorthand) => rest_needs |= path == moved.from,
                _ => self.draft.doubt(moved, (path, span.from), "used through its module", false)?,
            }
        }
        if self.is_exported {
            self.follow_stars()?;
        }
        Ok(rest_needs)
    }

    fn follow_import(&mut self, path: &str, span: Span) -> Result<(), EditError> {
        let moved = self.moved;
        let Some(file) = moved.tree.file_number(path) else { return Ok(()) };
        let text = &moved.tree.text(path)?.text;
        let statements = read_statements(&moved.tree.nodes(file)?, text);
        let statement = statements.iter().find(|it| it.span.from <= span.from && span.to <= it.span.to);
        let Some(statement) = statement.filter(|it| !it.source.is_empty()) else {
            // an export list of a name that the file imports itself
            return Ok(());
        };
        if resolve(moved.tree, path, &statement.source) != Some(moved.file) {
            return Ok(());
        }
        let at = statement.items.iter().position(|it| it.name_span == span);
        if at.is_none() && statement.items.iter().any(|it| it.span.from < span.from && span.to == it.span.to)
        {
            // `get as get`: the first of them is followed
            return Ok(());
        }
        let Some(at) = at else {
            return self.draft.doubt(moved, (path, span.from), "an import that is not understood", false);
        };
        let item = &statement.items[at];
        if path == moved.to {
            if item.bound != item.name || statement.is_export {
                return self.draft.doubt(moved, (path, span.from), "imported under another name", false);
            }
            return self.cut(path, statement, at);
        }
        if !self.is_type
            && !statement.is_type
            && !item.is_type
            && let Some(to) = moved.to_file
        {
            self.graph.add(file, to);
        }
        let specifier = specifier_for(path, moved.to, &statement.source);
        if let [_] = statement.items.as_slice() {
            self.draft.replace(path, statement.source_span, specifier);
        } else {
            let word = if statement.is_export { "export" } else { "import" };
            let word = if statement.is_type { format!("{word} type") } else { word.to_owned() };
            let end = if statement.span.text_in(text).ends_with(';') { ";" } else { "" };
            let quote = quote_of(text, statement);
            let line = format!("{word} {{ {} }} from {quote}{specifier}{quote}{end}\n", item.written);
            self.draft.insert(path, whole_lines(text, statement.span).to, line);
            self.cut(path, statement, at)?;
        }
        Ok(())
    }

    fn cut(&mut self, path: &str, statement: &Statement, at: usize) -> Result<(), EditError> {
        let names: Vec<Span> = statement.items.iter().map(|it| it.span).collect();
        self.draft.cut_import(self.moved, (path, statement.span), &names, at)
    }

    /// A file that exports everything of its module now exports the declaration by name.
    fn follow_stars(&mut self) -> Result<(), EditError> {
        let moved = self.moved;
        for (number, file) in moved.tree.code.files.iter().enumerate() {
            if language_family(&file.path) != "TypeScript" {
                continue;
            }
            let text = &moved.tree.text(&file.path)?.text;
            if !text.contains('*') {
                continue;
            }
            let statements = read_statements(&moved.tree.nodes(number as u32)?, text);
            let is_of = |it: &&Statement, of: Option<u32>| {
                it.is_star && of.is_some() && resolve(moved.tree, &file.path, &it.source) == of
            };
            let is_namespace = |it: &&Statement| {
                let has_star = it.items.iter().any(|it| it.name == "*");
                has_star && resolve(moved.tree, &file.path, &it.source) == Some(moved.file)
            };
            for it in statements.iter().filter(is_namespace) {
                let at = (file.path.as_str(), it.span.from);
                self.draft.doubt(moved, at, "takes its module as one value", false)?;
            }
            let Some(star) = statements.iter().find(|it| is_of(it, Some(moved.file))) else { continue };
            if file.path == moved.to {
                self.draft.doubt(
                    moved,
                    (&file.path, star.span.from),
                    "exports everything of its module",
                    false,
                )?;
                continue;
            }
            if statements.iter().any(|it| is_of(&it, moved.to_file)) {
                continue;
            }
            let word = if self.is_type { "export type" } else { "export" };
            let (quote, specifier) =
                (quote_of(text, star), specifier_for(&file.path, moved.to, &star.source));
            let end = if star.span.text_in(text).ends_with(';') { ";" } else { "" };
            let line = format!("{word} {{ {} }} from {quote}{specifier}{quote}{end}\n", moved.name);
            let lines = whole_lines(text, star.span);
            let line = if text[..lines.to as usize].ends_with('\n') {
                line
            } else {
                format!("\n{}", line.trim_end())
            };
            self.draft.insert(&file.path, lines.to, line);
            if !self.is_type
                && let Some(to) = moved.to_file
            {
                self.graph.add(number as u32, to);
            }
        }
        Ok(())
    }

    fn import_into_source(&mut self) -> Result<(), EditError> {
        let moved = self.moved;
        let text = moved.text()?;
        let statements = read_statements(&moved.nodes, text);
        let line = import_line(moved.tree, (moved.from, moved.to), moved.name, self.is_type)?;
        let at = import_place(&moved.nodes, &statements, text);
        if at > moved.nodes.get(moved.item).span.from {
            return moved.refuse("its module imports something after it");
        }
        self.draft.insert(moved.from, at, line);
        if !self.is_type
            && let Some(to) = moved.to_file
        {
            self.graph.add(moved.file, to);
        }
        Ok(())
    }

    // ---- what it needs

    fn needed_imports(&mut self) -> Result<Vec<String>, EditError> {
        let moved = self.moved;
        let text = moved.text()?;
        let statements = read_statements(&moved.nodes, text);
        let bound = self.names_of_target()?;
        let mut needed = Vec::new();
        for statement in statements.iter().filter(|it| !it.is_export) {
            for item in &statement.items {
                if !moved.mentions(&item.bound)? {
                    continue;
                }
                let origin = resolve(moved.tree, moved.from, &statement.source);
                let same = |(name, module, source): &&(String, String, Option<u32>)| {
                    *name == item.bound && (*source, module.as_str()) == (origin, item.name.as_str())
                };
                let is_there = origin.is_some() && origin == moved.to_file && item.name == item.bound;
                if is_there || bound.iter().any(|it| same(&it)) {
                    continue;
                }
                if bound.iter().any(|(name, ..)| *name == item.bound) {
                    return self.moved.captured(&item.bound);
                }
                needed.push(self.carry(statement, item, origin, text)?);
            }
            self.drop_unused(statement, text)?;
        }
        let mut declared = declared_names(&moved.nodes, text);
        declared.dedup_by(|one, other| one.0 == other.0);
        for (name, is_exported) in declared {
            if name == moved.name || !moved.mentions(&name)? {
                continue;
            }
            if bound.iter().any(|(known, ..)| *known == name) {
                return self.moved.captured(&name);
            }
            if !is_exported {
                return moved.refuse(format!("it uses `{name}`, which its module does not export"));
            }
            needed.push(import_line(moved.tree, (moved.to, moved.from), &name, self.is_type)?);
            if self.is_type {
                continue;
            }
            match moved.to_file {
                Some(to) => self.graph.add(to, moved.file),
                None if moved.uses().any(|(path, _)| path == moved.from) => {
                    let at = moved.nodes.get(moved.item).span.from;
                    self.draft.doubt(
                        moved,
                        (moved.from, at),
                        "the two modules would import each other",
                        false,
                    )?;
                }
                None => {}
            }
        }
        if bound.iter().any(|(name, _, source)| name == moved.name && *source != Some(moved.file)) {
            return self.moved.captured(moved.name);
        }
        Ok(needed)
    }

    /// An import of its module as the other module writes it.
    fn carry(
        &mut self,
        statement: &Statement,
        item: &Item,
        origin: Option<u32>,
        text: &str,
    ) -> Result<String, EditError> {
        let moved = self.moved;
        let source = match origin {
            Some(file) => specifier_for(moved.to, moved.tree.path(file), &statement.source),
            None if statement.source.starts_with('.') && folder_of(moved.from) != folder_of(moved.to) => {
                return moved.refuse(format!("`{}` is not a module of the tree", statement.source));
            }
            None => statement.source.clone(),
        };
        if !statement.is_type
            && !item.is_type
            && let (Some(to), Some(file)) = (moved.to_file, origin)
        {
            self.graph.add(to, file);
        }
        let word = if statement.is_type { "import type" } else { "import" };
        let name = match item.name.as_str() {
            "*" | "default" => item.written.clone(),
            _ => format!("{{ {} }}", item.written),
        };
        let quote = quote_of(text, statement);
        let end = if statement.span.text_in(text).ends_with(';') { ";" } else { "" };
        Ok(format!("{word} {name} from {quote}{source}{quote}{end}\n"))
    }

    /// Removes the imports that nothing else in its module uses: compilers may refuse them.
    fn drop_unused(&mut self, statement: &Statement, text: &str) -> Result<(), EditError> {
        let moved = self.moved;
        let mut unused = Vec::new();
        for (at, item) in statement.items.iter().enumerate() {
            let used = moved.rest_mentions_outside(&item.bound, statement.span)?;
            if moved.mentions(&item.bound)? && !used {
                unused.push(at);
            }
        }
        match unused.as_slice() {
            [] => {}
            all if all.len() == statement.items.len() => {
                self.draft.replace(moved.from, whole_lines(text, statement.span), "");
            }
            [one] if statement.items.iter().all(|it| it.name != "*" && it.name != "default") => {
                let spans: Vec<Span> = statement.items.iter().map(|it| it.span).collect();
                self.draft.replace(moved.from, cut_item(&spans, *one), "");
            }
            // several names of one list stay: unused imports are errors only where a project says so
            _ => self.draft.doubt(
                moved,
                (moved.from, statement.span.from),
                "may be unused afterwards",
                true,
            )?,
        }
        Ok(())
    }

    /// The names of the other module: bound name, name in the module it comes from, and that module.
    fn names_of_target(&self) -> Result<Vec<(String, String, Option<u32>)>, EditError> {
        let moved = self.moved;
        let Some(file) = moved.to_file else { return Ok(Vec::new()) };
        let (text, nodes) = (moved.target_text()?, moved.tree.nodes(file)?);
        let mut found: Vec<(String, String, Option<u32>)> =
            declared_names(&nodes, text).into_iter().map(|(name, _)| (name, String::new(), None)).collect();
        for statement in read_statements(&nodes, text).iter().filter(|it| !it.is_export) {
            let source = resolve(moved.tree, moved.to, &statement.source);
            found.extend(statement.items.iter().map(|it| (it.bound.clone(), it.name.clone(), source)));
        }
        Ok(found)
    }

    // ---- the result

    fn place(&mut self, needed: &[String], rest_needs: bool) -> Result<(), EditError> {
        let moved = self.moved;
        let cut = moved.removal()?;
        self.draft.replace(moved.from, Span { from: cut.from, to: cut.to }, "");
        let mut declaration = moved.moved_text()?;
        if rest_needs && !self.is_exported {
            let own = moved.nodes.get(moved.item).span.from - cut.from;
            let lead = Span { from: cut.from, to: cut.from + own }
                .text_in(moved.text()?)
                .trim_start_matches(['\n', '\r']);
            declaration.insert_str(lead.replace("\r\n", "\n").len(), "export ");
        }
        let imports = needed.concat();
        let Some(file) = moved.to_file else {
            let gap = if imports.is_empty() { "" } else { "\n" };
            self.draft.insert(moved.to, 0, format!("{imports}{gap}{declaration}\n"));
            return Ok(());
        };
        let (text, nodes) = (moved.target_text()?, moved.tree.nodes(file)?);
        if !imports.is_empty() {
            self.draft.insert(moved.to, import_place(&nodes, &read_statements(&nodes, text), text), imports);
        }
        let (at, new) = append_at_end(text, &declaration, 1);
        self.draft.insert(moved.to, at, new);
        Ok(())
    }

    fn check_cycles(&mut self) -> Result<(), EditError> {
        let Some((from, to)) = self.graph.new_cycle() else { return Ok(()) };
        let reason =
            format!("importing {} from here would close a cycle of imports", self.moved.tree.path(to));
        let path = self.moved.tree.path(from).to_owned();
        self.draft.doubt(self.moved, (&path, 0), reason, false)
    }
}

impl Moved<'_> {
    /// Whether the rest of its file, without an import, uses a name.
    fn rest_mentions_outside(&self, name: &str, import: Span) -> Result<bool, EditError> {
        let found = self.tree.occurrences(self.file, name)?;
        let is_in_import = |span: Span| import.from <= span.from && span.to <= import.to;
        let is_text = |role: Role| matches!(role, Role::Comment | Role::Text | Role::Label | Role::Member);
        Ok(found.all.iter().any(|it| !self.is_inside(it.span) && !is_in_import(it.span) && !is_text(it.role)))
    }
}

// ---- modules

const ENDINGS: &[&str] = &[".ts", ".tsx", ".mts", ".cts", ".d.ts", ".js", ".jsx", ".mjs", ".cjs"];

/// The file of a relative specifier.
fn resolve(tree: &Tree, path: &str, specifier: &str) -> Option<u32> {
    if !specifier.starts_with('.') {
        return None;
    }
    let mut parts: Vec<&str> = folder_of(path).split('/').filter(|it| !it.is_empty()).collect();
    for part in specifier.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    let base = parts.join("/");
    if let Some(file) = tree.file_number(&base) {
        return Some(file);
    }
    let stem = [".js", ".jsx", ".mjs", ".cjs"].iter().find_map(|it| base.strip_suffix(it)).unwrap_or(&base);
    let files = ENDINGS.iter().flat_map(|ending| {
        [format!("{base}{ending}"), format!("{stem}{ending}"), format!("{base}/index{ending}")]
    });
    files.into_iter().find_map(|it| tree.file_number(&it))
}

/// How a file names another one, in the style of a specifier it has.
fn specifier_for(path: &str, to: &str, style: &str) -> String {
    let own: Vec<&str> = folder_of(path).split('/').filter(|it| !it.is_empty()).collect();
    let other: Vec<&str> = to.split('/').collect();
    let common = own.iter().zip(&other[..other.len() - 1]).take_while(|(one, two)| one == two).count();
    let up = own.len() - common;
    let lead = if up == 0 { "./".to_owned() } else { "../".repeat(up) };
    let whole = format!("{lead}{}", other[common..].join("/"));
    let ending =
        ENDINGS.iter().filter(|it| whole.ends_with(**it)).max_by_key(|it| it.len()).copied().unwrap_or("");
    let stem = whole.strip_suffix(ending).unwrap_or(&whole);
    let written = ENDINGS.iter().filter(|it| style.ends_with(**it)).max_by_key(|it| it.len());
    match written {
        Some(&".js" | &".jsx") => format!("{stem}.js"),
        Some(&".mjs") => format!("{stem}.mjs"),
        Some(_) => format!("{stem}{ending}"),
        None => stem.to_owned(),
    }
}

/// An import of a name, as the file and those around it write imports.
fn import_line(
    tree: &Tree,
    (path, of): (&str, &str),
    name: &str,
    is_type: bool,
) -> Result<String, EditError> {
    let style = import_style(tree, path, of)?;
    let specifier = specifier_for(path, of, &style.specifier);
    let word = if is_type { "import type" } else { "import" };
    let (quote, end) = (style.quote, style.end);
    Ok(format!("{word} {{ {name} }} from {quote}{specifier}{quote}{end}\n"))
}

/// How imports are written.
struct ImportStyle {
    /// A relative specifier, for its ending; empty if the tree has none.
    specifier: String,
    quote: char,
    end: &'static str,
}

/// The style of a file, or what it leaves open as the other file, their folder and the tree have it: whether a specifier needs an ending
/// is a setting of the compiler, and the same for all.
fn import_style(tree: &Tree, path: &str, of: &str) -> Result<ImportStyle, EditError> {
    let all = tree.code.files.iter().map(|it| it.path.as_str());
    let all = all.filter(|it| language_family(it) == "TypeScript" && tree.file_number(it).is_some());
    let (beside, others): (Vec<&str>, Vec<&str>) = all.partition(|it| folder_of(it) == folder_of(path));
    let known = [path, of].into_iter().filter(|it| tree.file_number(it).is_some());
    let mut style: Option<ImportStyle> = None;
    for candidate in known.chain(beside).chain(others) {
        let Some(file) = tree.file_number(candidate) else { continue };
        let text = &tree.text(candidate)?.text;
        let statements = read_statements(&tree.nodes(file)?, text);
        let relative = statements.iter().find(|it| it.source.starts_with('.'));
        if let Some(first) = relative.or(statements.first()) {
            let end = if first.span.text_in(text).ends_with(';') { ";" } else { "" };
            let quote = quote_of(text, first);
            style.get_or_insert(ImportStyle { specifier: String::new(), quote, end });
        }
        if let (Some(style), Some(relative)) = (&mut style, relative) {
            style.specifier.clone_from(&relative.source);
            break;
        }
    }
    Ok(style.unwrap_or(ImportStyle { specifier: String::new(), quote: '"', end: ";" }))
}

fn quote_of(text: &str, statement: &Statement) -> char {
    if text[..statement.source_span.from as usize].ends_with('\'') { '\'' } else { '"' }
}

/// The imports of values between files.
fn read_graph(tree: &Tree) -> Result<ImportGraph, EditError> {
    let mut graph = ImportGraph::default();
    for (number, file) in tree.code.files.iter().enumerate() {
        if language_family(&file.path) != "TypeScript" {
            continue;
        }
        let text = &tree.text(&file.path)?.text;
        for it in read_statements(&tree.nodes(number as u32)?, text).iter().filter(|it| !it.is_type) {
            let is_value = it.items.is_empty() || it.items.iter().any(|it| !it.is_type);
            if let Some(to) = resolve(tree, &file.path, &it.source).filter(|_| is_value) {
                graph.note(number as u32, to);
            }
        }
    }
    Ok(graph)
}

// ---- statements

fn read_statements(nodes: &Nodes, text: &str) -> Vec<Statement> {
    let is_one = |it: &u32| matches!(nodes.get(*it).kind, "import_statement" | "export_statement");
    let all = nodes.children(0).filter(is_one);
    all.filter_map(|it| read_statement(nodes, text, it)).collect()
}

fn read_statement(nodes: &Nodes, text: &str, at: u32) -> Option<Statement> {
    let source = nodes.get(nodes.child(at, "source")?).span;
    let source = Span { from: source.from + 1, to: source.to.checked_sub(1)? };
    let whole = nodes.get(at);
    let written = whole.span.text_in(text);
    let mut items = Vec::new();
    for it in nodes.below(at) {
        let node = nodes.get(it);
        let part = |field| nodes.child(it, field).map(|it| nodes.get(it).span);
        let name = match node.kind {
            "import_specifier" | "export_specifier" => part("name"),
            "namespace_import" | "namespace_export" => Some(node.span),
            "identifier" if nodes.get(node.parent).kind == "import_clause" => Some(node.span),
            _ => None,
        };
        let Some(name_span) = name else { continue };
        let name = match node.kind {
            "namespace_import" | "namespace_export" => "*",
            "identifier" => "default",
            _ => name_span.text_in(text),
        };
        let text_of = node.span.text_in(text);
        let last = text_of.rsplit(|c: char| c.is_whitespace()).next().unwrap_or(text_of);
        let bound = part("alias").map_or(last, |it| it.text_in(text));
        items.push(Item {
            written: text_of.to_owned(),
            name: name.to_owned(),
            bound: bound.to_owned(),
            span: node.span,
            name_span,
            is_type: text_of.starts_with("type "),
        });
    }
    let is_export = whole.kind == "export_statement";
    Some(Statement {
        span: whole.span,
        source: source.text_in(text).to_owned(),
        source_span: source,
        is_star: is_export && items.is_empty() && written.contains('*'),
        items,
        is_export,
        is_type: written.starts_with("import type ") || written.starts_with("export type "),
    })
}

/// The names that a module declares, and whether it exports them.
fn declared_names(nodes: &Nodes, text: &str) -> Vec<(String, bool)> {
    let mut found: Vec<(String, bool)> = Vec::new();
    let mut listed: Vec<String> = Vec::new();
    for item in nodes.children(0) {
        let is_exported = nodes.get(item).kind == "export_statement";
        if is_exported && nodes.child(item, "source").is_none() {
            let specifiers = nodes.below(item).filter(|it| nodes.get(*it).kind == "export_specifier");
            let plain = specifiers.filter(|it| nodes.child(*it, "alias").is_none());
            listed.extend(plain.map(|it| nodes.get(it).span.text_in(text).to_owned()));
        }
        let declared = declaration_of(nodes, item);
        match nodes.get(declared).kind {
            "lexical_declaration" | "variable_declaration" => {
                for declarator in
                    nodes.children(declared).filter(|it| nodes.get(*it).kind == "variable_declarator")
                {
                    let Some(name) = nodes.child(declarator, "name") else { continue };
                    let names = nodes.below(name).filter(|it| {
                        matches!(nodes.get(*it).kind, "identifier" | "shorthand_property_identifier_pattern")
                    });
                    found.extend(names.map(|it| (nodes.get(it).span.text_in(text).to_owned(), is_exported)));
                }
            }
            kind if kind.contains("declaration")
                || kind.contains("signature")
                || kind == "internal_module" =>
            {
                if let Some(name) = nodes.child(declared, "name") {
                    found.push((nodes.get(name).span.text_in(text).to_owned(), is_exported));
                }
            }
            "expression_statement" => {
                let inner = nodes.below(declared).find(|it| nodes.get(*it).kind == "internal_module");
                if let Some(name) = inner.and_then(|it| nodes.child(it, "name")) {
                    found.push((nodes.get(name).span.text_in(text).to_owned(), is_exported));
                }
            }
            _ => {}
        }
    }
    for (name, is_exported) in &mut found {
        *is_exported |= listed.contains(name);
    }
    found.sort();
    found
}

/// Where an import is added: after the first imports, or before everything else.
fn import_place(nodes: &Nodes, statements: &[Statement], text: &str) -> u32 {
    let imports = statements.iter().filter(|it| !it.is_export);
    if let Some(last) = imports.map(|it| it.span).max_by_key(|it| it.to) {
        return whole_lines(text, last).to;
    }
    let first = nodes.children(0).find(|it| !matches!(nodes.get(*it).kind, "comment" | "hash_bang_line"));
    first.map_or(text.len() as u32, |it| {
        let span = nodes.get(it).span;
        let is_directive = span.text_in(text).starts_with(['"', '\'']);
        if is_directive { whole_lines(text, span).to } else { whole_lines(text, span).from }
    })
}
