import { expect, it } from 'vitest';
import { clusterNameFrom, isClusterName, parseLabels, splitList } from './rules';

it.each([['edge-7', true], ['7', true], ['a'.repeat(48), true], ['a'.repeat(49), false], ['', false], ['Edge', false], ['-a', false], ['a-', false], ['a.b', false], ['a_b', false]])('cluster name %s: %s', (name, good) => {
  expect(isClusterName(name)).toBe(good);
});

it.each([['kind-edge-7', 'kind-edge-7'], ['arn:aws:eks:eu-1:123:cluster/Prod', 'arn-aws-eks-eu-1-123-cluster-prod'], ['kubernetes-admin@kubernetes', 'kubernetes-admin-kubernetes'], ['___', ''], [`${'a'.repeat(47)}--b`, 'a'.repeat(47)]])('names a cluster after the context %s', (context, name) => {
  expect(clusterNameFrom(context)).toBe(name);
});

it('reads labels', () => {
  expect(parseLabels(' env=prod , team=,a/b=c=d')).toEqual({ env: 'prod', team: '', 'a/b': 'c=d' });
  expect(parseLabels('')).toEqual({});
  expect(parseLabels('env')).toBeUndefined();
  expect(parseLabels('=x')).toBeUndefined();
});

it('splits lists', () => {
  expect(splitList('a, b,,c ')).toEqual(['a', 'b', 'c']);
});
