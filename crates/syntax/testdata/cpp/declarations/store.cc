#include "store.h"

namespace example::store {

template <typename T, int N>
bool Store<T, N>::add(const T& node) {
    return size() > 0;
}

Walker::Walker() : depth_(1) {}

int Walker::limit = 3;

}

int main() {
    struct Local {};
    return example::store::free_function(1);
}
