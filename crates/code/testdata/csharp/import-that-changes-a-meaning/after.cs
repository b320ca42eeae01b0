using B;
namespace Shop { public class Cart { public Node First; } }
