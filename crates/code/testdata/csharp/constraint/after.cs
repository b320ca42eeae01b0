class C<T> where T : class, new() { public void M<U>(U u) where U : unmanaged { } }
