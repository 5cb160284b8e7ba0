import { expect, it } from 'vitest';
import { parse } from './parse';
import { reconcile } from './reconcile';

const text = `# whole
apiVersion: policy.karmada.io/v1alpha1 # group
kind: PropagationPolicy
metadata:
  # who
  name: "nginx"   # quoted
spec:
  # what
  resourceSelectors:
  - apiVersion: apps/v1 # first
    kind: Deployment
    # which
    name: nginx
  placement:
    clusterAffinity:
      clusterNames:
      # near
      - member1 # paris
      - member2
      # the end
  flow: {a: 1, b: [x, z]}
# bye
`;

it.each<[what: string, path: (string | number)[], value: unknown, from: string, to: string]>([
  ['a text keeps its quotes and comment', ['metadata', 'name'], 'other', 'name: "nginx"   # quoted', 'name: "other"   # quoted'],
  ['a text that reads as a number is quoted', ['kind'], '1.20', 'kind: PropagationPolicy', 'kind: "1.20"'],
  ['a text that the server reads as a boolean is quoted', ['kind'], 'on', 'kind: PropagationPolicy', 'kind: "on"'],
  ['a key comes last', ['metadata', 'namespace'], 'default', 'name: "nginx"   # quoted\n', 'name: "nginx"   # quoted\n  namespace: default\n'],
  ['missing parents are made', ['spec', 'failover', 'cluster', 'purgeMode'], 'Directly', '  flow: {a: 1, b: [x, z]}\n', '  flow: {a: 1, b: [x, z]}\n  failover:\n    cluster:\n      purgeMode: Directly\n'],
  ['an item is added behind the last', ['spec', 'placement', 'clusterAffinity', 'clusterNames'], ['member1', 'member2', 'm3'], '      - member2\n', '      - member2\n      - m3\n'],
  ['an item goes with its comment', ['spec', 'placement', 'clusterAffinity', 'clusterNames'], ['member2'], '      - member1 # paris\n', ''],
  ['an item is added before', ['spec', 'placement', 'clusterAffinity', 'clusterNames'], ['m0', 'member1', 'member2'], '      - member1', '      - m0\n      - member1'],
  ['the first key of an item goes', ['spec', 'resourceSelectors', 0], { kind: 'Deployment', name: 'nginx' }, '- apiVersion: apps/v1 # first\n    kind', '- kind'],
  ['a whole list goes', ['spec', 'resourceSelectors', 0, 'name'], undefined, '    name: nginx\n', ''],
  ['a flow map grows', ['spec', 'flow', 'c'], 'z z', 'b: [x, z]}', 'b: [x, z], c: "z z"}'],
  ['a flow list shrinks', ['spec', 'flow', 'b'], ['z'], '[x, z]', '[z]'],
  ['a block becomes empty', ['spec', 'placement', 'clusterAffinity'], {}, 'clusterAffinity:\n      clusterNames:\n      # near\n      - member1 # paris\n      - member2\n', 'clusterAffinity: {}\n'],
  ['a comment above the last entry stays', ['metadata', 'name'], undefined, '  name: "nginx"   # quoted\n', '  {}\n'],
])('%s', (_, path, value, from, to) => {
  expect(text).toContain(from);
  expect(reconcile(text, path, value)).toBe(text.replace(from, to));
});

it.each(['a: 1', 'a:\n', 'a: # why\n', '- b\n-\n', '', '# only this\n', 'a: |\n  x\n  y\nb: 2\n', 'a: {}\n'])('puts into %j without losing it', (start) => {
  const value = parse(start).value;
  const path = Array.isArray(value) ? [2, 'k'] : ['n', 'k'];
  const next = reconcile(start, path, ['v', 'w: x', 'multi\nline\n']);
  expect(parse(next).faults).toEqual([]);
  expect(next.includes('#')).toBe(start.includes('#'));
  expect(reconcile(next, path.slice(0, 1), undefined).trim()).toBe(start.trim() === '' || start.startsWith('#') ? `${start}{}`.trim() : start.trim());
});

it('fills again what became empty below a comment', () => {
  const list = 'a:\n# why\n- x # gone\nb: 1\n';
  const empty = reconcile(list, ['a'], []);
  expect(empty).toBe('a:\n# why\n  []\nb: 1\n');
  expect(reconcile(empty, ['a'], [{ k: 1, l: 2 }])).toBe('a:\n# why\n  - k: 1\n    l: 2\nb: 1\n');
});

it('lets go of an alias instead of changing what others refer to', () => {
  const shared = 'a: &x\n  k: 1\nb: *x\n';
  expect(parse(reconcile(shared, ['b'], { k: 2 })).value).toEqual({ a: { k: 1 }, b: { k: 2 } });
});
