import { expect, test } from 'vitest';
import { conditionTone, workState } from './state';

test.each([
  ['', '', 'pending'], ['Unknown', '', 'pending'], ['False', 'True', 'failed'], ['True', '', 'applied'], ['True', 'False', 'applied'], ['True', 'True', 'available'],
])('a work with Applied %j and Available %j is %s', (applied, available, want) => {
  expect(workState({ applied, available })).toBe(want);
});

test('a condition that nobody knows is never green', () => {
  expect(['True', 'False', 'Unknown', ''].map(conditionTone)).toEqual(['ok', 'bad', 'unknown', 'unknown']);
});
