public class C { public event F Done; public event E Other { add { B(); } remove { } } }
