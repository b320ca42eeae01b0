public interface I { void Run(int times); }
