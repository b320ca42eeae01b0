import Foundation

/// Keeps nodes. All of them.
@MainActor
public final class Store<T: Comparable>: Base<T>, Sized {
    /// How many at most.
    public static let limit = 10
    private(set) var a = 1, b: Int?
    lazy var nodes: [T] = []
    var total: Int { nodes.count }
    var watched: Int = 0 {
        didSet { print("watched \(watched)") }
    }

    public init(name: String, size: Int = 1) {
        super.init()
    }

    deinit {}

    /// Adds one.
    @discardableResult
    public func add(_ node: T, to other: Store<T>, by count: Int = 1) throws -> Bool {
        func local() {}
        let sum = count + 1
        return sum > Store.limit
    }

    func add(_ node: T) -> Bool { true }

    subscript(index: Int) -> T { nodes[index] }

    class func make() -> Store { fatalError() }

    static func == (one: Store, other: Store) -> Bool { true }

    enum Mode: Int, CaseIterable {
        case read = 1, write
        indirect case nested(Mode)
    }
}

struct Entry {
    let key: String
    fileprivate var value: Int
}

protocol Walker: AnyObject {
    associatedtype Item
    var depth: Int { get }
    func walk(_ node: Item)
    init(depth: Int)
}

actor Counter {
    func next() async -> Int { 1 }
}

public extension Store where T == Int {
    func sum() -> Int { 0 }
    private func hidden() {}
}

extension Array.Index: Sized {}

typealias Nodes = [Entry]

func free(_ a: Int) -> Int { a }

let top = 1
