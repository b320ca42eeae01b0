# Counts.
module Counts
  # Counts things.
  class Counter < Base
    include Sized
    LIMIT = 10
    attr_reader :total

    # Adds one.
    def add(by, names = ['a'])
      sum = total + by
      sum
    end

    def empty; 1; end

    private

    def grow(to)
      goal = to
      @total = goal
    end
  end

  # Makes one.
  def self.make(step)
    Counter.new
  end
end

def free
  1
end
