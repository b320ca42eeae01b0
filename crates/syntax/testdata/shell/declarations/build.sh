#!/bin/sh
# Builds it.

LIMIT=10

# Says what happens.
# And when.
say() {
    local text="$1 of $LIMIT"
    echo "$text"
}

function run {
    say "run" && other_tool --flag
}

if [ -n "$CI" ]; then
    deploy() { run; }
fi

run "$@"
