class C
{
    public void M()
    {
#if NEVER
        Old();
#endif
        Now();
    }
}
