/** The lines of a text (from 0) that another does not have, by the longest run of lines that both have in order. */
export function newLines(before: string, after: string): Set<number> {
  const a = before.split('\n');
  const b = after.split('\n');
  const lengths = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  const at = (i: number, j: number) => lengths[i]?.[j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    const row = lengths[i];
    for (let j = b.length - 1; j >= 0 && row; j--) row[j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  }
  const fresh = new Set<number>();
  for (let i = 0, j = 0; j < b.length;) {
    if (i < a.length && a[i] === b[j]) { i++; j++; } else if (i < a.length && at(i + 1, j) >= at(i, j + 1)) i++;
    else fresh.add(j++);
  }
  return fresh;
}
