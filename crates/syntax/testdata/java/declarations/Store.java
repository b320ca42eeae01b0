package org.example.store;

import java.util.List;
import static org.example.Kit.check;
import org.example.graph.*;

/**
 * Keeps nodes. All of them.
 *
 * @param <T> what is kept
 */
@Deprecated(since = "2")
public abstract class Store<T extends Comparable<T>> extends Base<T> implements Walker, Sized {
    /** How many at most. */
    public static final int LIMIT = 10;
    private int a = 1, b[];
    protected final List<T> nodes = new Graph.Nodes<>();

    static {
        check(Kit.VERSION);
    }

    {
        a = 2;
    }

    protected Store(@NonNull String name, int... sizes) {
        super(name);
    }

    /** Adds one. */
    @Override
    @Timed("x")
    public synchronized <U> boolean add(final T node, List<? super U> to) throws StoreException {
        class Local {}
        return Limits.of(node) && node instanceof Sized;
    }

    void add(T node) {}

    abstract int size();

    public enum Mode implements Sized {
        /** Reads. */
        READ(1),
        @Slow
        WRITE {
            void run() {}
        };

        private final int code;

        Mode(int code) {
            this.code = code;
        }
    }

    record Entry<K>(K key, @NonNull String value) implements Sized {
        Entry {
            check(key);
        }
    }
}

@interface Timed {
    String value() default "";
}

interface Walker {
    int DEPTH = 3;

    void walk(org.example.graph.Node node);

    default int depth() {
        return DEPTH;
    }
}
