import { expect, it } from 'vitest';
import { compactAge, countdown } from './time';
import { en } from './words.en';
import { zh } from './words.zh';

it.each([[-5_000, '0s'], [119_000, '119s'], [120_000, '2m'], [7_199_000, '119m'], [7_200_000, '2h'], [172_799_000, '47h'], [172_800_000, '2d']])('%d ms is %s', (ms, text) => {
  expect(compactAge(en, ms)).toBe(text);
});

it('speaks 中文', () => {
  expect(compactAge(zh, 180_000)).toBe('3 分');
});

it('counts down', () => {
  expect(countdown(en, 86_399_000)).toBe('23:59:59');
  expect(countdown(en, 90_000_000)).toBe('1d 01:00:00');
  expect(countdown(en, -1)).toBe('00:00:00');
});
