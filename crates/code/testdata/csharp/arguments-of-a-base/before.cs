public record A(int X);
public record B(int Y) : A(Y);
public class C(int z) : D(z);
