namespace Model { public class Node { } }
