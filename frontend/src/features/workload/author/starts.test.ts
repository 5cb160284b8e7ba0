import { expect, it } from 'vitest';
import { Draft } from '@/shared/yaml/draft';
import { parse } from '@/shared/yaml/parse';
import { valueAt } from '@/shared/yaml/value';
import { renamed, startKeys, starts } from './starts';

it.each(startKeys)('%s is one readable object that says its kind', (key) => {
  const parsed = parse(starts[key]);
  expect(parsed.faults).toEqual([]);
  expect(valueAt(parsed.value, ['kind'])).toBe(key);
});

it('names after the new name what was named after the old one, and undo takes all of it back', () => {
  const draft = new Draft(starts.Deployment);
  for (const name of ['s', 'sh', 'shop']) draft.setAll(renamed(draft.get().sound.value, name));
  const held = (path: (string | number)[]) => valueAt(draft.get().parsed.value, path);
  expect(held(['metadata', 'name'])).toBe('shop');
  expect(held(['spec', 'selector', 'matchLabels', 'app'])).toBe('shop');
  expect(held(['spec', 'template', 'metadata', 'labels', 'app'])).toBe('shop');
  expect(held(['spec', 'template', 'spec', 'containers', 0, 'name'])).toBe('shop');
  while (draft.get().canUndo) draft.undo();
  expect(draft.get().text).toBe(starts.Deployment);
});

it('leaves alone what has a name of its own, and takes nobody along to an empty name', () => {
  const value = { metadata: { name: 'a' }, spec: { selector: { app: 'b' } } };
  expect(renamed(value, 'c')).toEqual([[['metadata', 'name'], 'c']]);
  expect(renamed({ metadata: { name: 'a' }, spec: { selector: { app: 'a' } } }, '')).toEqual([[['metadata', 'name'], '']]);
});
