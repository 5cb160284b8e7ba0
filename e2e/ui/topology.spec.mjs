// The way of one workload from its policy to its pods: every hop with its state, the first broken one in focus with its reason, the same
// as a table by the keyboard alone, and the chain of facts down to the pod. It goes on with the hub and the clusters of editor.spec.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { apply, becomes, chosenPassword, known, kubectl, launch, person, photograph, playPods, setting, signIn } from './browser.mjs';

const namespace = 'hops';
const inside = ['-n', namespace];
const east = ['--kubeconfig', setting.eastKubeconfig];
const west = ['--kubeconfig', setting.westKubeconfig];
let browser;
let admin;
let page;

const policy = (name, kind, apiVersion, placement) => ({
  apiVersion: 'policy.karmada.io/v1alpha1', kind: 'PropagationPolicy', metadata: { name, namespace },
  spec: { resourceSelectors: [{ apiVersion, kind, name }], placement },
});
const configMap = (name) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data: { of: name } });

before(async () => {
  browser = await launch();
  admin = await person(browser);
  page = await admin.context.newPage();
  await apply([
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    {
      apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'lane', namespace },
      spec: { replicas: 2, selector: { matchLabels: { app: 'lane' } }, template: { metadata: { labels: { app: 'lane' } }, spec: { containers: [{ name: 'lane', image: 'lane:1.0' }] } } },
    },
    policy('lane', 'Deployment', 'apps/v1'),
  ]);
  await page.goto(setting.url);
  await signIn(page, 'admin', chosenPassword);
  await page.getByRole('link', { name: 'cluster2' }).first().waitFor();
});

after(async () => { await browser?.close(); });

const waiting = { reason: 'ImagePullBackOff', message: 'Back-off pulling image "lane:1.0"' };
let pods;

const at = (kind, name) => `/workloads/${kind === 'Deployment' ? 'apps' : 'core'}/v1/${kind}/${namespace}/${name}`;
const hops = () => page.locator('.react-flow__node').evaluateAll((nodes) => nodes.map((node) => node.getAttribute('aria-label').replace(/^(Work, \w+)-\w+/, '$1')));
const lit = () => page.locator('.react-flow__node [data-broken]').evaluateAll((nodes) => nodes.map((node) => node.closest('.react-flow__node').dataset.id));
const chosen = () => page.locator('.react-flow__node [data-chosen]').evaluateAll((nodes) => nodes.map((node) => node.closest('.react-flow__node').dataset.id));
const panel = () => page.getByRole('status').filter({ hasText: 'First broken hop' });
const row = (id) => page.locator(`tr[data-hop="${id}"]`);
const focused = () => page.evaluate(() => document.activeElement?.dataset['hop'] ?? '');
const unready = '0 of 2 replicas are ready.';

test('graph: every hop is drawn with its state, and the first broken one is lit, chosen and explained', async () => {
  await playPods('lane', [...inside, ...east], 'running', 'running');
  pods = await playPods('lane', [...inside, ...west], waiting, waiting);
  await page.goto(`${setting.url}${at('Deployment', 'lane')}?tab=topology`);
  await becomes(async () => (await hops()).toSorted(), [
    'Binding, lane-deployment, OK', 'Object, lane, cluster1, OK', `Object, lane, cluster2, In progress, ${unready}`, 'Pods, 0/2, cluster2, In progress, ' + unready,
    'Pods, 2/2, cluster1, OK', 'Policy, lane, OK', 'Template, lane, OK', 'Work, lane, cluster1, OK', 'Work, lane, cluster2, OK',
  ]);
  assert.deepEqual([await lit(), await chosen()], [['object/cluster2'], ['object/cluster2']]);
  await panel().filter({ hasText: 'Object lane' }).filter({ hasText: 'In progress' }).filter({ hasText: unready }).getByRole('link', { name: 'cluster2' }).waitFor();
  assert.equal(await page.locator('.react-flow__edge').count(), 8, 'hops that nothing leads to');
});

test('pods: each that is not ready says why, and so does the chain of facts, with its link', async () => {
  const table = page.getByRole('region', { name: 'Pods in cluster2' });
  await table.getByText('2 of 2 pods are not ready.').waitFor();
  for (const pod of pods) await table.getByRole('row').filter({ hasText: pod }).filter({ hasText: 'ImagePullBackOff' }).filter({ hasText: '0/1' }).filter({ hasText: 'none yet' }).waitFor();
  assert.equal(await table.getByText('Back-off pulling image "lane:1.0"').count(), 2);

  await page.getByRole('tab', { name: 'Overview' }).click();
  await page.getByRole('heading', { name: 'Why it is not ready' }).waitFor();
  const why = page.getByRole('listitem').filter({ hasText: `cluster2: pod ${pods[0]} is not ready, ImagePullBackOff: ` }).filter({ hasText: 'Back-off pulling image "lane:1.0"' });
  await why.waitFor();
  assert.equal(await why.getByRole('link', { name: 'cluster2' }).getAttribute('href'), '/clusters/cluster2');
});

test('table: the same by the keyboard alone', async () => {
  await page.goto(`${setting.url}${at('Deployment', 'lane')}?tab=topology&view=table`);
  await row('pods/cluster2').waitFor();
  assert.deepEqual(await page.getByRole('treegrid').locator('tr[data-hop]').evaluateAll((rows) => rows.map(({ dataset, ariaLevel }) => [dataset['hop'], ariaLevel, dataset['state']].join(' '))), [
    'policy 1 ok', 'template 2 ok', 'binding 3 ok', 'work/cluster2 4 ok', 'object/cluster2 5 progressing', 'pods/cluster2 6 progressing', 'work/cluster1 4 ok', 'object/cluster1 5 ok', 'pods/cluster1 6 ok',
  ]);
  const selected = () => page.locator('tr[aria-selected="true"]').evaluateAll((rows) => rows.map(({ dataset }) => dataset['hop']));
  assert.deepEqual(await selected(), ['object/cluster2']);

  await page.getByRole('button', { name: /^Close what Policy/ }).focus();
  while (await focused() === '') await page.keyboard.press('Tab'); // one stop for the whole table
  assert.equal(await focused(), 'object/cluster2');
  const press = async (key, at, expanded) => {
    await page.keyboard.press(key);
    await becomes(focused, at, key);
    if (expanded !== undefined) await becomes(() => row(at).getAttribute('aria-expanded'), expanded, key);
  };
  await press('ArrowLeft', 'object/cluster2', 'false');
  assert.equal(await row('pods/cluster2').count(), 0, 'the pods of a closed object are shown');
  await press('ArrowRight', 'object/cluster2', 'true');
  await press('ArrowRight', 'pods/cluster2');
  await press('ArrowLeft', 'object/cluster2');
  await press('ArrowUp', 'work/cluster2');
  await press('End', 'pods/cluster1');
  await press('ArrowDown', 'pods/cluster1');
  await press('Home', 'policy');
  await press('Enter', 'policy');
  await becomes(selected, ['policy']);
  await page.getByRole('status').filter({ hasText: 'Policy lane' }).getByRole('link', { name: 'lane', exact: true }).waitFor();
  assert.match(page.url(), /[?&]hop=policy(&|$)/);
});

test('the open page follows until every hop is well', async () => {
  await playPods('lane', [...inside, ...west], 'running', 'running');
  await page.getByText('Every hop is well').waitFor();
  assert.equal(await row('pods/cluster2').getAttribute('data-state'), 'ok');
  await row('pods/cluster2').filter({ hasText: '2/2' }).waitFor();
});

test('a conflict breaks the way at the Work of its cluster', async () => {
  await apply([configMap('taken')], ...east);
  await apply([configMap('taken'), policy('taken', 'ConfigMap', 'v1')]);
  await known(admin.context, at('ConfigMap', 'taken'));
  await page.goto(`${setting.url}${at('ConfigMap', 'taken')}?tab=topology`);
  await becomes(lit, ['work/cluster1']);
  const cause = 'An object of this name exists there that the hub does not manage.';
  await becomes(async () => (await hops()).toSorted(), [
    'Binding, taken-configmap, OK', `Object, taken, cluster1, Failed, ${cause}`, 'Object, taken, cluster2, OK', 'Policy, taken, OK', 'Template, taken, OK', `Work, taken, cluster1, Failed, ${cause}`, 'Work, taken, cluster2, OK',
  ]);
  assert.deepEqual(await chosen(), ['work/cluster1']);
  await panel().filter({ hasText: 'Work taken' }).filter({ hasText: cause }).filter({ hasText: 'What to do: Rename or delete the object there' }).getByRole('link', { name: 'cluster1' }).waitFor();
});

test('where no cluster fits it breaks at the binding, with the reason of the scheduler', async () => {
  await apply([configMap('homeless'), policy('homeless', 'ConfigMap', 'v1', { clusterAffinity: { clusterNames: ['cluster1'], exclude: ['cluster1'] } })]);
  await known(admin.context, at('ConfigMap', 'homeless'));
  await page.goto(`${setting.url}${at('ConfigMap', 'homeless')}?tab=topology`);
  await becomes(lit, ['binding']);
  const reason = 'No clusters were found (NoClusterFit): 0/2 clusters are available: 2 not meant by the cluster affinity.';
  await becomes(async () => (await hops()).toSorted(), [`Binding, homeless-configmap, Failed, ${reason}`, 'Policy, homeless, OK', 'Template, homeless, OK']);
  await panel().filter({ hasText: 'Binding homeless-configmap' }).filter({ hasText: reason }).filter({ hasText: 'What to do: Open the policy and see under “What it will do” which clusters are left out and why' }).waitFor();
});

test('the pages fit from 1440 to 390 px in both schemes', async () => {
  await playPods('lane', [...inside, ...west], waiting, waiting);
  const drawn = (text) => async (p) => { await p.locator('.react-flow__edge-path, tr[data-hop]').first().waitFor({ state: 'attached' }); await p.getByText(text).filter({ visible: true }).first().waitFor(); };
  const faults = await photograph(browser, await admin.context.storageState(), [
    ['topology-pods', `${at('Deployment', 'lane')}?tab=topology`, drawn('Back-off pulling image')],
    ['topology-conflict', `${at('ConfigMap', 'taken')}?tab=topology`, drawn('What to do: Rename or delete')],
    ['topology-no-fit', `${at('ConfigMap', 'homeless')}?tab=topology`, drawn('0/2 clusters are available')],
  ], { schemes: ['light'] });
  assert.deepEqual(faults, []);
});

test('no violation of the content security policy, no error in the console', () => {
  assert.deepEqual(admin.faults, []);
});
