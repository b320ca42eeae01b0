//! Moves a Python function or class to another module: `from` imports of it follow, its own imports go with it, and the modules
//! import each other where they still need to.
//!
//! Does not follow uses through a module (`module.name`), and does not close a cycle of imports: both are listed as unsure.

use super::import_graph::ImportGraph;
use super::{Draft, Moved, append_at_end, folder_of};
use crate::error::EditError;
use crate::shape::Nodes;
use crate::sources::language_family;
use crate::text::whole_lines;
use crate::tree::Tree;
use syntax::{Role, Span};

/// An import statement.
struct Statement {
    span: Span,
    /// As written, with leading dots; empty for `import a, b`.
    module: String,
    module_span: Span,
    items: Vec<Item>,
    /// Whether it runs when the module is imported, outside of functions and classes.
    is_at_top: bool,
    /// The condition of `if TYPE_CHECKING` around it.
    type_checking: Option<String>,
    is_wildcard: bool,
}

/// A name that an import brings.
struct Item {
    /// The name, with its module for `import a.b`.
    name: String,
    alias: Option<String>,
    span: Span,
    name_span: Span,
}

impl Item {
    /// The name that the file gets.
    fn bound(&self, statement: &Statement) -> &str {
        match &self.alias {
            Some(alias) => alias,
            None if statement.module.is_empty() => self.name.split('.').next().unwrap_or(&self.name),
            None => &self.name,
        }
    }

    fn written(&self) -> String {
        self.alias.as_ref().map_or_else(|| self.name.clone(), |alias| format!("{} as {alias}", self.name))
    }
}

pub(super) fn plan(moved: &Moved<'_>, draft: &mut Draft) -> Result<(), EditError> {
    if !matches!(moved.item_kind(), "function_definition" | "class_definition" | "decorated_definition") {
        return moved.refuse("only a function or a class of a module can be moved");
    }
    if has_global_statement(moved) {
        return moved.refuse("it assigns to a variable of its module (`global`)");
    }
    let (Some(source), Some(target)) =
        (module_name(moved.tree, moved.from), module_name(moved.tree, moved.to))
    else {
        return moved.refuse("the files are not modules that can be imported");
    };
    draft.follows_uses = true;
    let mut graph = read_graph(moved.tree)?;
    let mut mover = PythonMove { moved, draft, source, target, graph: &mut graph };
    let rest_needs = mover.follow_uses()?;
    let needed = mover.needed_imports()?;
    if rest_needs {
        mover.import_into_source()?;
    }
    mover.place(&needed)?;
    mover.check_cycles()
}

/// The moved function would assign to a variable of the other module, which no type checker reports.
fn has_global_statement(moved: &Moved<'_>) -> bool {
    let nodes = &moved.nodes;
    nodes.below(moved.item).any(|it| nodes.get(it).kind == "global_statement")
}

struct PythonMove<'a, 'b> {
    moved: &'a Moved<'b>,
    draft: &'a mut Draft,
    /// The dotted names of both modules.
    source: String,
    target: String,
    graph: &'a mut ImportGraph,
}

/// An import that the other module needs.
struct Needed {
    line: String,
    type_checking: Option<String>,
}

impl PythonMove<'_, '_> {
    // ---- uses

    /// Rewrites the imports of the declaration. Returns whether the rest of its module uses it.
    fn follow_uses(&mut self) -> Result<bool, EditError> {
        let moved = self.moved;
        let mut rest_needs = false;
        for (path, span) in moved.uses() {
            match moved.role_at(path, span, moved.name)? {
                Some(Role::Import) => self.follow_import(path, span)?,
                Some(Role::Name | Role::Capture) if path == moved.from => rest_needs = true,
                Some(Role::Name | Role::Capture) => {}
                Some(Role::Text) if path != moved.from => {}
                Some(Role::Text) => {
                    self.draft.doubt(moved, (path, span.from), "listed in `__all__` of its module", false)?;
                }
                _ if self.is_handed_on(path, span)? => {}
                _ => self.draft.doubt(moved, (path, span.from), "used through its module", false)?,
            }
        }
        self.doubt_wildcards()?;
        Ok(rest_needs)
    }

    /// Whether a place takes the declaration from another module that imports it: `flask.render_template`.
    fn is_handed_on(&self, path: &str, span: Span) -> Result<bool, EditError> {
        let tree = self.moved.tree;
        let Some(file) = tree.file_number(path) else { return Ok(false) };
        let (text, nodes) = (&tree.text(path)?.text, tree.nodes(file)?);
        let attribute = nodes.at(span).map(|it| nodes.get(it).parent);
        let object = attribute.and_then(|it| nodes.child(it, "object"));
        let Some(object) = object.map(|it| nodes.get(it).span.text_in(text)) else { return Ok(false) };
        let (first, rest) = object.split_at(object.find('.').unwrap_or(object.len()));
        let statements = read_statements(&nodes, text);
        let mut origins: Vec<Option<String>> = Vec::new();
        for statement in &statements {
            let items = statement.items.iter().filter(|it| it.bound(statement) == first);
            origins.extend(items.map(|it| origin_of(tree, path, statement, it)));
        }
        // one function may import another module under the same name
        origins.dedup();
        let [Some(module)] = origins.as_slice() else { return Ok(false) };
        let module = format!("{module}{rest}");
        Ok(module != self.source && self.has_module(&module))
    }

    fn has_module(&self, module: &str) -> bool {
        let tree = self.moved.tree;
        let is_it = |path: &str| module_name(tree, path).is_some_and(|name| name == module);
        tree.code.files.iter().any(|it| is_it(&it.path))
    }

    fn follow_import(&mut self, path: &str, span: Span) -> Result<(), EditError> {
        let moved = self.moved;
        let Some(file) = moved.tree.file_number(path) else { return Ok(()) };
        let text = &moved.tree.text(path)?.text;
        let statements = read_statements(&moved.tree.nodes(file)?, text);
        let around = statements.iter().find(|it| it.span.from <= span.from && span.to <= it.span.to);
        let Some(statement) = around.filter(|it| !it.module.is_empty()) else {
            return self.draft.doubt(moved, (path, span.from), "an import that is not understood", false);
        };
        match absolute_module(moved.tree, path, &statement.module) {
            Some(module) if module == self.source => {}
            // another module hands it on, and its own import is followed
            Some(module) if self.has_module(&module) => return Ok(()),
            _ => {
                return self.draft.doubt(moved, (path, span.from), "an import that is not understood", false);
            }
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
            if item.alias.is_some() {
                return self.draft.doubt(moved, (path, span.from), "imported under another name", false);
            }
            self.draft.doubt_if_used_early(moved, path)?;
            return self.cut(path, statement, at);
        }
        if statement.is_at_top
            && statement.type_checking.is_none()
            && let Some(to) = moved.to_file
        {
            self.graph.add(file, to);
        }
        let module = self.module_for(path, statement.module.starts_with('.'));
        if let [_] = statement.items.as_slice() {
            self.draft.replace(path, statement.module_span, module);
        } else {
            let lines = whole_lines(text, statement.span);
            let line = lines.text_in(text);
            let indent = &line[..line.len() - line.trim_start().len()];
            self.draft.insert(path, lines.to, format!("{indent}from {module} import {}\n", item.written()));
            self.cut(path, statement, at)?;
        }
        Ok(())
    }

    fn cut(&mut self, path: &str, statement: &Statement, at: usize) -> Result<(), EditError> {
        let names: Vec<Span> = statement.items.iter().map(|it| it.span).collect();
        self.draft.cut_import(self.moved, (path, statement.span), &names, at)
    }

    /// The name of the target module for a file.
    fn module_for(&self, path: &str, is_relative: bool) -> String {
        let relative = is_relative.then(|| relative_module(self.moved.tree, path, &self.target)).flatten();
        relative.unwrap_or_else(|| self.target.clone())
    }

    fn doubt_wildcards(&mut self) -> Result<(), EditError> {
        let moved = self.moved;
        for (number, file) in moved.tree.code.files.iter().enumerate() {
            if language_family(&file.path) != "Python" {
                continue;
            }
            let text = &moved.tree.text(&file.path)?.text;
            if !text.contains("import *") {
                continue;
            }
            for it in
                read_statements(&moved.tree.nodes(number as u32)?, text).iter().filter(|it| it.is_wildcard)
            {
                let module = absolute_module(moved.tree, &file.path, &it.module);
                let is_own = file.path == moved.from || file.path == moved.to;
                if is_own || module.as_deref() == Some(self.source.as_str()) {
                    self.draft.doubt(
                        moved,
                        (&file.path, it.span.from),
                        "imports every name of a module",
                        false,
                    )?;
                }
            }
        }
        Ok(())
    }

    fn import_into_source(&mut self) -> Result<(), EditError> {
        let moved = self.moved;
        let text = moved.text()?;
        let statements = read_statements(&moved.nodes, text);
        let is_relative = statements.iter().any(|it| it.module.starts_with('.'));
        let line = format!("from {} import {}\n", self.module_for(moved.from, is_relative), moved.name);
        let at = import_place(&moved.nodes, &statements, text);
        if at > moved.nodes.get(moved.item).span.from {
            return moved.refuse("its module imports something after it");
        }
        self.draft.insert(moved.from, at, line);
        if let Some(to) = moved.to_file {
            self.graph.add(moved.file, to);
        }
        Ok(())
    }

    // ---- what it needs

    /// The imports that the declaration needs in the other module.
    fn needed_imports(&mut self) -> Result<Vec<Needed>, EditError> {
        let moved = self.moved;
        let text = moved.text()?;
        let statements = read_statements(&moved.nodes, text);
        let bound = self.names_of_target()?;
        let mut needed = self.future_imports(&statements)?;
        let (mut names, mut conditions): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        // what a condition needs is found in the second round
        for _ in 0..2 {
            for statement in statements.iter().filter(|it| it.is_at_top && it.module != "__future__") {
                for item in &statement.items {
                    let name = item.bound(statement).to_owned();
                    let is_condition = |it: &String| it.split('.').next() == Some(name.as_str());
                    let is_wanted = self.is_needed(&name)? || conditions.iter().any(is_condition);
                    if !is_wanted || names.contains(&name) {
                        continue;
                    }
                    if let Some(import) = self.carry(statement, item, &bound)? {
                        conditions.extend(import.type_checking.clone());
                        needed.push(import);
                    }
                    names.push(name);
                }
            }
        }
        for name in declared_names(&moved.nodes, text) {
            if name == moved.name || names.contains(&name) || !self.is_needed(&name)? {
                continue;
            }
            if bound.iter().any(|(known, _)| *known == name) {
                return self.moved.captured(&name);
            }
            let line = match relative_module(moved.tree, moved.to, &self.source) {
                Some(module) if text.contains("from .") => format!("from {module} import {name}"),
                _ => format!("from {} import {name}", self.source),
            };
            if let Some(to) = moved.to_file {
                self.graph.add(to, moved.file);
            } else {
                self.draft.doubt_new_cycle(moved)?;
            }
            needed.push(Needed { line, type_checking: None });
            names.push(name);
        }
        if bound.iter().any(|(known, origin)| {
            known == moved.name && *origin != Some(format!("{}.{}", self.source, moved.name))
        }) {
            return self.moved.captured(moved.name);
        }
        Ok(needed)
    }

    /// Whether the declaration uses a name of its module, also in an annotation that is a string.
    fn is_needed(&self, name: &str) -> Result<bool, EditError> {
        let moved = self.moved;
        if moved.mentions(name)? {
            return Ok(true);
        }
        let found = moved.tree.occurrences(moved.file, name)?;
        let is_annotation = |span: Span| {
            let node = moved.nodes.at(span);
            let mut around = node.into_iter().flat_map(|it| moved.nodes.ancestors(it));
            around.any(|it| moved.nodes.get(it).kind == "type")
        };
        let own = found.all.iter().filter(|it| it.role == Role::Text && moved.is_inside(it.span));
        Ok(own.into_iter().any(|it| is_annotation(it.span)))
    }

    fn future_imports(&self, statements: &[Statement]) -> Result<Vec<Needed>, EditError> {
        let moved = self.moved;
        let source: Vec<&Statement> = statements.iter().filter(|it| it.module == "__future__").collect();
        let names: Vec<&str> = source.iter().flat_map(|it| &it.items).map(|it| it.name.as_str()).collect();
        if moved.to_file.is_none() {
            let line =
                |name: &&str| Needed { line: format!("from __future__ import {name}"), type_checking: None };
            return Ok(names.iter().map(line).collect());
        }
        let text = moved.target_text()?;
        let has = |name: &&&str| {
            !text.lines().any(|line| line.starts_with("from __future__") && line.contains(**name))
        };
        match names.iter().find(has) {
            Some(name) => moved.refuse(format!("{} does not have `from __future__ import {name}`", moved.to)),
            None => Ok(Vec::new()),
        }
    }

    /// An import of its module as the other module writes it; `None` if the other module has it already.
    fn carry(
        &mut self,
        statement: &Statement,
        item: &Item,
        bound: &[(String, Option<String>)],
    ) -> Result<Option<Needed>, EditError> {
        let moved = self.moved;
        let origin = origin_of(moved.tree, moved.from, statement, item);
        let name = item.bound(statement);
        if let Some((_, known)) = bound.iter().find(|(known, _)| known == name) {
            let is_declared_there =
                origin.as_deref() == Some(&format!("{}.{name}", self.target)) && item.alias.is_none();
            return if *known == origin || is_declared_there { Ok(None) } else { self.moved.captured(name) };
        }
        let line = if statement.module.is_empty() {
            format!("import {}", item.written())
        } else if !statement.module.starts_with('.') || folder_of(moved.from) == folder_of(moved.to) {
            format!("from {} import {}", statement.module, item.written())
        } else {
            let module = absolute_module(moved.tree, moved.from, &statement.module);
            format!("from {} import {}", module.unwrap_or_default(), item.written())
        };
        if statement.type_checking.is_none()
            && let (Some(to), Some(file)) =
                (moved.to_file, origin.and_then(|it| module_file(moved.tree, &it)))
        {
            self.graph.add(to, file);
        }
        Ok(Some(Needed { line, type_checking: statement.type_checking.clone() }))
    }

    /// The names of the other module, with what its imports mean.
    fn names_of_target(&self) -> Result<Vec<(String, Option<String>)>, EditError> {
        let moved = self.moved;
        let Some(file) = moved.to_file else { return Ok(Vec::new()) };
        let (text, nodes) = (moved.target_text()?, moved.tree.nodes(file)?);
        let mut found: Vec<(String, Option<String>)> =
            declared_names(&nodes, text).into_iter().map(|name| (name, None)).collect();
        for statement in read_statements(&nodes, text).iter().filter(|it| it.is_at_top) {
            let named =
                |it: &Item| (it.bound(statement).to_owned(), origin_of(moved.tree, moved.to, statement, it));
            found.extend(statement.items.iter().map(named));
        }
        Ok(found)
    }

    // ---- the result

    fn place(&mut self, needed: &[Needed]) -> Result<(), EditError> {
        let moved = self.moved;
        let cut = moved.removal()?;
        self.draft.replace(moved.from, Span { from: cut.from, to: cut.to }, "");
        let declaration = moved.moved_text()?;
        let imports = write_imports(needed);
        let Some(file) = moved.to_file else {
            let gap = if imports.is_empty() { "" } else { "\n\n" };
            self.draft.insert(moved.to, 0, format!("{imports}{gap}{declaration}\n"));
            return Ok(());
        };
        let (text, nodes) = (moved.target_text()?, moved.tree.nodes(file)?);
        if !imports.is_empty() {
            self.draft.insert(moved.to, import_place(&nodes, &read_statements(&nodes, text), text), imports);
        }
        let main = nodes.children(0).find(|it| {
            nodes.get(*it).kind == "if_statement" && nodes.get(*it).span.text_in(text).contains("__name__")
        });
        if let Some(it) = main {
            self.draft.insert(moved.to, nodes.get(it).span.from, format!("{declaration}\n\n\n"));
        } else {
            let (at, new) = append_at_end(text, &declaration, 2);
            self.draft.insert(moved.to, at, new);
        }
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

/// The lines of imports, those for type checkers last.
fn write_imports(needed: &[Needed]) -> String {
    let of = |condition: Option<&str>| {
        let all = needed.iter().filter(|it| it.type_checking.as_deref() == condition);
        all.map(|it| it.line.clone()).collect::<Vec<_>>()
    };
    let mut lines = of(None);
    let mut conditions: Vec<&str> = needed.iter().filter_map(|it| it.type_checking.as_deref()).collect();
    conditions.dedup();
    for condition in conditions {
        lines.push(format!("\nif {condition}:"));
        lines.extend(of(Some(condition)).iter().map(|it| format!("    {it}")));
    }
    lines.iter().flat_map(|it| [it.as_str(), "\n"]).collect()
}

impl Draft {
    /// In Python, what a module uses while it is imported has to come before its use.
    fn doubt_if_used_early(&mut self, moved: &Moved<'_>, path: &str) -> Result<(), EditError> {
        let Some(file) = moved.tree.file_number(path) else { return Ok(()) };
        let nodes = moved.tree.nodes(file)?;
        for it in moved.tree.occurrences(file, moved.name)?.all.iter().filter(|it| it.role == Role::Name) {
            let Some(node) = nodes.at(it.span) else { continue };
            let is_late = |kind: &str| matches!(kind, "function_definition" | "lambda");
            let mut around = nodes.ancestors(node);
            if !around.any(|it| is_late(nodes.get(it).kind)) {
                self.doubt(moved, (path, it.span.from), "used before the place where it is inserted", false)?;
            }
        }
        Ok(())
    }

    /// A new file that imports from the file it came from, which may import it.
    fn doubt_new_cycle(&mut self, moved: &Moved<'_>) -> Result<(), EditError> {
        let uses_it = moved.uses().any(|(path, _)| path == moved.from);
        if uses_it {
            let at = moved.nodes.get(moved.item).span.from;
            self.doubt(moved, (moved.from, at), "the two modules would import each other", false)?;
        }
        Ok(())
    }
}

// ---- modules

/// The dotted name of a module, from the outermost folder that is a package: folders inside of it need no `__init__.py`.
fn module_name(tree: &Tree, path: &str) -> Option<String> {
    let path = path.strip_suffix(".py")?;
    let mut folders = path.match_indices('/').map(|(end, _)| &path[..end]);
    let package = folders.find(|folder| tree.file_number(&format!("{folder}/__init__.py")).is_some());
    let base = package.map_or_else(|| folder_of(path), folder_of);
    let own = path.strip_prefix(base)?.trim_start_matches('/');
    let mut names: Vec<&str> = own.split('/').collect();
    if names.last() == Some(&"__init__") {
        names.pop();
    }
    let is_name = |it: &&str| !it.is_empty() && it.chars().all(|c| c.is_alphanumeric() || c == '_');
    (!names.is_empty() && names.iter().all(is_name)).then(|| names.join("."))
}

/// The package of a file: the module itself for `__init__.py`.
fn package_of(tree: &Tree, path: &str) -> Option<String> {
    let module = module_name(tree, path)?;
    if path.ends_with("/__init__.py") {
        return Some(module);
    }
    Some(module.rsplit_once('.').map_or(String::new(), |(package, _)| package.to_owned()))
}

/// The dotted name that a module as written has.
fn absolute_module(tree: &Tree, path: &str, written: &str) -> Option<String> {
    let name = written.trim_start_matches('.');
    let dots = written.len() - name.len();
    if dots == 0 {
        return Some(name.to_owned());
    }
    let mut package = package_of(tree, path)?;
    for _ in 1..dots {
        package = package.rsplit_once('.').map(|(outer, _)| outer.to_owned())?;
    }
    Some(if name.is_empty() { package } else { format!("{package}.{name}") })
}

/// A module as a file of the same top package writes it with dots.
fn relative_module(tree: &Tree, path: &str, module: &str) -> Option<String> {
    let package = package_of(tree, path)?;
    let own: Vec<&str> = package.split('.').collect();
    let other: Vec<&str> = module.split('.').collect();
    let common = own.iter().zip(&other).take_while(|(one, two)| one == two).count();
    (common > 0).then(|| format!("{}{}", ".".repeat(own.len() - common + 1), other[common..].join(".")))
}

/// What an imported name means: the module and the name in it.
fn origin_of(tree: &Tree, path: &str, statement: &Statement, item: &Item) -> Option<String> {
    if statement.module.is_empty() {
        let whole = item.alias.is_some();
        return Some(if whole { item.name.clone() } else { item.name.split('.').next()?.to_owned() });
    }
    Some(format!("{}.{}", absolute_module(tree, path, &statement.module)?, item.name))
}

/// The file of a module, or of the module that has a name.
fn module_file(tree: &Tree, dotted: &str) -> Option<u32> {
    let mut name = Some(dotted);
    while let Some(module) = name {
        let folder = module.replace('.', "/");
        for path in [format!("{folder}.py"), format!("{folder}/__init__.py")] {
            for root in ["", "src/", "lib/"] {
                if let Some(file) = tree.file_number(&format!("{root}{path}")) {
                    return Some(file);
                }
            }
        }
        name = module.rsplit_once('.').map(|(outer, _)| outer);
    }
    None
}

/// The imports that run when modules are imported.
fn read_graph(tree: &Tree) -> Result<ImportGraph, EditError> {
    let mut graph = ImportGraph::default();
    for (number, file) in tree.code.files.iter().enumerate() {
        if language_family(&file.path) != "Python" {
            continue;
        }
        let text = &tree.text(&file.path)?.text;
        let statements = read_statements(&tree.nodes(number as u32)?, text);
        for statement in statements.iter().filter(|it| it.is_at_top && it.type_checking.is_none()) {
            for item in &statement.items {
                let origin = origin_of(tree, &file.path, statement, item);
                if let Some(to) = origin.and_then(|it| module_file(tree, &it)) {
                    graph.note(number as u32, to);
                }
            }
        }
    }
    Ok(graph)
}

// ---- statements

fn read_statements(nodes: &Nodes, text: &str) -> Vec<Statement> {
    let is_import =
        |kind: &str| matches!(kind, "import_statement" | "import_from_statement" | "future_import_statement");
    let all = (0..nodes.0.len() as u32).filter(|it| is_import(nodes.get(*it).kind));
    all.map(|it| read_statement(nodes, text, it)).collect()
}

fn read_statement(nodes: &Nodes, text: &str, at: u32) -> Statement {
    let node = nodes.get(at);
    let module = nodes.child(at, "module_name").map(|it| nodes.get(it).span);
    let around: Vec<u32> = nodes.ancestors(at).collect();
    let is_inside = |kinds: &[&str]| around.iter().any(|it| kinds.contains(&nodes.get(*it).kind));
    let condition = around.iter().filter(|it| nodes.get(**it).kind == "if_statement").find_map(|it| {
        let condition = nodes.get(nodes.child(*it, "condition")?).span.text_in(text);
        condition.ends_with("TYPE_CHECKING").then(|| condition.to_owned())
    });
    let is_future = node.kind == "future_import_statement";
    let written = module.map_or(if is_future { "__future__" } else { "" }, |it| it.text_in(text));
    let items = nodes.children(at).filter(|it| nodes.get(*it).field == "name");
    Statement {
        span: node.span,
        module: written.to_owned(),
        module_span: module.unwrap_or_default(),
        items: items.map(|it| read_item(nodes, text, it)).collect(),
        is_at_top: !is_inside(&["function_definition", "class_definition", "lambda"]),
        type_checking: condition,
        is_wildcard: nodes.children(at).any(|it| nodes.get(it).kind == "wildcard_import"),
    }
}

fn read_item(nodes: &Nodes, text: &str, at: u32) -> Item {
    let name = nodes.child(at, "name").filter(|_| nodes.get(at).kind == "aliased_import").unwrap_or(at);
    let alias = nodes.child(at, "alias").map(|it| nodes.get(it).span.text_in(text).to_owned());
    let name_span = nodes.get(name).span;
    Item { name: name_span.text_in(text).to_owned(), alias, span: nodes.get(at).span, name_span }
}

/// The names that a module declares or assigns.
fn declared_names(nodes: &Nodes, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for it in 1..nodes.0.len() as u32 {
        let node = nodes.get(it);
        if node.kind != "identifier" {
            continue;
        }
        let parent = nodes.get(node.parent);
        let is_definition =
            matches!(parent.kind, "function_definition" | "class_definition") && node.field == "name";
        let is_assigned = || {
            let mut around = nodes.ancestors(it);
            around.any(|at| {
                let outer = nodes.get(nodes.get(at).parent);
                nodes.get(at).field == "left"
                    && matches!(outer.kind, "assignment" | "augmented_assignment" | "for_statement")
            }) || node.field == "left"
                || node.field == "alias"
        };
        // what an import brings is told by the import
        let is_other = matches!(parent.kind, "attribute" | "aliased_import");
        if !(is_definition || is_assigned()) || is_other {
            continue;
        }
        let skip = usize::from(is_definition);
        let is_local = nodes
            .ancestors(it)
            .skip(skip)
            .any(|at| matches!(nodes.get(at).kind, "function_definition" | "class_definition" | "lambda"));
        if !is_local {
            found.push(node.span.text_in(text).to_owned());
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Where an import is added: after the imports at the start of a module, or after its docstring and comments.
fn import_place(nodes: &Nodes, statements: &[Statement], text: &str) -> u32 {
    let is_first = |it: &&Statement| nodes.children(0).any(|child| nodes.get(child).span == it.span);
    if let Some(last) = statements.iter().filter(is_first).map(|it| it.span).max_by_key(|it| it.to) {
        return whole_lines(text, last).to;
    }
    let first = nodes.children(0).find(|it| {
        let node = nodes.get(*it);
        let is_docstring =
            node.kind == "expression_statement" && node.span.text_in(text).starts_with(['"', '\'']);
        node.kind != "comment" && !is_docstring
    });
    first.map_or(text.len() as u32, |it| whole_lines(text, nodes.get(it).span).from)
}
