using System;
using Memo.Core;

namespace Memo
{
    /// <summary>The command line: prints the note with a number.</summary>
    public static class Shell
    {
        public static void Show(NodeStore store, int id)
        {
            Console.WriteLine(store.Get(id).Title());
        }
    }
}
