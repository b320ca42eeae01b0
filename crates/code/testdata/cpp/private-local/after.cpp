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
        return sum;
    }

    virtual int size() const;

private:
    int step_;

    // grows

    void grow(int to) {
        int aim = to;
        total = aim;
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
