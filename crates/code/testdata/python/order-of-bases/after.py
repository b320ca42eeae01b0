class Named:
    def name(self):
        return "a"


class Titled:
    def name(self):
        return "b"


class Item(Titled, Named):
    pass
