// A policy in effect, cluster by cluster: applied, failed, pending, and what somebody changed in a cluster and the hub set back; and the
// list of workloads with their images, replicas and reasons. Both follow on the open page. It goes on with the hub and the clusters of
// editor.spec.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { apply, becomes, chosenPassword, known, kubectl, launch, person, photograph, playPods, read, setting, signIn } from './browser.mjs';

const namespace = 'effects';
const inside = ['-n', namespace];
const east = ['--kubeconfig', setting.eastKubeconfig];
const west = ['--kubeconfig', setting.westKubeconfig];
const at = `/policies/propagationpolicies/${namespace}/settings`;
let browser;
let admin;
let page;

const configMap = (name, data) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace, labels: { of: 'settings' } }, data });

before(async () => {
  browser = await launch();
  admin = await person(browser);
  page = await admin.context.newPage();
  await apply([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }]);
  for (const member of [east, west]) await becomes(() => kubectl(['get', 'namespace', namespace, '-o', 'name', '--ignore-not-found', ...member]), `namespace/${namespace}\n`);
  await apply([configMap('theirs', { color: 'pink' })], ...east);
  await apply([
    configMap('colors', { color: 'blue' }), configMap('theirs', { color: 'blue' }),
    {
      apiVersion: 'policy.karmada.io/v1alpha1', kind: 'PropagationPolicy', metadata: { name: 'settings', namespace },
      spec: { resourceSelectors: [{ apiVersion: 'v1', kind: 'ConfigMap', labelSelector: { matchLabels: { of: 'settings' } } }] },
    },
  ]);
  await page.goto(setting.url);
  await signIn(page, 'admin', chosenPassword);
  await page.getByRole('link', { name: 'cluster2' }).first().waitFor();
});

after(async () => { await browser?.close(); });

const row = (name) => page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });
const color = async (member) => (await read('configmap', 'colors', ...inside, ...member)).data.color;

test('policy in effect: applied and failed are told apart, the failed one with its cause and fix', async () => {
  await known(admin.context, at);
  await page.goto(setting.url + at);
  await row('colors').filter({ hasText: 'cluster1 applied' }).filter({ hasText: 'cluster2 applied' }).waitFor();
  await row('theirs').filter({ hasText: 'cluster1 failed' }).filter({ hasText: 'cluster2 applied' }).waitFor();
  await page.getByText('An object of this name exists there that the hub does not manage. What to do: Rename or delete the object there').waitFor();
  const sum = page.getByRole('main').getByText('2 objects').locator('..');
  await sum.filter({ hasText: '3 applied' }).filter({ hasText: '1 failed' }).waitFor();
  assert.equal(await page.getByText('set back').count(), 0, 'drift before anybody changed anything');
});

test('drift: what was changed behind the hub’s back is set back, and the open page says where and since when', async () => {
  await kubectl(['patch', 'configmap', 'colors', ...inside, ...west, '--type=merge', '-p', '{"data":{"color":"pink"}}']);
  await row('colors').filter({ hasText: /cluster2 applied, set back \d+s ago/ }).waitFor();
  assert.deepEqual(await Promise.all([east, west].map(color)), ['blue', 'blue']);
  await page.getByText('1 changed in the cluster and set back').waitFor();
  assert.doesNotMatch(await row('colors').first().innerText(), /cluster1 applied, set back/);
});

test('workloads: images, replicas, dots with names, and a reason that follows on the open page', async () => {
  const waiting = { reason: 'ContainerCreating' };
  await apply([
    {
      apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'counter', namespace },
      spec: {
        replicas: 2, selector: { matchLabels: { app: 'counter' } },
        template: { metadata: { labels: { app: 'counter' } }, spec: { containers: [{ name: 'counter', image: 'counter:1.0' }, { name: 'helper', image: 'helper:2.0' }] } },
      },
    },
    {
      apiVersion: 'policy.karmada.io/v1alpha1', kind: 'PropagationPolicy', metadata: { name: 'counter', namespace },
      spec: { resourceSelectors: [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'counter' }], placement: { clusterAffinity: { clusterNames: ['cluster1'] } } },
    },
  ]);
  await playPods('counter', [...inside, ...east], waiting, waiting);
  await page.goto(`${setting.url}/workloads?namespace=${namespace}`);
  const shows = async (state, replicas, dot) => {
    const shown = row('counter').filter({ has: page.getByRole('cell', { name: replicas, exact: true }) }).filter({ has: page.getByRole('link', { name: dot, exact: true }) });
    await shown.filter({ hasText: state }).waitFor();
    return shown;
  };
  const reason = (ready) => page.getByText(`cluster1: ${ready} of 2 replicas are ready.`, { exact: true });
  const shown = await shows('In progress', '0/2', 'cluster1: In progress. cluster1: 0 of 2 replicas are ready.');
  await shown.getByRole('cell', { name: 'counter:1.0 +1 more' }).waitFor();
  assert.equal(await shown.getByText('counter:1.0').getAttribute('title'), 'counter:1.0\nhelper:2.0');
  assert.equal(await shown.getByRole('link', { name: 'cluster1: ' }).getAttribute('href'), '/clusters/cluster1');
  await reason(0).waitFor();

  await playPods('counter', [...inside, ...east], 'running', waiting);
  await shows('In progress', '1/2', 'cluster1: In progress. cluster1: 1 of 2 replicas are ready.');
  await reason(1).waitFor();
  assert.equal(await reason(0).count(), 0);
  await playPods('counter', [...inside, ...east], 'running', 'running');
  await shows('OK', '2/2', 'cluster1: OK');
  await reason(1).waitFor({ state: 'detached' });
});

test('a cluster that nobody has heard of yet is pending, and so is told from one that keeps things back', async () => {
  await known(admin.context, at);
  await page.goto(setting.url + at);
  await apply([{ apiVersion: 'cluster.karmada.io/v1alpha1', kind: 'Cluster', metadata: { name: 'quiet' }, spec: { syncMode: 'Pull' } }]);
  const lastTransitionTime = '2026-01-01T00:00:00Z';
  await kubectl(['patch', 'cluster', 'quiet', '--subresource=status', '--type=merge', '-p', JSON.stringify({
    status: {
      apiEnablements: [{ groupVersion: 'v1', resources: [{ name: 'configmaps', kind: 'ConfigMap' }] }],
      conditions: [
        { type: 'Ready', status: 'False', reason: 'Away', message: 'nobody calls from there', lastTransitionTime },
        { type: 'CompleteAPIEnablements', status: 'True', reason: 'Complete', message: '', lastTransitionTime },
      ],
    },
  })]);
  await kubectl(['patch', 'propagationpolicy', 'settings', ...inside, '--type=merge', '-p', JSON.stringify({ spec: {
    placement: { clusterTolerations: [{ key: 'cluster.karmada.io/not-ready', operator: 'Exists' }] }, suspension: { dispatchingOnClusters: { clusterNames: ['cluster2'] } },
  } })]);
  await row('colors').filter({ hasText: 'quiet pending' }).filter({ hasText: 'cluster2 suspended' }).filter({ hasText: 'cluster1 applied' }).waitFor();
  await row('theirs').filter({ hasText: 'cluster1 failed' }).filter({ hasText: 'quiet pending' }).waitFor();
  await page.getByText('2 pending').waitFor();
  await page.getByText('The object has not been applied yet.').first().waitFor();
});

test('the pages fit from 1440 to 390 px in both schemes', async () => {
  const faults = await photograph(browser, await admin.context.storageState(), [['policy-effect', at, (p) => p.getByText('quiet').filter({ visible: true }).first().waitFor()]], { schemes: ['light'] });
  assert.deepEqual(faults, []);
  // Nobody there can give back what was never taken: the cluster goes as one goes whose agent is lost.
  await page.goto(`${setting.url}/policies`);
  await kubectl(['delete', 'namespace', namespace]);
  await kubectl(['delete', 'cluster', 'quiet', '--wait=false']);
  await becomes(() => kubectl(['get', 'cluster', 'quiet', '-o', 'name', '--ignore-not-found']), '', 'a cluster that was removed');
});

test('no violation of the content security policy, no error in the console', () => {
  assert.deepEqual(admin.faults, []);
});
