import typing as t


class View:
    methods: t.Collection[str] = None

    def names(self, of: t.Collection[str]) -> None:
        pass
