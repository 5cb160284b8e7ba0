// What is chosen in the form of a policy, field by field, as the hub stores it, and what the preview says of it. It goes on with the hub
// and the clusters of editor.spec.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { apply, becomes, chosenPassword, kubectl, launch, person, read, setting, signIn } from './browser.mjs';

const namespace = 'picked';
const inside = ['-n', namespace];
let browser;
let admin;
let page;

before(async () => {
  browser = await launch();
  admin = await person(browser);
  page = await admin.context.newPage();
  await apply([
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    {
      apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web', namespace, labels: { app: 'nginx' } },
      spec: { replicas: 4, selector: { matchLabels: { app: 'nginx' } }, template: { metadata: { labels: { app: 'nginx' } }, spec: { containers: [{ name: 'web', image: 'nginx', resources: { requests: { cpu: '1' } } }] } } },
    },
  ]);
  for (const [cluster, region] of [['cluster1', 'east'], ['cluster2', 'west']]) {
    await kubectl(['patch', 'cluster', cluster, '--type=merge', '-p', JSON.stringify({ metadata: { labels: { tier: 'gold' } }, spec: { region } })]);
  }
  await page.goto(setting.url);
  await signIn(page, 'admin', chosenPassword);
  await page.getByRole('link', { name: 'cluster2' }).first().waitFor();
});

after(async () => { await browser?.close(); });

const pane = (name) => page.getByRole('region', { name, exact: true });
const line = (text) => pane('YAML').locator('.cm-line').filter({ hasText: text }).first();
const field = (path) => pane('Form').locator(`[data-path="${path}"]`);
const save = () => page.getByRole('button', { name: /^(Create|Save)(:|$)/ });
const split = () => pane('What it will do').locator('li[data-change]').evaluateAll((items) => items.map((item) => item.innerText.replace(/\s+/g, ' ').trim()).sort());

/** Types one pill, as somebody does who ends it with Enter. */
async function pill(input, text) {
  await input.fill(text);
  await input.press('Enter');
}

test('the pickers write kind, labels, labels of clusters, spread and weights, and the preview shows the split', async () => {
  await page.goto(`${setting.url}/policies/new/propagationpolicies?start=everywhere`);
  await line('name:').waitFor();
  const form = pane('Form');
  await form.getByLabel('Name', { exact: true }).first().fill('picked');
  await form.getByLabel('Namespace', { exact: true }).first().fill(namespace);

  await field('spec.resourceSelectors[0].kind').locator('input:not([type="hidden"])').fill('ConfigMap');
  await field('spec.resourceSelectors[0]').getByRole('button', { name: 'by label' }).click();
  await pill(field('spec.resourceSelectors[0].labelSelector.matchLabels').locator('input:not([type="hidden"])'), 'app=nginx');
  await form.getByRole('button', { name: 'Add resource' }).click();
  await field('spec.resourceSelectors[1]').getByRole('button', { name: 'by label' }).click();
  await pill(field('spec.resourceSelectors[1].labelSelector.matchLabels').locator('input:not([type="hidden"])'), 'app=nginx');

  await form.getByRole('button', { name: 'chosen clusters' }).click();
  await field('spec.placement.clusterAffinity.labelSelector.matchLabels').locator('input:not([type="hidden"])').click();
  await page.getByRole('option', { name: 'tier=gold' }).click();

  for (const [index, by, max] of [[0, 'region', '2'], [1, 'cluster', '5']]) {
    const bound = (name) => field(`spec.placement.spreadConstraints[${index}].${name}`);
    await form.getByRole('button', { name: 'Add bound' }).click();
    await bound('spreadByField').locator('select').selectOption(by);
    await bound('minGroups').locator('input').fill('2');
    await bound('maxGroups').locator('input').fill(max);
  }
  await form.getByLabel('How replicas are placed').selectOption({ label: 'divided by weights' });
  const weight = (index) => field(`spec.placement.replicaScheduling.weightPreference.staticWeightList[${index}].weight`).locator('input');
  await weight(1).fill('3');

  await becomes(split, ['cluster1 1 replica new', 'cluster2 3 replicas new'], 'the split');
  await save().filter({ hasText: 'Create: 2 clusters gain' }).and(page.locator(':enabled')).click();
  await page.waitForURL(new RegExp(`/policies/propagationpolicies/${namespace}/picked$`));
  const { spec } = await read('propagationpolicy', 'picked', ...inside);
  const labelSelector = { matchLabels: { app: 'nginx' } };
  const weighted = (cluster, weight) => ({ targetCluster: { clusterNames: [cluster] }, weight });
  assert.deepEqual([spec.resourceSelectors, spec.placement.clusterAffinity, spec.placement.spreadConstraints, spec.placement.replicaScheduling], [
    [{ apiVersion: 'v1', kind: 'ConfigMap', namespace, labelSelector }, { apiVersion: 'apps/v1', kind: 'Deployment', namespace, labelSelector }],
    { labelSelector: { matchLabels: { tier: 'gold' } } },
    [{ spreadByField: 'region', minGroups: 2, maxGroups: 2 }, { spreadByField: 'cluster', minGroups: 2, maxGroups: 5 }],
    { replicaSchedulingType: 'Divided', replicaDivisionPreference: 'Weighted', weightPreference: { staticWeightList: [weighted('cluster1', 1), weighted('cluster2', 3)] } },
  ]);
});

test('the preview of a change tells who gets more and fewer, and who is left, and so does the button', async () => {
  await page.goto(`${setting.url}/policies/propagationpolicies/${namespace}/picked/edit`);
  await page.getByRole('button', { name: 'Nothing changed' }).waitFor();
  await becomes(split, ['cluster1 1 replica as now', 'cluster2 3 replicas as now']);
  const weight = (index) => field(`spec.placement.replicaScheduling.weightPreference.staticWeightList[${index}].weight`).locator('input');
  await weight(0).fill('3');
  await becomes(split, ['cluster1 2 replicas, from 1 more', 'cluster2 2 replicas, from 3 fewer']);
  await save().filter({ hasText: 'Save: 1 cluster gains, 1 loses' }).and(page.locator(':enabled')).waitFor();
  await pill(field('spec.placement.clusterAffinity.exclude').locator('input:not([type="hidden"])'), 'cluster2');
  await pane('Form').getByRole('button', { name: 'Remove bound 1' }).click();
  await pane('Form').getByRole('button', { name: 'Remove bound 1' }).click();
  await becomes(split, ['cluster1 4 replicas, from 1 more', 'cluster2 3 replicas leaves']);
});

test('no violation of the content security policy, no error in the console', () => {
  assert.deepEqual(admin.faults.filter((fault) => !/status of 4\d\d .*[?&]dryRun=true/.test(fault)), []);
});
