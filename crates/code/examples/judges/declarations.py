"""Lists the declarations of Python files with the `ast` module: `declarations.py ROWS`.

A row is a number and the path of a file; a line of the output is one declaration as JSON. Knows neither how Loci reads a file nor
how the two are compared.
"""

import ast
import json
import sys

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def dump(*nodes):
    return " ".join("-" if node is None else ast.dump(node) for node in nodes)


def visibility(name):
    special = name.startswith("__") and name.endswith("__")
    return "private" if name.startswith("_") and not special else "public"


def function_texts(node):
    """The contract and the behaviour: names and default values of parameters are behaviour."""
    given = node.args
    groups = [given.posonlyargs, given.args, [given.vararg] if given.vararg else [], given.kwonlyargs, [given.kwarg] if given.kwarg else []]
    contract = [dump(*node.decorator_list), dump(node.returns), dump(*getattr(node, "type_params", []))]
    contract += [dump(*(each.annotation for each in group)) for group in groups]
    contract += [str([each is None for each in given.kw_defaults]), str(len(given.defaults))]
    body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    names = [each.arg for group in groups for each in group]
    behaviour = [type(node).__name__, str(names), dump(*given.defaults), dump(*given.kw_defaults), dump(*body)]
    return "\n".join(contract), "\n".join(behaviour)


def field_of(node):
    """The name, contract and behaviour of an assignment to one name."""
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return node.target.id, dump(node.annotation), dump(node.value)
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id, "", dump(node.value)
    return None


def declarations(body, owner):
    for node in body:
        if isinstance(node, FUNCTIONS):
            structure, behaviour = function_texts(node)
            yield owner, node.name, "function", structure, behaviour, ast.get_docstring(node, clean=False)
        elif isinstance(node, ast.ClassDef):
            structure = dump(*node.decorator_list, *node.bases, *node.keywords)
            yield owner, node.name, "type", structure, "", ast.get_docstring(node, clean=False)
            yield from declarations(node.body, f"{owner}.{node.name}" if owner else node.name)
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            for part in ("body", "orelse", "finalbody"):
                yield from declarations(getattr(node, part, []), owner)
            for handler in getattr(node, "handlers", []):
                yield from declarations(handler.body, owner)
        elif found := field_of(node):
            yield owner, found[0], "field", found[1], found[2], None


def main():
    for row in open(sys.argv[1], encoding="utf-8"):
        number, path = row.rstrip("\n").split("\t")
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            print(json.dumps({"file": int(number), "unreadable": True}))
            continue
        for owner, name, kind, structure, behaviour, doc in declarations(tree.body, ""):
            row = {"file": int(number), "owner": owner, "name": name, "kind": kind, "visibility": visibility(name)}
            print(json.dumps({**row, "structure": structure, "behaviour": behaviour, "doc": doc or ""}))


main()
