import typing as t


class View:
    methods: t.List[str] = None

    def names(self, of: t.List[str]) -> None:
        pass
