export type Size<T extends string = "a"> = "small" | Map<string, T> | T["length"];

export function told(name: string, sizes: Map<string, number>): string {
  const text = `${name} has ${sizes.get(name)}`;
  const of = (it: number) => it > 1 ? 'it\'s' : text;
  return of(sizes.size) + "\n";
}
