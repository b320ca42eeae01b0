public class Limits { public const int Most = 5; private const int Least = 1; public static readonly int Usual = 3; }
