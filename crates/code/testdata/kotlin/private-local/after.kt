package counts

/** Counts things. */
@Counted
open class Counter(val name: String) : Base() {
  /** How many. */
  var total = 0
  private var step = 1

  /** Adds one. */
  fun add(by: Int, names: List<String> = listOf("a")): Int {
    val sum = total + by
    return sum
  }

  // grows
  private fun grow(to: Int) {
    val aim = to
    total = aim
  }

  companion object {
    const val LIMIT = 10
  }
}

enum class Mode(val code: Int) {
  READ(1),
  WRITE(2),
}

/** Makes one. */
fun make(step: Int): Counter {
  return Counter("a")
}
