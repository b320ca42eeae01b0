"""Compares the places that `renames` changed in a Python tree with those that jedi would rename:
`python3 rename_locations.py ROOT OUTPUT`, where OUTPUT is what the example printed.

Prints each symbol whose places differ, and a summary. Does not know how Loci finds the places. Needs jedi 0.20."""

import pathlib
import sys

import jedi


def position(text: bytes, byte: int) -> tuple[int, int]:
    """Line and column, as jedi counts them, of a byte."""
    before = text[:byte]
    return before.count(b"\n") + 1, len(before[before.rfind(b"\n") + 1 :].decode())


def read_places(column: str) -> set[tuple[str, int]]:
    """`a.py:1,2 b.py:3` as pairs of file and byte."""
    found = set()
    for part in column.split():
        file, offsets = part.split(":")
        found.update((file, int(offset)) for offset in offsets.split(","))
    return found


def main() -> None:
    root = pathlib.Path(sys.argv[1]).resolve()
    project = jedi.Project(root, added_sys_path=[str(root / "src")])
    texts: dict[str, bytes] = {}

    def text_of(file: str) -> bytes:
        return texts.setdefault(file, (root / file).read_bytes())

    same = different = without = 0
    for row in open(sys.argv[2], encoding="utf8"):
        columns = row.rstrip("\n").split("\t")
        if columns[0] not in ("complete", "compiled"):
            continue
        name, place, places = columns[2], columns[3], columns[5]
        file, at = place.split(":")
        line, column = position(text_of(file), int(at))
        script = jedi.Script(path=root / file, project=project)
        try:
            found = script.get_references(line, column, scope="project")
        except Exception as error:  # jedi fails on some code: that is no answer
            without += 1
            print(f"no answer\t{name}\t{place}\t{error!r}")
            continue
        theirs = {(str(it.module_path.relative_to(root)), it.line, it.column) for it in found if it.module_path and it.module_path.is_relative_to(root)}
        ours = {(file, *position(text_of(file), at)) for file, at in read_places(places)}
        if ours == theirs:
            same += 1
            continue
        different += 1
        show = lambda some: " ".join(f"{file}:{line}:{column}" for file, line, column in sorted(some))
        print(f"different\t{name}\t{place}\tonly Loci: {show(ours - theirs)}\tonly jedi: {show(theirs - ours)}")
    print(f"# {same} the same, {different} different, {without} without an answer")


main()
