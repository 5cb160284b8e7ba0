import { expect, it } from 'vitest';
import { gainsOf } from './gains';
import type { Preview, PreviewItem } from './types';

const item = (over: Partial<PreviewItem>): PreviewItem => ({ apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default', name: 'nginx', takes: true, why: '', whyCode: 'preview.takes', chosen: [], leaves: [], excluded: [], ...over });
const preview = (...items: PreviewItem[]): Preview => ({ valid: true, problems: [], templates: { matched: items.length, hidden: 0, items }, clustersTotal: 3, tookMillis: 1 });

it.each<[what: string, items: PreviewItem[], gains: Partial<ReturnType<typeof gainsOf>>]>([
  ['nothing matches', [], { matched: 0, gain: 0, lose: 0 }],
  ['two clusters are new', [item({ chosen: [{ name: 'a', replicas: 2, change: 'new' }, { name: 'b', replicas: 2, change: 'new' }] })], { gain: 2, lose: 0 }],
  ['one keeps, one leaves', [item({ chosen: [{ name: 'a', replicas: 2, now: 2, change: 'kept' }], leaves: [{ name: 'b', replicas: 2 }] })], { gain: 0, lose: 1 }],
  ['more here, fewer there', [item({ chosen: [{ name: 'a', replicas: 3, now: 2, change: 'more' }, { name: 'b', replicas: 1, now: 2, change: 'fewer' }] })], { gain: 1, lose: 1 }],
  ['two objects balance', [item({ chosen: [{ name: 'a', replicas: 3, now: 2, change: 'more' }] }), item({ name: 'web', chosen: [{ name: 'a', replicas: 1, now: 2, change: 'fewer' }] })], { gain: 0, lose: 0 }],
  ['an object without replicas', [item({ kind: 'ConfigMap', chosen: [{ name: 'a', change: 'new' }], leaves: [{ name: 'b' }] })], { gain: 1, lose: 1 }],
  ['no place', [item({ failure: { reason: 'NoClusterFit', message: '0/3' } })], { unfit: 1 }],
  ['overrides', [item({ overrides: [{ cluster: 'a', changes: [{ policy: { kind: 'OverridePolicy', resource: 'overridepolicies', name: 'x' }, rule: 0, overrider: 'imageOverrider', path: '/x', line: 1 }] }, { cluster: 'b', changes: [] }] })], { changed: 1 }],
])('%s', (_, items, gains) => {
  expect(gainsOf(preview(...items))).toMatchObject(gains);
});
