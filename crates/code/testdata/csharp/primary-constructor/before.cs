public class Greeter(string name) { public string Hello() => name; }
