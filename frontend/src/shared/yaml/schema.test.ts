import { expect, it } from 'vitest';
import { policySchemaOf } from '@/test/crd';
import { itemPlace, placeAt } from './cursor';
import { parse, pathAt, rangeOf } from './parse';
import { formatPath, parsePath } from './path';
import { completed, faultsOf, schemaAt } from './schema';

const schema = completed(policySchemaOf('propagationpolicies'));
const text = `apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: x}
spec:
  resourceSelectors:
  - apiVersion: apps/v1
    kind: Deployment
  placement:
    clusterAffinity:
      clusterNames:
      - member1
    replicaScheduling:
      replicaSchedulingType: Divided
`;

it.each([['spec.placement.clusterAffinity.clusterNames[0]', ['spec', 'placement', 'clusterAffinity', 'clusterNames', 0]], ['metadata.labels[app.kubernetes.io/name]', ['metadata', 'labels', 'app.kubernetes.io/name']], ['', []]])('%s is a path', (written, path) => {
  expect(parsePath(written)).toEqual(path);
  expect(formatPath(path)).toBe(written);
});

it('finds nothing wrong with what is right', () => {
  expect(faultsOf(schema, parse(text).value)).toEqual([]);
});

it.each<[from: string, to: string, what: string, path: string]>([
  ['placement', 'placment', 'unknown', 'spec.placment'],
  ['replicaSchedulingType: Divided', 'replicaSchedulingType: Shared', 'enum', 'spec.placement.replicaScheduling.replicaSchedulingType'],
  ['clusterNames:\n      - member1', 'clusterNames: member1', 'type', 'spec.placement.clusterAffinity.clusterNames'],
  ['    kind: Deployment\n', '', 'missing', 'spec.resourceSelectors[0]'],
  ['metadata: {name: x}\n', '', 'missing', ''],
  ['spec:\n', 'spec:\n  priority: high\n', 'type', 'spec.priority'],
])('%s as %s is a fault: %s', (from, to, what, path) => {
  const faults = faultsOf(schema, parse(text.replace(from, to)).value);
  expect(faults.map((fault) => [fault.what, formatPath(fault.path)])).toEqual([[what, path]]);
  if (what === 'unknown') expect(faults[0]).toHaveProperty('near', 'placement');
});

it('says what a field is for', () => {
  expect(schemaAt(schema, ['spec', 'placement', 'clusterAffinity', 'clusterNames'])?.description).toBeTruthy();
  expect(schemaAt(schema, ['spec', 'nothing'])).toBeUndefined();
});

it.each<[what: string, before: string, after: string, at: string, path: string]>([
  ['a key in a map', 'spec:\n  placement:\n    clu', '\n  priority: 1\n', 'key', 'spec.placement'],
  ['a key on an empty line', 'spec:\n  placement:\n    clusterAffinity: {}\n    ', '\n', 'key', 'spec.placement'],
  ['a key of the top', 'kind: X\nsp', '\n', 'key', ''],
  ['a value', 'spec:\n  placement:\n    replicaScheduling:\n      replicaSchedulingType: D', '\n', 'value', 'spec.placement.replicaScheduling.replicaSchedulingType'],
  ['a value that is not there yet', 'spec:\n  conflictResolution: ', '\n', 'value', 'spec.conflictResolution'],
  ['the first key of an item', 'spec:\n  resourceSelectors:\n  - api', '\n', 'key', 'spec.resourceSelectors[0]'],
  ['the second key of an item', 'spec:\n  resourceSelectors:\n  - apiVersion: v1\n    ki', '\n', 'key', 'spec.resourceSelectors[0]'],
  ['a key that is there already', 'spec:\n  pri', 'ority: 1\n', 'key', 'spec'],
])('completes %s', (_, before, after, at, path) => {
  const place = placeAt(before + after, before.length);
  expect(place && [place.at, formatPath(place.path)]).toEqual([at, path]);
});

it('completes an item of a list', () => {
  const before = 'spec:\n  placement:\n    clusterAffinity:\n      clusterNames:\n      - member1\n      - mem';
  expect(itemPlace(before, before.length)?.path).toEqual(['spec', 'placement', 'clusterAffinity', 'clusterNames', 1]);
});

it('offers nothing inside of a comment', () => {
  expect(placeAt('spec:\n  # pla', 13)).toBeUndefined();
});

it('goes from field to line and back', () => {
  const parsed = parse(text);
  for (const written of ['kind', 'metadata.name', 'spec.resourceSelectors[0].kind', 'spec.placement.clusterAffinity.clusterNames[0]', 'spec.placement.replicaScheduling.replicaSchedulingType']) {
    const range = rangeOf(parsed, parsePath(written));
    expect(range.exact, written).toBe(true);
    expect(formatPath(pathAt(parsed, range.to)), written).toBe(written);
  }
  expect(rangeOf(parsed, ['spec', 'placement', 'spreadConstraints'])).toMatchObject({ exact: false, from: text.indexOf('placement') });
});
