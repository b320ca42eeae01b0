public enum Color { Red, Green = 6, Blue, Grey }
