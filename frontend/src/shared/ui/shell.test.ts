import { expect, it } from 'vitest';
import { folded } from './shell';

it('gives each flag a line, which the shell joins again', () => {
  expect(folded('muster-agent register h:6443 --token t --name a-b')).toBe('muster-agent register h:6443 \\\n  --token t \\\n  --name a-b');
});

it('leaves alone what has lines already', () => {
  expect(folded('a \\\n  --b --c')).toBe('a \\\n  --b --c');
});
