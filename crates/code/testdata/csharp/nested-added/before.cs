public class Outer { public int A; }
