<?php

declare(strict_types=1);

namespace Example\Store;

use Example\Graph\Node;
use function Example\check as verify;

/**
 * Keeps nodes. All of them.
 */
#[Attribute]
abstract class Store extends Base implements Walker, \Countable
{
    use Logs;

    /** How many at most. */
    public const LIMIT = 10, OTHER = 'a';
    private int $a = 1, $b;
    protected static ?Node $last = null;
    public readonly string $name;

    public function __construct(private Node $root, protected int $depth = 1)
    {
        $this->name = "of {$root->name}";
    }

    /** Adds one. */
    #[Timed('x')]
    final public function add(Node $node, int ...$by): bool
    {
        $sum = count($by);
        return $sum > self::LIMIT;
    }

    abstract protected function size(): int;

    private static function help() {}
}

interface Walker extends Sized
{
    public function walk(Node $node);
}

trait Logs
{
    private function log($text) {}
}

enum Mode: int
{
    case Read = 1;
    case Write = 2;

    const FIRST = self::Read;
}

function make(string $name = 'a'): Store
{
    return new class extends Store {};
}

if (!function_exists('later')) {
    function later() {}
}

const VERSION = '1';

make();
