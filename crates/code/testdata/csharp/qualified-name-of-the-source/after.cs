namespace Shop { public class Cart { public Model.Node First; } }
