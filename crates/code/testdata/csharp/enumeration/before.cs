public enum Color { Red, Green = 5, Blue, Grey }
