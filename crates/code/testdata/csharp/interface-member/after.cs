public interface I { void Run(int times, int wait); }
