#include <stdio.h>
#include "store.h"

#define STORE_LIMIT 10
#define STORE_MAX(a, b) ((a) > (b) ? grow(a) : (b))

/* A node of a store. It has a next one. */
typedef struct node {
    int key; /* sorted by this */
    struct node *next, **back;
    union {
        long number;
        char *text;
    };
    struct {
        unsigned flag : 1;
    } bits;
    int (*compare)(const void *, const void *);
} node;

typedef struct {
    size_t used;
} store_t, *store_ptr;

enum mode { MODE_READ = 1, MODE_WRITE };

enum { STORE_OK, STORE_FULL };

typedef unsigned long hash_t;
typedef int (*visit_fn)(node *);

static int count = 0, *last;
const char *names[] = { "a", "b" };
extern int shared;
struct opaque;

STORE_API int store_size(const store_t *s) STORE_NOTHROW;

// Adds one.
// And another.
int store_add(store_t *s, int key) {
#define LOCAL 1
    int limit = STORE_LIMIT;
    return s->used < limit ? STORE_OK : STORE_FULL;
}

static void
grow(int to)
{
    count = to;
}

#ifdef WITH_DUMP
void dump(void) { printf("store %d", count); }
#else
void dump(void) {}
#endif
