#pragma once
#include <vector>

namespace example::store {

/// Keeps nodes. All of them.
template <typename T, int N = 4>
class STORE_API Store final : public Base<T>, private other::Sized {
    int hidden_ = 0;

public:
    using value_type = T;
    typedef T* pointer;
    static constexpr int limit = 10;

    explicit Store(int size) : hidden_(size), Base<T>(size) {}
    ~Store() override;
    Store(const Store&) = delete;

    /// Adds one.
    template <typename U>
    bool add(const T& node, U by = U(1)) const noexcept;
    bool add(const T& node);
    Store& operator=(const Store& other);
    explicit operator bool() const { return true; }

    struct Entry {
        T key;
    };
    enum class Mode : int { read = 1, write };

protected:
    virtual int size() const = 0;
    friend class Walker;
};

template <>
struct Store<int, 1> {
    int one;
};

template <typename T>
concept Keyed = requires(T t) { t.key; };

inline namespace v2 {
int free_function(int a, ...);
}

namespace {
int local_value = 1;
}

}  // namespace example::store

extern "C" {
int c_function(void);
}
