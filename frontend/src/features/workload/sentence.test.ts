import { expect, it } from 'vitest';
import { aboutCluster, cutAt, fill, reworded, sentence } from './sentence';
import { en } from './words.en';
import { zh } from './words.zh';

const places = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map((match) => match[1]).sort();

it.each(Object.keys(en.facts))('%s says the same in both languages', (code) => {
  expect(places(zh.facts[code] ?? '')).toEqual(places(en.facts[code] ?? ''));
});

it('says a known sentence in the reader’s language', () => {
  const fact = { text: 'edge-7: 0 of 2 replicas are ready.', code: 'health.unready', params: { cluster: 'edge-7', ready: 0, wanted: '2' } };
  expect(sentence(zh, fact)).toBe('edge-7：2 个副本中有 0 个就绪。');
  expect(sentence(en, fact)).toBe(fact.text);
});

it('keeps the hub’s text when it knows no better', () => {
  expect(sentence(zh, { text: 'Something new.', code: 'brand.new', params: {} })).toBe('Something new.');
  expect(sentence(zh, { text: 'No params.', code: 'health.unready' })).toBe('No params.');
  expect(sentence(zh, { text: 'No code.' })).toBe('No code.');
});

it('knows a sentence by its English text, the most exact one first', () => {
  for (const [code, text] of Object.entries(en.facts)) {
    const params = Object.fromEntries(places(text).map((name) => [name, `<${name}>`]));
    expect(reworded(zh, fill(text, params) ?? ''), code).toBe(fill(zh.facts[code], params));
  }
  expect(reworded(zh, 'edge-7: admission webhook "x" denied the request: no (really).')).toBe('edge-7：未能应用，admission webhook "x" denied the request: no (really).');
  expect(reworded(zh, 'Free text')).toBe('Free text');
  expect(reworded(en, 'edge-7: the object has not been applied yet.')).toBe('edge-7: the object has not been applied yet.');
});

it('does not name a cluster twice', () => {
  expect(aboutCluster(en, 'edge-7: sending is suspended.', 'edge-7')).toBe('sending is suspended.');
  expect(aboutCluster(zh, 'edge-7: sending is suspended.', 'edge-7')).toBe('下发已暂停。');
  expect(aboutCluster(en, 'edge-70: sending is suspended.', 'edge-7')).toBe('edge-70: sending is suspended.');
});

it('finds the name that a sentence leads to', () => {
  expect(cutAt('PropagationPolicy a/b holds it.', ['PropagationPolicy a/b', 'b'])).toEqual(['', 'PropagationPolicy a/b', ' holds it.']);
  expect(cutAt('It waits.', ['x', undefined])).toEqual(['It waits.', '', '']);
});
