/**
 * Counts things.
 */
export class Counter extends Base {
  /** How many. */
  total = 0;
  private step: number = 1;

  /** Adds one. */
  add(by: number, times = 2): bigint {
    const sum = this.total + by;
    this.grow(sum, ["a", "b"]);
    return sum;
  }

  // grows
  private grow(to: number, names: string[]) {
    const goal = to;
    this.total = names.map((name) => goal)[0];
  }
}

export interface Sized {
  size: number;
  name(): string;
}

export const LIMIT = 10;

/** Makes one. */
export function make(step: number): Counter {
  return new Counter();
}

function hidden() {
  return 1;
}
