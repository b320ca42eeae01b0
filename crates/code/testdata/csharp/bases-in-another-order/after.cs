class C : B, J, I { }
class B { }
