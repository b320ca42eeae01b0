public record A(int X);
public record B(int Y) : A(Y + 1);
public class C(int z) : D(z + 1);
