[StructLayout(LayoutKind.Sequential)] struct S { public int A; public long B; }
struct T { public int A; public long B; }
