public struct V { public static V operator +(V a, V b) => Add(a, b); public static implicit operator int(V v) => v.X; public int this[int i] => i; }
