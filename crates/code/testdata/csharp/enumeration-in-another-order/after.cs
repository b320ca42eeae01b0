public enum Color { Blue = 7, Red, Green }
