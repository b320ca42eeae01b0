class C : B, I, J { }
class B { }
