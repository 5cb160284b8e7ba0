import type { ReactNode } from 'react';
import { expect, it } from 'vitest';
import { render } from '@/test/render';
import { PolicyState } from './policyColumns';
import { ClusterNames, MissLine, Troubles } from './Troubles';
import type { Miss, PolicyRow } from './types';

const row = (facts: Partial<PolicyRow>): PolicyRow => ({
  kind: 'PropagationPolicy', resource: 'propagationpolicies', namespace: 'shop', name: 'web', uid: 'u', selectors: [], replicas: 'duplicated',
  suspended: false, lazy: false, createdAt: '2026-11-21T12:00:00Z', resourceVersion: '1', generation: 1, removing: false, ...facts,
});
const miss = (cause: Miss['cause'], selector: Partial<Miss['selector']> = {}, instead?: string): Miss => ({
  cause, instead, selector: { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop', ...selector },
});

/** What is read there; the theme puts its styles beside it. */
const said = async (shown: ReactNode) => (await render(<p id="said">{shown}</p>)).querySelector('#said')?.textContent;

it.each<[Miss, string]>([
  [miss('no-kind', { kind: 'Till', apiVersion: 'shop.io/v1' }), 'This hub serves no Till in shop.io/v1. Install its definition on the hub, or correct apiVersion and kind.'],
  [miss('other-version', { apiVersion: 'apps/v1beta1' }, 'apps/v1'), 'This hub sends Deployment as apps/v1, not as apps/v1beta1. Write apiVersion: apps/v1.'],
  [miss('kind-kept', { kind: 'Event' }), 'Objects of the kind Event stay on the hub. Choose another kind.'],
  [miss('no-namespace'), 'There is no namespace shop. Create shop, or correct the selector.'],
  [miss('namespace-kept', { namespace: 'kube-system' }), 'Nothing is sent from the namespace kube-system. Keep the objects in another namespace.'],
  [miss('no-name', { name: 'wbe' }), 'There is no Deployment called wbe in the namespace shop. Create it, or correct the name.'],
  [miss('no-name', { name: 'web' }, 'other'), 'There is no Deployment called web in the namespace shop. The namespace other has one. Create it here, or make the policy for other.'],
  [miss('no-labels', { labelSelector: 'app=x' }), 'No Deployment in the namespace shop has the labels app=x. Label an object, or correct the selector.'],
  [miss('no-object', { namespace: undefined }), 'There is no Deployment on the hub. Create one, or correct the selector.'],
])('says what is missing and what to do: $cause', async (one, text) => {
  expect(await said(<MissLine row={row({ misses: [one] })} />)).toBe(text);
  const page = await render(<Troubles row={row({ misses: [one] })} />);
  expect(page.querySelectorAll('li').length).toBe(1);
  expect(page.textContent).toContain(text);
});

it('counts further selectors in the line of the list', async () => {
  expect(await said(<MissLine row={row({ misses: [miss('no-object'), miss('no-namespace'), miss('no-object')] })} />)).toMatch(/And 2 more selectors\.$/);
});

it('shows a policy that matches nothing as such, and says nothing of one that does', async () => {
  expect(await said(<PolicyState row={row({ misses: [miss('no-object')] })} />)).toBe('Matches nothing');
  expect(await said(<PolicyState row={row({})} />)).toBe('Active');
  expect(await said(<Troubles row={row({})} />)).toBe('');
});

it('leads to clusters that there are, and says of others that there are none', async () => {
  const place = await render(<ClusterNames names={['edge', 'egde']} missing={['egde']} />);
  expect([...place.querySelectorAll('a')].map((link) => link.getAttribute('href'))).toEqual(['/clusters/edge']);
  expect(await said(<ClusterNames names={['edge', 'egde']} missing={['egde']} />)).toBe('edge, egde (no such cluster)');
  const page = await render(<Troubles row={row({ missingClusters: ['egde'] })} />);
  for (const text of ['There is no cluster egde', 'correct the name in the policy']) expect(page.textContent).toContain(text);
});
