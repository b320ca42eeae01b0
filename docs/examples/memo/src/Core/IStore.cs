namespace Memo.Core
{
    /// <summary>Where notes are kept.</summary>
    public interface IStore
    {
        Node Get(int id);
        void Put(Node node);
    }
}
