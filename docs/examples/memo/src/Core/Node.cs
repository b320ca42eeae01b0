using System;

namespace Memo.Core
{
    /// <summary>One note: its text, when it was written, and the notes it refers to.</summary>
    public sealed class Node
    {
        public Node(int id, string text)
        {
            Id = id;
            Text = text;
            WrittenAt = DateTime.UtcNow;
        }

        public int Id { get; }
        public string Text { get; set; }
        public DateTime WrittenAt { get; }

        /// <summary>The first line, which lists show.</summary>
        public string Title()
        {
            int end = Text.IndexOf('\n');
            return end < 0 ? Text : Text.Substring(0, end);
        }
    }
}
