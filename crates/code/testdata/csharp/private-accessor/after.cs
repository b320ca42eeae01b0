public class Box { public int Size { get { return size; } private set { size = value + 1; } } int size; }
