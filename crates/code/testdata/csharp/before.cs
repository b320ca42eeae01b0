using System.Collections.Generic;

namespace Shop
{
    /// <summary>Keeps items by name.</summary>
    public class Store : IStore
    {
        private readonly Dictionary<string, Item> items = new Dictionary<string, Item>();

        /// <summary>How many there are.</summary>
        public int Count { get; private set; }

        // takes anything
        public Item Put(string name, int price = 1)
        {
            Item item = Make(name, price);
            items[name] = item;
            Count++;
            return item;
        }

        internal void Clear() { items.Clear(); }

        private static Item Make(string name, int price)
        {
            var made = new Item(name, price);
            return made;
        }
    }
}
