<?php

namespace Counts;

/** Counts things. */
#[Counted]
class Counter extends Base
{
    /** How many at most. */
    public const LIMIT = 10;
    public int $total = 0;
    private $step = 2;

    /** Adds one. */
    public function add(int $by, array $names = ['a']): int
    {
        $sum = $this->total + $by;
        return $sum;
    }

    // grows
    private function grow(int $to)
    {
        $goal = $to;
        $this->total = $goal;
    }
}

/** Makes one. */
function make(int $step): Counter
{
    return new Counter();
}
