public record Point(int X, int Y = 1);
public record struct Size(long W);
