public class C { public event E Done; public event E Other { add { A(); } remove { } } }
