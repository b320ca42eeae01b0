public struct V { public static V operator +(V a, V b) => Sum(a, b); public static explicit operator int(V v) => v.X; public int this[long i] => 1; }
