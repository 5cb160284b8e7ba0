import { expect, it } from 'vitest';
import { cutAt } from './cut';

it('finds the name that a sentence leads to', () => {
  expect(cutAt('PropagationPolicy a/b holds it.', ['PropagationPolicy a/b', 'b'])).toEqual(['', 'PropagationPolicy a/b', ' holds it.']);
  expect(cutAt('It waits.', ['x', undefined])).toEqual(['It waits.', '', '']);
});
