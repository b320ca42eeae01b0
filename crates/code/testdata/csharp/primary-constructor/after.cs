public class Greeter(object name) { public string Hello() => name; }
