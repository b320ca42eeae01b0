/* Counts things. */
struct counter {
    int total; /* how many */
    char *name;
};

enum mode { MODE_READ = 1, MODE_WRITE = 2 };

typedef unsigned long count_t;

#define LIMIT 10
#define TWICE(x) ((x) + (x))

static int step = 1;

/* Adds one. */
int counter_add(struct counter *c, int by) {
    int sum = c->total + by;
    return sum; /* at last */
}

/* it grows
   a lot */

static void grow(struct counter *c) {
    int goal = c->total;
    c->total = goal;
}
