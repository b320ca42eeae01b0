public enum Color { Red, Green, Blue = 7 }
