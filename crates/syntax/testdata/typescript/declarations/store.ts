import Kit, { Base as B, type Sized } from './kit/base';
import * as graph from '../graph/index.js';
import { Other } from "@scope/other";

/**
 * Keeps nodes. All of them.
 * @template T what is kept
 */
@register({ name: "store" })
export abstract class Store<T extends Node = Leaf> extends graph.Base<T> implements Sized, B {
  /** How it is called. */
  @input() private readonly name?: string = "x";
  static #count = 1;
  protected nodes: Map<string, T[]>;

  static {
    Store.#count = 2;
  }

  constructor(private kit: Kit, size = 2) {
    super();
  }

  get size(): number { return 1 }

  @timed
  async load<U>(this: Store<T>, { a, b }: Options, ...rest: string[]): Promise<U> {
    const local = () => new Other(graph.make(a));
    return local;
  }

  load(path: string): void;

  abstract drop(): void;
}

export interface Options extends Sized, graph.Kind<Node> {
  /** A letter. */
  a?: string;
  b(name: string): void;
  new (x: number): Options;
  (y: string): void;
  readonly [key: string]: any;
}

export enum Mode { Read, Write = 4, /** Both. */ All }

export type Leaf = { kind: "leaf"; value: Node } ;
type Either = Leaf | graph.Vertex;

/** Makes one. */
export const make = <T,>(name: string, mode: Mode = Mode.Read): Store<T> => new Impl(name), LIMIT = 10;
let state: Either;

function hidden(x: number): number;
function hidden(x: string): string;
function hidden(x: any) { return Kit.of(x) }

export default function () { hidden(1) }

export namespace Inner.Deep {
  export class Thing {}
  function help() {}
}

declare module "outside" {
  export function outer(): void;
}

class Late {}
export { Late, state as current };
export * from './more';

hidden(2);
