package org.example;

/** Counts things. */
@Counted
public class Counter extends Base {
    /** How many at most. */
    public static final int LIMIT = 10;
    public int total = 0;
    private int step;

    /** Adds one. */
    public int add(int by, String... names) {
        int sum = total + by;
        grow(sum, new String[] {"a", "b"});
        return sum;
    }

    // grows
    private void grow(int to, String[] names) {
        int goal = to;
        total = goal;
    }

    void help() {
        total = 1;
    }

    public enum Mode {
        READ(1), WRITE(2);

        Mode(int code) {}
    }
}

@interface Counted {
    String value() default "a";
}
