using System.Collections.Generic;
using System.IO;

namespace Memo.Core
{
    /// <summary>Writes notes to disk, many at a time.</summary>
    public class BatchWriter
    {
        public const int Size = 100;

        private readonly string folder;

        public BatchWriter(string folder)
        {
            this.folder = folder;
        }

        public void Write(IEnumerable<Node> nodes)
        {
            foreach (var node in nodes)
            {
                File.WriteAllText(Path.Combine(folder, node.Id + ".txt"), node.Text);
            }
        }
    }
}
