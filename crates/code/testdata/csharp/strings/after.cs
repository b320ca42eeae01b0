class Texts
{
    public string Verbatim() => @"a b";
    public string Spliced(int x) => $"a  {x} b";
    public string Raw() => """
        a b
        """;
    public char Letter() => '_';
}
