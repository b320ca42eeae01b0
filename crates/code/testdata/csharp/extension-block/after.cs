static class X { extension(string text) { public bool Empty => text.Length == 0; } }
