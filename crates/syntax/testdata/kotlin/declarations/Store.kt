@file:JvmName("Stores")

package org.example.store

import org.example.graph.Node

/**
 * Keeps nodes. All of them.
 *
 * @param T what is kept
 */
@Deprecated("2")
abstract class Store<T : Comparable<T>>(
  val name: String,
  private var size: Int = 0,
  seed: Long,
) : Base<T>(seed), Sized {
  /** How many at most. */
  protected open val nodes: List<T> = emptyList()
  var depth: Int = 1
    private set
  internal val total get() = nodes.size
  private val lazyOne by lazy { 1 }

  constructor(name: String) : this(name, 0, 1L)

  init {
    check(size > 0)
  }

  /** Adds one. */
  @Throws(IOException::class)
  override fun add(node: T, by: Int = 1): Boolean {
    fun local() = 1
    val sum = "$size and ${by + 1}"
    return sum.isEmpty()
  }

  fun add(node: T) = nodes.contains(node)

  abstract fun size(): Int

  companion object {
    const val LIMIT = 10
    @JvmStatic fun of(name: String): Store<Int> = TODO()
  }

  enum class Mode(val code: Int) {
    READ(1),
    WRITE(2) {
      override fun run() {}
    };

    open fun run() {}
  }
}

data class Entry<K>(val key: K, val value: String)

annotation class Timed(val value: String = "")

fun interface Walker {
  fun walk(node: Node)
}

object Registry : Sized {
  val all = mutableListOf<Node>()
}

typealias Nodes = List<Node>

fun String.`is kept`(): Boolean = true

private val top = 1
