public class Outer { public int A; public class Inner { public void M() { G(); } } }
