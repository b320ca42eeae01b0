public record Point(int X, int Y = 0);
public record struct Size(int W);
