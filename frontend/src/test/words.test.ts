/** Neither language may lack a word: all dictionaries, key by key, with every function called. */
import { describe, expect, it } from 'vitest';

type Part = Record<string, unknown>;
const english = import.meta.glob<Part>('/src/**/*.en.ts', { eager: true, import: 'en' });
const chinese = import.meta.glob<Part>('/src/**/*.zh.ts', { eager: true, import: 'zh' });

/** What is the same in both: names of products, kinds, protocols, units and examples. */
const shared = /^([\s\d.,:：/()~%·•–…<>=（），-]|\b(Push|Pull|Work|CPU|Pod|Pods|ID|DNS|TCP|TLS|API|CLI|kubectl|karmadactl|karmada-agent|muster-agent|env|prod|key|value|team|web|a|English|GiB|YAML|curl|JSON|Karmada|OCM|Open Cluster Management|ManagedCluster|ManifestWork|Placement|Klusterlet|ClusterManager|Operator|clusteradm)\b)*$/;
/** The switch speaks the other language. */
const foreign = ['.otherLanguage', '.switchLanguage'];
const han = /\p{Script=Han}/u;

function texts(part: unknown, path: string): [string, string][] {
  if (typeof part === 'string') return [[path, part]];
  if (typeof part === 'function') {
    const call = part as (...values: unknown[]) => unknown;
    const samples = [1, 2].map((n) => call(...Array.from({ length: call.length }, () => n)));
    return samples.map((text, index) => [`${path}(${index + 1})`, String(text)]);
  }
  return Object.entries(part as Part).flatMap(([key, value]) => texts(value, `${path}.${key}`));
}

function shape(part: unknown): unknown {
  if (typeof part !== 'object' || part === null) return typeof part;
  return Object.fromEntries(Object.entries(part).sort(([a], [b]) => a.localeCompare(b)).map(([key, value]) => [key, shape(value)]));
}

it('finds the dictionaries', () => {
  expect(Object.keys(english).length).toBeGreaterThan(8);
  expect(Object.keys(chinese).map((path) => path.replace('.zh.', '.en.')).sort()).toEqual(Object.keys(english).sort());
});

describe.each(Object.keys(english))('%s', (path) => {
  const en = english[path];
  const zh = chinese[path.replace('.en.', '.zh.')];

  it('has the same words in both languages', () => {
    expect(shape(zh)).toEqual(shape(en));
  });

  it('is really written in each language', () => {
    for (const [where, text] of texts(zh, '')) {
      if (!foreign.includes(where)) expect(han.test(text) || shared.test(text), `${where}: ${text}`).toBe(true);
    }
    for (const [where, text] of texts(en, '')) {
      expect(text.length, where).toBeGreaterThan(0);
      if (!foreign.includes(where)) expect(han.test(text), `${where}: ${text}`).toBe(false);
    }
  });

  it('keeps the house’s tone', () => {
    for (const [where, text] of texts(en, '')) expect(text, where).not.toMatch(/\bplease\b|successfully|!/i);
  });
});
