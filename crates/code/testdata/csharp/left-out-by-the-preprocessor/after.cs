class C
{
    public void M()
    {
#if NEVER
        Older();
#endif
        Now();
    }
}
