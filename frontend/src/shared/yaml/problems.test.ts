import { expect, it } from 'vitest';
import { en } from '@/shared/ui/words.en';
import { zh } from '@/shared/ui/words.zh';
import { parse } from './parse';
import { syntaxProblems } from './problems';

it.each([
  ['a wrong indentation', 'a:\n- kind: b\n   bad: 1\n'], ['a key that is there twice', 'a: 1\na: 2\n'], ['a tab', 'a:\n\tb: 1\n'],
  ['an open bracket', 'a: [1\nb: 2\n'], ['a second object', 'a: 1\n---\nb: 2\n'], ['an open quote', 'a: "x\n'],
])('says in the reader’s language what is wrong: %s', (_, text) => {
  for (const words of [en, zh]) {
    const problems = syntaxProblems(parse(text), words.yamlFaults);
    expect(problems.length).toBeGreaterThan(0);
    expect(Object.values(words.yamlFaults)).toContain(problems[0]?.message);
  }
});

it('keeps the reader’s own words for what has none here', () => {
  expect(syntaxProblems(parse('a: [1\n'), {})[0]?.message).not.toBe('');
});
