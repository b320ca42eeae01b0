[StructLayout(LayoutKind.Sequential)] struct S { public long B; public int A; }
struct T { public long B; public int A; }
