export const make = () => ({ a: 1 });
export function told(a: number, b: number, c: number) {
  return (a + b) * c;
}
