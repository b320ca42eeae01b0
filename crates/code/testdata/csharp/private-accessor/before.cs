public class Box { public int Size { get { return size; } private set { size = value; } } int size; }
