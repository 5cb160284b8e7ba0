import { stringify } from 'yaml';
import { expect, it } from 'vitest';
import { dialect, parse } from './parse';

it.each([
  ['e2', 'e2'], ['E10', 'E10'], ['-e2', '-e2'], ['.', '.'], ['-.', '-.'], ['.e2', '.e2'],
  ['1e3', 1000], ['1.5e3', 1500], ['.5e1', 5], ['1.', 1], ['.5', 0.5], ['-1.25', -1.25], ['1_000', 1000], ['.nan', NaN], ['.inf', Infinity],
  ['on', true], ['12:30', '12:30'], ['010', 8],
])('reads %s as the API server does', (text, want) => {
  expect(parse(`clusterNames: [${text}]`).value).toEqual({ clusterNames: [want] });
});

it.each(['e2', '1e3', 'on', '.'])('writes the text %s so that it is read as text', (text) => {
  expect(parse(`a: ${stringify(text, dialect)}`).value).toEqual({ a: text });
});
