/// Counts things.
@Counted
public class Counter: Base {
    public static let limit = 10
    public var total = 0
    private var step = 1
    public var more = 2

    /// Adds one.
    public func add(by count: Int, names: [String] = ["a"]) -> Int {
        let sum = total + count
        return sum
    }

    // grows
    private func grow(to: Int) {
        let goal = to
        total = goal
    }
}

public enum Mode: Int {
    case read = 1, write = 2
}

extension Counter {
    func more() -> Int { 1 }
}

/// Makes one.
public func make(step: Int) -> Counter {
    return Counter()
}
