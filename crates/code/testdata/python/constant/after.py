"""Counts."""

from base import Base

LIMIT = 11


class Counter(Base):
    """Counts things."""

    total: int = 0
    _step = 1

    def add(self, by: int, times=2) -> int:
        """Adds one."""
        sum = self.total + by
        if sum:
            self._grow(sum, ["a", "b"])
        return sum

    # grows
    def _grow(self, to, names):
        goal = to
        self.total = goal


def make(step):
    """Makes one."""
    return Counter()


def _hidden():
    return 1
