class C
{
    public string M() => @"a
b";
}
