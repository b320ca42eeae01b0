public class Limits { public const int Most = 6; private const int Least = 2; public static readonly int Usual = 4; }
