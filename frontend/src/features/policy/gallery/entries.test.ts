import { expect, it } from 'vitest';
import { policySchemaOf } from '@/test/crd';
import { parse } from '@/shared/yaml/parse';
import { completed, faultsOf } from '@/shared/yaml/schema';
import { valueAt } from '@/shared/yaml/value';
import { kindOf, kinds } from '../kinds';
import { en } from '../words.en';
import { blank, carrying, entries, entryOf, fleetOf } from './entries';

const fleet = fleetOf([{ name: 'lost', region: 'zz', state: 'unknown' }, { name: '1e3', region: 'on', state: 'ready' }, { name: 'edge-7', region: '', state: 'ready' }]);

it('has twelve entries, each with words', () => {
  expect(entries).toHaveLength(12);
  for (const asked of ['Spread by zone', 'Primary and backup', 'Canary by label']) expect(Object.values(en.entries).map((words) => words.title)).toContain(asked);
  expect(entries.map((entry) => entry.key).sort()).toEqual(Object.keys(en.entries).sort());
  expect(new Set(entries.map((entry) => entryOf(entry.key)?.key)).size).toBe(12);
});

it('prefers clusters that answer', () => {
  expect(fleet).toEqual({ names: ['"1e3"', 'edge-7'], regions: ['"on"', 'zz'] });
  expect(fleetOf([]).names).toEqual(['cluster1', 'cluster2']);
});

it.each(entries.map((entry) => [entry.key, entry] as const))('%s is valid by the CRD', (_, entry) => {
  const { value, faults } = parse(entry.yaml(fleet));
  expect(faults).toEqual([]);
  expect(faultsOf(completed(policySchemaOf(entry.resource)), value)).toEqual([]);
  expect(valueAt(value, ['kind'])).toBe(kindOf(entry.resource)?.kind);
  expect(valueAt(value, ['metadata', 'namespace'])).toBe(kindOf(entry.resource)?.namespaced ? 'default' : undefined);
});

it.each(kinds.map((kind) => [kind.kind, kind] as const))('a blank %s can be read', (name, { resource }) => {
  const { value, faults } = parse(blank(resource));
  expect(faults).toEqual([]);
  expect(valueAt(value, ['kind'])).toBe(name);
});

it.each(['propagationpolicies', 'clusterpropagationpolicies', 'overridepolicies', 'clusteroverridepolicies'] as const)('a policy of %s for one object means that object', (resource) => {
  const value = parse(carrying(resource, { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop', name: '1e3' })).value;
  expect(valueAt(value, ['metadata', 'name'])).toBe('1e3');
  expect(valueAt(value, ['metadata', 'namespace'])).toBe(resource.startsWith('cluster') ? undefined : 'shop');
  expect(valueAt(value, ['spec', 'resourceSelectors'])).toEqual([{ apiVersion: 'apps/v1', kind: 'Deployment', name: '1e3' }]);
});
