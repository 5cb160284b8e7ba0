import { expect, test } from 'vitest';
import { found, namesIn } from './state';

test('names are separated by spaces and commas', () => {
  expect(namesIn(' shop, web\nops ')).toEqual(['shop', 'web', 'ops']);
  expect(namesIn('  ')).toEqual([]);
});

test('rows are found by a part of their text in any case', () => {
  const rows = [{ name: 'Edge-1' }, { name: 'lab-2' }];
  expect(found(rows, ' EDGE ', (row) => row.name)).toEqual([rows[0]]);
  expect(found(rows, '', (row) => row.name)).toEqual(rows);
});
