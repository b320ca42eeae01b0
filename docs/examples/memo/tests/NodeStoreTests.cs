using Memo.Core;
using Xunit;

namespace Memo.Tests
{
    public class NodeStoreTests
    {
        [Fact]
        public void ANoteIsFoundByItsNumber()
        {
            var store = new NodeStore(new BatchWriter("notes"));
            store.Put(new Node(1, "groceries\nmilk"));
            Assert.Equal("groceries", store.Get(1).Title());
        }
    }
}
