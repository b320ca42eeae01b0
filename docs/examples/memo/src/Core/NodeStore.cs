using System;
using System.Collections.Generic;

namespace Memo.Core
{
    /// <summary>Keeps notes in memory and hands large batches to a writer.</summary>
    public class NodeStore : IStore
    {
        private readonly Dictionary<int, Node> items = new Dictionary<int, Node>();
        private readonly BatchWriter writer;
        private int unsaved;

        public NodeStore(BatchWriter writer)
        {
            this.writer = writer;
        }

        public int Count => items.Count;

        public Node Get(int id)
        {
            if (!items.TryGetValue(id, out var node))
            {
                throw new KeyNotFoundException("no note has the number " + id);
            }
            return node;
        }

        /// <summary>The first note with this title.</summary>
        public Node Get(string title)
        {
            foreach (var node in items.Values)
            {
                if (node.Title() == title)
                {
                    return node;
                }
            }
            throw new KeyNotFoundException("no note has the title " + title);
        }

        public void Put(Node node)
        {
            items[node.Id] = node;
            unsaved++;
            if (unsaved >= BatchWriter.Size)
            {
                Flush();
            }
        }

        public void Clear()
        {
            items.Clear();
        }

        private void Flush()
        {
            writer.Write(items.Values);
            unsaved = 0;
        }
    }
}
