class C<T> where T : class { public void M<U>(U u) where U : struct { } }
