import { expect, it } from 'vitest';
import { valueAt } from '@/shared/yaml/value';
import { read, write } from './anyValue';
import { type Division, divisionOf, schedulingOf } from './division';

it.each([['a text', 'a text'], ['1', 1], ['1.20', '1.20'], ['0x1', '0x1'], ['-2.5', -2.5], ['true', true], ['"true"', 'true'], ['null', null], ['{"a":[1]}', { a: [1] }], ['', ''], [' x ', ' x ']])('reads %j', (text, value) => {
  expect(read(text)).toEqual({ ok: true, value });
});

it.each([undefined, '', 'x', '1', 'true', '[x', '"', 1, false, null, { a: 'b' }, ['x']])('writes %j so that it reads the same', (value) => {
  expect(read(write(value))).toEqual({ ok: true, value: value === undefined ? '' : value });
});

it('says so when JSON is half written', () => {
  expect(read('{"a":')).toEqual({ ok: false });
});

it.each<Division>(['duplicated', 'even', 'static', 'dynamic', 'aggregated'])('%s reads as it was written', (division) => {
  expect(divisionOf(schedulingOf(division, ['a', 'b']))).toBe(division);
});

it('knows that an empty object divides evenly and that the type Duplicated does not divide', () => {
  expect(divisionOf({})).toBe('even');
  expect(divisionOf({ replicaSchedulingType: 'Duplicated' })).toBe('duplicated');
});

it('weighs two clusters where there are two, and any cluster where there is one', () => {
  const weights = (names: string[]) => valueAt(schedulingOf('static', names), ['weightPreference', 'staticWeightList']);
  expect(weights(['a', 'b', 'c'])).toEqual([{ targetCluster: { clusterNames: ['a'] }, weight: 1 }, { targetCluster: { clusterNames: ['b'] }, weight: 1 }]);
  expect(weights(['a'])).toEqual([{ targetCluster: { clusterNames: ['a'] }, weight: 1 }, { targetCluster: {}, weight: 1 }]);
});
