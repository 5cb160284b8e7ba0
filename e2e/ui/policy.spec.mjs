// From a Deployment without a policy to a workload that one can follow into its cluster: gallery, editor, preview,
// policy in effect, topology, what overrides change. It goes on with the hub and the cluster "pushed" of cluster.spec.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { chosenPassword, kubectl, launch, person, photograph, setting, signIn } from './browser.mjs';

let browser;
let admin;
let page;

before(async () => {
  browser = await launch();
  admin = await person(browser);
  page = await admin.context.newPage();
  await kubectl(['create', 'deployment', 'shop', '--image', 'shop:1.0', '--replicas', '2']);
  await page.goto(setting.url);
  await signIn(page, 'admin', chosenPassword);
  await page.getByText('pushed').first().waitFor();
});

after(async () => { await browser?.close(); });

const pane = (name) => page.getByRole('region', { name, exact: true });

test('gallery: a starting point shows what it would do to this fleet', async () => {
  await page.goto(`${setting.url}/policies/new`);
  await page.getByText('Everywhere').first().click();
  await page.getByText('shop').first().waitFor();
  await page.getByText('pushed').first().waitFor();
  await page.getByRole('link', { name: 'Use this' }).click();
  await pane('YAML').waitFor();
});

test('editor: form and YAML are one document, and the save button says what saving does', async () => {
  const name = pane('Form').getByLabel('Name', { exact: true }).first();
  await name.fill('shop-everywhere');
  await pane('YAML').getByText('shop-everywhere').first().waitFor();
  await pane('YAML').getByText('# every cluster that serves the kind').waitFor();
  await page.getByRole('button', { name: 'Undo' }).click();
  await pane('YAML').getByText('shop-everywhere').first().waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Redo' }).click();
  await pane('YAML').getByText('shop-everywhere').first().waitFor();
  await pane('What it will do').getByText('pushed').first().waitFor();
  await pane('What it will do').getByText('new', { exact: true }).first().waitFor();
  const save = page.getByRole('button', { name: /^(Create|Save)/ });
  await save.filter({ hasText: /gain/ }).waitFor();
  await save.click();
  await page.waitForURL(/\/policies\/propagationpolicies\/default\/shop-everywhere$/);
});

test('policy in effect: what it matched, where, with what result', async () => {
  const row = page.getByRole('row').filter({ hasText: 'shop' });
  await row.filter({ hasText: 'pushed' }).filter({ hasText: 'applied' }).first().waitFor();
});

test('workload: the list tells, live, what is wrong; the topology shows the hop', async () => {
  await page.goto(`${setting.url}/workloads`);
  const row = page.getByRole('row').filter({ hasText: 'shop' });
  await row.filter({ hasText: 'pushed' }).first().waitFor();
  await row.getByRole('link', { name: 'shop', exact: true }).first().click();
  await page.getByText('shop-everywhere').first().waitFor();
  await page.getByRole('tab', { name: 'Topology' }).click();
  await page.getByText('First broken hop').waitFor();
  await page.getByText('shop-deployment').first().waitFor();
  await page.getByText('Table', { exact: true }).click();
  await page.getByText('0 of 2 replicas are ready').first().waitFor();
});

test('override diff: each changed line names its rule', async () => {
  await kubectl(['apply', '-f', '-'], JSON.stringify({
    apiVersion: 'policy.karmada.io/v1alpha1', kind: 'OverridePolicy', metadata: { name: 'mirror', namespace: 'default' },
    spec: {
      resourceSelectors: [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'shop' }],
      overrideRules: [{ overriders: { imageOverrider: [{ component: 'Registry', operator: 'add', value: 'mirror.example' }] } }],
    },
  }));
  await page.getByRole('tab', { name: 'Override diff' }).click();
  await page.getByText('mirror.example/shop:1.0').first().waitFor();
  await page.getByRole('link', { name: /default\/mirror/ }).first().waitFor();
});

test('the pages fit from 1440 to 390 px in both schemes', async () => {
  const sees = (text) => (p) => p.getByText(text).filter({ visible: true }).first().waitFor();
  // A phone shows the topology's table. What draws itself once its code is there is waited for, not only the words around it.
  const drawn = (what) => async (p) => { await p.locator(what).first().waitFor({ state: 'attached' }); await p.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' }); };
  const at = '/workloads/apps/v1/Deployment/default/shop';
  const faults = await photograph(browser, await admin.context.storageState(), [
    ['policies', '/policies', sees('shop-everywhere')], ['policy', '/policies/propagationpolicies/default/shop-everywhere', sees('shop')],
    ['policy-editor', '/policies/propagationpolicies/default/shop-everywhere/edit', drawn('.cm-line')], ['gallery', '/policies/new', sees('Everywhere')],
    ['workloads', '/workloads', sees('shop')], ['workload', at, sees('Clusters')], ['topology', `${at}?tab=topology`, drawn('.react-flow__edge-path, tr[data-hop]')],
    ['override-diff', `${at}?tab=overrides`, sees('mirror.example/shop:1.0')],
  ]);
  assert.deepEqual(faults, []);
});

test('no violation of the content security policy, no error in the console', () => {
  assert.deepEqual(admin.faults, []);
});
