import { expect, it } from 'vitest';
import { closeSession, openSession } from './session';

it('keeps what was typed for whoever opens the page again, and says so', () => {
  const first = openSession('ada/new/Job', 'a: 1\n', 'YAML');
  expect(openSession('ada/new/Job', 'a: 1\n', 'YAML')).toBe(first);
  expect(first.restored).toBe(false);
  first.draft.set(['a'], 2);
  const again = openSession('ada/new/Job', 'a: 9\n', 'YAML');
  expect(again).toBe(first);
  expect([again.restored, again.draft.get().text]).toEqual([true, 'a: 2\n']);
  expect(openSession('bob/new/Job', 'a: 1\n', 'YAML').draft.get().text).toBe('a: 1\n');
  closeSession('ada/new/Job');
  expect(openSession('ada/new/Job', 'a: 9\n', 'YAML').draft.get().text).toBe('a: 9\n');
});
