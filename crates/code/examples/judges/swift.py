"""Lists the declarations of Swift files below a folder, as the lexer of Pygments sees them: path, line, kind, name.

Does not parse: the word after a keyword that declares something is a name. Names in bodies of functions are left out by counting
braces. Needs `pip install pygments`.
"""

import pathlib
import re
import sys

from pygments.lexers import SwiftLexer
from pygments.token import Comment, String

KINDS = {
    "class": "class", "struct": "struct", "enum": "enum", "actor": "class", "protocol": "interface",
    "typealias": "typedef", "associatedtype": "typedef", "func": "function", "let": "variable", "var": "variable",
    "case": "enumerator", "extension": None, "init": None, "deinit": None, "subscript": None,
}
TYPES = {"class", "struct", "enum", "actor", "protocol", "extension"}


def words_of(text):
    line = 1
    for kind, value in SwiftLexer().get_tokens(text):
        if kind not in Comment and kind not in String:
            for word in re.findall(r"`?\w+`?|[{}]|[^\s\w{}`]+", value):
                yield line, word
        line += value.count("\n")


def list_file(path, shown):
    open_braces = []
    pending = None
    words = list(words_of(path.read_text(encoding="utf-8")))
    for at, (line, word) in enumerate(words):
        before = words[at - 1][1] if at else ""
        if word == "{":
            open_braces.append(pending or "body")
            pending = None
        elif word == "}":
            if open_braces:
                open_braces.pop()
        elif word in KINDS and before not in (".", "#", "&", "(", "if", "guard", "while", "for", "catch"):
            is_modifier = word == "class" and at + 1 < len(words) and words[at + 1][1] in ("func", "var", "let")
            declares = all(it in TYPES for it in open_braces)
            if word == "case" and (not open_braces or open_braces[-1] != "enum"):
                declares = False
            if word in TYPES and not is_modifier and before != ":" and before != ",":
                pending = word
            elif word in ("func", "init", "deinit", "subscript", "var"):
                pending = "body"
            kind = KINDS[word]
            if declares and kind and not is_modifier and at + 1 < len(words) and before != ":":
                print(shown, words[at + 1][0], kind, words[at + 1][1].strip("`"), sep="\t")


for file in sorted(pathlib.Path(sys.argv[1]).rglob("*.swift")):
    list_file(file, file.relative_to(sys.argv[1]))
