import { expect, it } from 'vitest';
import { merge } from './merge';

it.each<[what: string, base: unknown, mine: unknown, theirs: unknown, value: unknown, conflicts: unknown[]]>([
  ['nobody changed anything', { a: 1 }, { a: 1 }, { a: 1 }, { a: 1 }, []],
  ['only I', { a: 1 }, { a: 2 }, { a: 1 }, { a: 2 }, []],
  ['only they', { a: 1 }, { a: 1 }, { a: 2 }, { a: 2 }, []],
  ['both alike', { a: 1 }, { a: 2 }, { a: 2 }, { a: 2 }, []],
  ['both, different fields', { a: 1, b: 1 }, { a: 2, b: 1 }, { a: 1, b: 2 }, { a: 2, b: 2 }, []],
  ['both, the same field', { a: 1 }, { a: 2 }, { a: 3 }, { a: 2 }, [{ path: ['a'], base: 1, mine: 2, theirs: 3 }]],
  ['I removed, they left it', { a: 1, b: 1 }, { b: 1 }, { a: 1, b: 1 }, { b: 1 }, []],
  ['they removed, I left it', { a: 1, b: 1 }, { a: 1, b: 1 }, { b: 1 }, { b: 1 }, []],
  ['they removed what I changed', { a: 1 }, { a: 2 }, {}, { a: 2 }, [{ path: ['a'], base: 1, mine: 2, theirs: undefined }]],
  ['both add clusters', ['m1'], ['m1', 'm2'], ['m1', 'm3'], ['m1', 'm2', 'm3'], []],
  ['I take a cluster out, they add one', ['m1', 'm2'], ['m2'], ['m1', 'm2', 'm3'], ['m2', 'm3'], []],
  ['both take the same out', ['m1', 'm2'], ['m2'], ['m2'], ['m2'], []],
  ['items of one length merge by place', [{ w: 1 }, { w: 1 }], [{ w: 2 }, { w: 1 }], [{ w: 1 }, { w: 3 }], [{ w: 2 }, { w: 3 }], []],
  ['I append, they change', [{ w: 1 }], [{ w: 1 }, { w: 9 }], [{ w: 2 }], [{ w: 2 }, { w: 9 }], []],
  ['both append', [{ w: 1 }], [{ w: 1 }, { w: 8 }], [{ w: 1 }, { w: 9 }], [{ w: 1 }, { w: 8 }, { w: 9 }], []],
  ['both make the same new object', {}, { s: { a: 1 } }, { s: { b: 2 } }, { s: { a: 1, b: 2 } }, []],
])('%s', (_, base, mine, theirs, value, conflicts) => {
  expect(merge(base, mine, theirs)).toEqual({ value, conflicts });
});

it('asks when one side removed an item that the other changed', () => {
  const { conflicts } = merge({ l: [{ a: 1 }, { a: 2 }] }, { l: [{ a: 1 }] }, { l: [{ a: 1 }, { a: 3 }] });
  expect(conflicts.map((conflict) => conflict.path)).toEqual([['l']]);
});

it('loses no edit in 500 random pairs that touch different fields', () => {
  const keys = Array.from({ length: 12 }, (_, index) => `k${index}`);
  for (let round = 0; round < 500; round++) {
    const base = Object.fromEntries(keys.map((key, index) => [key, { deep: index, list: [index] }]));
    const mine = structuredClone(base);
    const theirs = structuredClone(base);
    keys.forEach((key, index) => {
      const own = (round >> index % 9) & 1;
      const side = own ? mine : theirs;
      const held = side[key];
      if (held) { held.deep = 100 + round; held.list.push(round); }
    });
    const merged = merge(base, mine, theirs);
    expect(merged.conflicts).toEqual([]);
    for (const key of keys) expect((merged.value as typeof base)[key]).toEqual({ deep: 100 + round, list: [base[key]?.deep, round] });
  }
});
