#include <string>

namespace counts {

/// Counts things.
class Counter : public Base {
public:
    static constexpr int limit = 10;
    int total = 0;

    Counter(int step) : step_(step) {}

    /// Adds one.
    int add(int by, const std::string& name = "a") {
        int sum = total + by;
        return sum; // at last
    }

    virtual int size() const;

private:
    int step_;

    // it grows
    // a lot

    void grow(int to) {
        int goal = to;
        total = goal;
    }
};

/// Makes one.
Counter make(int step) {
    return Counter(step);
}

}

namespace counts {

int Counter::size() const { return 1; }

}
