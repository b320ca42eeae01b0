require 'json'

LIMIT = 10

# Keeps things.
module Example
  VERSION = '1'

  def self.make(name = 'a')
    Store.new(name)
  end

  # Keeps nodes.
  # All of them.
  class Store < Base
    include Enumerable
    attr_reader :name, :size
    attr_accessor :depth

    DEFAULTS = { limit: LIMIT }.freeze

    def initialize(name, size: 1)
      @name = name
      @total = "#{size} nodes"
    end

    # Adds one.
    def add(node, *rest, &block)
      grow(node) if empty?
    end

    def ==(other)
      name == other.name
    end

    def name=(value)
      @name = value
    end

    alias plus add

    class << self
      def of(node) = new(node)

      private

      def hidden; end
    end

    private def secret
      1
    end

    def shown; end

    private

    def grow(node)
      @total += 1
    end

    module Inner
      def inside; end
    end

    class Error < StandardError; end
  end

  class Store::Part
    def part; end
    private :part
  end
end

def free(a)
  a
end

free(1)
