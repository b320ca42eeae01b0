#define LOCAL
using System;
using System.Collections.Generic;
using System.Threading.Tasks;
using Text = System.Text.StringBuilder;
using static System.Math;

[assembly: System.Reflection.AssemblyTitle("everything")]

/// <summary>A bit of <see cref="Everything"/>. Not much of it.</summary>
namespace Everything
{
    /// <summary>What has an area.</summary>
    public interface IShape
    {
        /// <summary>In square metres.</summary>
        double Area { get; }
        string Name { get; }
        void Scale(double by = 1.5);
        static abstract IShape Unit();
    }

    [Flags, Serializable]
    public enum Color : byte
    {
        Red = 1 << 0,
        Green = 1 << 1, /* like grass */
        Blue,
    }

    public delegate bool Test<in T>(T item, params object[] rest) where T : class;

    /// <summary>All sides are equal.</summary>
    [Obsolete("use a rectangle")]
    public sealed class Square : IShape, IEquatable<Square>
    {
        public const int Sides = 4;
        private const string Kind = "square";
        public static readonly Square Empty = new Square(0);
        private readonly double side, diagonal;
        protected internal int[] numbers = { 1, 2, 3 };

        static Square() { }

        /// <summary>Makes one.</summary>
        /// <param name="side">How long.</param>
        public Square(double side) : this(side, Sqrt(2) * side) { Log(nameof(Square)); }

        private Square(double side, double diagonal)
        {
            this.side = side;
            this.diagonal = diagonal;
        }

        ~Square() { Log("gone"); }

        public double Area => side * side;
        string IShape.Name { get { return Kind; } }
        public double Side { get => side; init => side = value; }
        public virtual Color Color { get; protected set; } = Color.Red | Color.Blue;
        public double this[int corner, bool deep = false] => deep ? corner >> 1 : corner << 2;
        public event EventHandler<EventArgs> Changed;
        public event Action Removed { add { numbers[0]++; } remove { numbers[0]--; } }

        public void Scale(double by = 1.5)
        {
            foreach (var number in numbers)
            {
                if (number is > 1 and < 3 || number == 0)
                    continue;
            }
            Changed?.Invoke(this, EventArgs.Empty);
        }

        public static IShape Unit() => new Square(1);
        public bool Equals(Square other) { return other?.side == side; }
        public static bool operator ==(Square a, Square b) => a.Equals(b);
        public static bool operator !=(Square a, Square b) { return !(a == b); }
        public static explicit operator double(Square it) => it.side;

        public async Task<List<Dictionary<string, int?>>> LoadAsync<T>(T key, Func<T, Task<int>> load)
            where T : notnull, IComparable<T>
        {
            int Twice(int x) => x * 2;
            var found = await load(key).ConfigureAwait(false);
            var text = $"{key} {Twice(found):x8} {(found > 1 ? "many" : "one")}";
            return new List<Dictionary<string, int?>> { new() { [text] = found, ["é"] = null } };
        }

#if LOCAL
        private void Log(string text) { Console.WriteLine(text); }
#else
        private void Log(string text) { throw new Exception(text)
#endif

        private protected string Verbatim() => @"a ""quoted""
  line" + $@"and {side} ""more""" + """
            raw "text"
            """;

        public class Corner
        {
            public int Index;
            internal void Move(int by) { Index += by; }
            private struct Deep { public Corner Of; }
        }
    }

    public abstract record Person(string Name, int Age = 3)
    {
        public abstract void Speak();
        public string Label => this switch { { Age: > 17 } => "adult", _ => Name };
    }

    public sealed record class Child(string Name) : Person(Name) { public override void Speak() { Console.Beep(); } }

    public readonly record struct Point(int X, int Y);

    public ref struct Window<T> where T : unmanaged
    {
        public Span<T> Items;
        public readonly int Length() { return Items.Length; }
    }

    public partial class Parts
    {
        int hidden = 3;
        public partial void Run(int times);
        private static bool Try(string text, out int value) { return int.TryParse(text, out value); }
    }

    partial class Parts : IDisposable
    {
        public partial void Run(int times) { for (var i = 0; i < times; i++) { hidden += i; } }
        void IDisposable.Dispose() { GC.SuppressFinalize(this); }
    }

    /// <summary>Things to do with words.</summary>
    public static class Words
    {
        public static bool IsEmpty(this string text) => text.Length == 0;
        internal static unsafe void Fill(byte* at, int count) { while (count-- > 0) at[count] = 0; }
        public static void Each(Action<string> with, params string[] words)
        {
            for (int i = 0; i < words.Length; i++)
                with(words[i]);
        }
    }

    public class Greeter(string name)
    {
        public string Hello() { return "hello " + name; }
    }

    namespace Deeper
    {
        using Everything;

        [System.Runtime.InteropServices.StructLayout(System.Runtime.InteropServices.LayoutKind.Sequential)]
        struct Packed { public int A; public long B; }

        class Generic<TKey, TValue> : Dictionary<TKey, List<TValue>>
        {
            public Generic<TKey, TValue>.Entry First;
            public class Entry { public TKey Key; }
        }
    }
}
