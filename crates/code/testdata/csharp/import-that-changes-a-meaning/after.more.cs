namespace A { public class Node { } }
namespace B { public class Node { } }
