using A;
namespace Shop { public class Cart { public Node First; } }
