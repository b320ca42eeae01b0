using System.Collections.Generic;

namespace Shop
{
    partial class Store
    {
        internal void Clear() { items.Clear(); }

        private static Item Make(string name, int price)
        {
            var made = new Item(name, price);
            return made;
        }
    }
}
