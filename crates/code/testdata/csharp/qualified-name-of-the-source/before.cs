using Model;
namespace Shop { public class Cart { public Node First; } }
