"""Keeps nodes.

In memory.
"""

from __future__ import annotations

import os.path
import numpy as np
from .graph import Vertex as V, edge
from .. import units
from kit import *

LIMIT: int = 10
_cache = Cache(1)
first, second = 1, 2

if TYPE_CHECKING:
    from typing import Optional

    def only_for_checkers() -> None: ...


@register("store")
class Store(Base, units.Sized, Generic[T], metaclass=Meta):
    """A store. It is large."""

    nodes: list[Node] = []
    _hidden = None

    def __init__(self, name: str, *sizes: int, mode: "Mode" = Mode.READ, **rest) -> None:
        """Make one."""
        self.name = name

    @property
    def size(self) -> Optional[np.ndarray]:
        return len(self.nodes)

    @size.setter
    def size(self, value):
        pass

    @staticmethod
    async def load(path, /, *, strict=False) -> Store:
        class Local:
            pass

        return edge(V(path), os.path.join("a"))

    def _drop(self):
        # gone
        raise Dropped()

    class Inner:
        x = 1


type Nodes[K] = dict[K, Node]


def make(name, kind: units.Kind | None = None):
    """Make a store."""
    return Store(name)


print(make("a"))
