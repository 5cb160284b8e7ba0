// What differs per cluster and what has no namespace, written by the form and found in the members: rules that change labels and any
// field, cluster-wide policies of both families, and what the preview says of a taint, of too little room and of a cluster that goes. It
// goes on with the hub and the clusters of editor.spec.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { apply, becomes, chosenPassword, kubectl, launch, person, photograph, read, setting, signIn } from './browser.mjs';

const namespace = 'differing';
const inside = ['-n', namespace];
const east = ['--kubeconfig', setting.eastKubeconfig];
const west = ['--kubeconfig', setting.westKubeconfig];
let browser;
let admin;
let page;

const policy = (kind, name, spec) => ({
  apiVersion: 'policy.karmada.io/v1alpha1', kind, metadata: { name, ...(kind.startsWith('Cluster') ? {} : { namespace }) }, spec,
});

before(async () => {
  browser = await launch();
  admin = await person(browser);
  page = await admin.context.newPage();
  await apply([
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'colors', namespace, labels: { stage: 'test' } }, data: { color: 'blue', size: 'small' } },
    policy('PropagationPolicy', 'colors', { resourceSelectors: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'colors' }] }),
    { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'color:reader' }, rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }] },
  ]);
  await kubectl(['label', 'cluster', 'cluster2', 'side=west']);
  await page.goto(setting.url);
  await signIn(page, 'admin', chosenPassword);
  await page.getByRole('link', { name: 'cluster2' }).first().waitFor();
});

after(async () => { await browser?.close(); });

const pane = (name) => page.getByRole('region', { name, exact: true });
const line = (text) => pane('YAML').locator('.cm-line').filter({ hasText: text }).first();
const field = (path) => pane('Form').locator(`[data-path="${path}"]`);
const input = (path) => field(path).locator('input:not([type="hidden"])');
const save = (says) => page.getByRole('button', { name: says, exact: true }).and(page.locator(':enabled'));
const answer = () => pane('What it will do');
const split = () => answer().locator('li[data-change]').evaluateAll((items) => items.map((item) => item.innerText.replace(/\s+/g, ' ').trim()).sort());
const saved = (resource, name) => page.waitForURL(new RegExp(`/policies/${resource}/${name}$`));

/** Types one pill, as somebody does who ends it with Enter. */
async function pill(path, text) {
  await input(path).fill(text);
  await input(path).press('Enter');
}

/** A new policy in the editor, by a starting point or with nothing, under a name. */
async function begin(resource, name, start) {
  await page.goto(`${setting.url}/policies/new/${resource}${start ? `?start=${start}` : ''}`);
  await line('name:').waitFor();
  await input('metadata.name').fill(name);
  if (!resource.startsWith('cluster')) await input('metadata.namespace').fill(namespace);
}

/** Which objects: the n-th selector, by kind and name. */
async function choose(index, kind, name) {
  const selector = `spec.resourceSelectors[${index}]`;
  await input(`${selector}.kind`).fill(kind);
  await page.getByRole('option', { name: kind, exact: true }).click();
  await field(selector).getByRole('button', { name: 'by name' }).click();
  await input(`${selector}.name`).fill(name);
}

const colors = async (member) => {
  const { metadata, data } = await read('configmap', 'colors', ...inside, ...member);
  return [metadata.labels.stage, metadata.labels.site, data.color, data.size];
};

test('override: labels in one cluster, any field in the clusters of a label, by the form alone', async () => {
  await becomes(() => Promise.all([east, west].map((member) => kubectl(['get', 'configmap', 'colors', ...inside, ...member, '-o', 'name', '--ignore-not-found']))), ['configmap/colors\n', 'configmap/colors\n'], 'before any override');
  await begin('overridepolicies', 'differs');
  const form = pane('Form');
  await form.getByRole('button', { name: 'Add resource' }).click();
  await choose(0, 'ConfigMap', 'colors');

  const rule = (index) => `spec.overrideRules[${index}]`;
  const change = async (index, sort) => {
    await form.getByRole('button', { name: 'Add rule' }).click();
    await form.getByLabel(`Add a change to rule ${index + 1}`).selectOption(sort);
    await field(rule(index)).getByRole('button', { name: 'Remove Image 1' }).click(); // what a new rule begins with
  };
  await change(0, 'Labels');
  await pill(`${rule(0)}.targetCluster.clusterNames`, 'cluster1');
  await field(`${rule(0)}.overriders.labelsOverrider[0].operator`).getByLabel('What').selectOption('replace');
  await pill(`${rule(0)}.overriders.labelsOverrider[0].value`, 'stage=production');
  await change(1, 'Any field');
  await input(`${rule(1)}.targetCluster.labelSelector.matchLabels`).click();
  await page.getByRole('option', { name: 'side=west' }).click();
  await input(`${rule(1)}.overriders.plaintext[0].path`).fill('/data/color');
  await input(`${rule(1)}.overriders.plaintext[0].value`).fill('green');
  await form.getByLabel('Add a change to rule 2').selectOption('Any field');
  await input(`${rule(1)}.overriders.plaintext[1].path`).fill('/data/size');
  await field(`${rule(1)}.overriders.plaintext[1].operator`).getByLabel('What').selectOption('remove');

  await answer().getByText('Overrides change it for 2 of its 2 clusters.').waitFor();
  const told = (cluster) => answer().getByRole('listitem').filter({ has: page.getByRole('link', { name: cluster, exact: true }) });
  await told('cluster1').filter({ hasText: '/metadata/labels/stage' }).filter({ hasText: 'test → production' }).filter({ hasText: 'rule 1, Labels' }).waitFor();
  await told('cluster2').filter({ hasText: '/data/color' }).filter({ hasText: 'blue → green' }).filter({ hasText: 'rule 2, Any field' }).waitFor();
  await save('Create: changes 2 clusters').click();
  await saved('overridepolicies', `${namespace}/differs`);

  const { spec } = await read('overridepolicy', 'differs', ...inside);
  assert.deepEqual(spec, {
    resourceSelectors: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'colors', namespace }],
    overrideRules: [
      { targetCluster: { clusterNames: ['cluster1'] }, overriders: { labelsOverrider: [{ operator: 'replace', value: { stage: 'production' } }] } },
      {
        targetCluster: { labelSelector: { matchLabels: { side: 'west' } } },
        overriders: { plaintext: [{ path: '/data/color', operator: 'replace', value: 'green' }, { path: '/data/size', operator: 'remove' }] },
      },
    ],
  });
  await becomes(() => Promise.all([east, west].map(colors)), [['production', undefined, 'blue', 'small'], ['test', undefined, 'green', undefined]], 'what the members have');
  assert.deepEqual(await colors(['--kubeconfig', setting.hubKubeconfig]), ['test', undefined, 'blue', 'small'], 'the hub’s own object');
});

test('override diff: every changed line names its own rule, label or field', async () => {
  const changed = () => page.getByRole('table').locator('[role="row"][data-op="add"], [role="row"][data-op="del"]').evaluateAll((rows) => rows.map((row) => {
    const [text, rule] = [...row.querySelectorAll('[role="cell"]')].slice(-2).map((cell) => cell.textContent.replace(/\s+/g, ' ').trim());
    return `${text} | ${rule}`;
  }));
  const by = (rule) => `${namespace}/differs · ${rule}`;
  const at = `${setting.url}/workloads/core/v1/ConfigMap/${namespace}/colors?tab=overrides`;
  await page.goto(`${at}&cluster=cluster1`);
  await becomes(changed, [`removed: stage: test | ${by('rule 1 labelsOverrider')}`, `added: stage: production | ${by('rule 1 labelsOverrider')}`], 'cluster1 against the template');
  assert.equal(await page.getByRole('table').getByRole('link', { name: `${namespace}/differs` }).first().getAttribute('href'), `/policies/overridepolicies/${namespace}/differs`);
  await page.goto(`${at}&cluster=cluster2`);
  await becomes(changed, [`removed: color: blue | ${by('rule 2 plaintext')}`, `removed: size: small | ${by('rule 2 plaintext')}`, `added: color: green | ${by('rule 2 plaintext')}`], 'cluster2 against the template');
});

const role = (member) => kubectl(['get', 'clusterrole', 'color:reader', ...member, '-o', 'jsonpath={.metadata.name} {.metadata.labels.team}', '--ignore-not-found']);

test('propagation, cluster-wide: a kind without a namespace reaches the members', async () => {
  await begin('clusterpropagationpolicies', 'readers');
  assert.equal(await field('metadata.namespace').count(), 0, 'a cluster-wide policy asks for a namespace');
  await pane('Form').getByRole('button', { name: 'Add resource' }).click();
  await choose(0, 'ClusterRole', 'color:reader');
  await line('apiVersion: rbac.authorization.k8s.io/v1').waitFor();
  await becomes(split, ['cluster1 new', 'cluster2 new']);
  await save('Create: 2 clusters gain').click();
  await saved('clusterpropagationpolicies', '-/readers');
  const { spec } = await read('clusterpropagationpolicy', 'readers');
  assert.deepEqual(spec.resourceSelectors, [{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', name: 'color:reader' }]);
  await becomes(() => Promise.all([east, west].map(role)), ['color:reader ', 'color:reader ']);
  await page.getByRole('row').filter({ hasText: 'color:reader' }).filter({ hasText: 'cluster1 applied' }).filter({ hasText: 'cluster2 applied' }).waitFor();
});

test('override, cluster-wide: what kubectl wrote is changed by the form, field owners asked', async () => {
  const rule = (team) => ({ targetCluster: { clusterNames: ['cluster1'] }, overriders: { labelsOverrider: [{ operator: 'add', value: { team } }] } });
  await apply([policy('ClusterOverridePolicy', 'teams', { resourceSelectors: [{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', name: 'color:reader' }], overrideRules: [rule('red')] })]);
  await becomes(() => Promise.all([east, west].map(role)), ['color:reader red', 'color:reader '], 'by kubectl');

  await page.goto(`${setting.url}/policies`);
  await page.getByRole('row').filter({ hasText: 'teams' }).getByRole('link', { name: 'teams', exact: true }).click();
  await saved('clusteroverridepolicies', '-/teams');
  await page.getByRole('link', { name: 'Edit', exact: true }).click();
  await page.getByRole('button', { name: 'Nothing changed' }).waitFor();
  const value = 'spec.overrideRules[0].overriders.labelsOverrider[0].value';
  await pill(value, 'team=green');
  await line('team: green').waitFor();
  await answer().getByRole('listitem').filter({ hasText: 'cluster1' }).filter({ hasText: 'rule 1, Labels' }).locator('ins').filter({ hasText: 'green' }).waitFor();
  await page.getByRole('button', { name: 'Take over these fields' }).click();
  await save('Save: changes 1 cluster').click();
  await saved('clusteroverridepolicies', '-/teams');
  assert.deepEqual((await read('clusteroverridepolicy', 'teams')).spec.overrideRules, [rule('green')]);
  await becomes(() => Promise.all([east, west].map(role)), ['color:reader green', 'color:reader '], 'by the form');
});

/** The clusters that the preview leaves out, each filter with what it says. */
const leftOut = () => answer().locator('dl > div').evaluateAll((groups) => groups.map((group) => [group.querySelector('dt').title, ...[...group.querySelectorAll('dt, dd')].map((one) => one.innerText.trim())]));
const taints = (list) => kubectl(['patch', 'cluster', 'cluster2', '--type=merge', '-p', JSON.stringify({ spec: { taints: list } })]);

test('preview: a taint leaves a cluster out, is named, and a toleration brings the cluster back', async () => {
  await apply([{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'plain', namespace }, stringData: { a: 'b' } }]);
  await begin('propagationpolicies', 'plain', 'everywhere');
  await choose(0, 'Secret', 'plain');
  await becomes(split, ['cluster1 new', 'cluster2 new']);
  assert.deepEqual(await leftOut(), []);
  await taints([{ key: 'dedicated', value: 'games', effect: 'NoSchedule' }]); // the open page follows
  await becomes(leftOut, [['TaintToleration', 'A taint keeps it away', 'untolerated taint dedicated=games:NoSchedule', 'cluster2']]);
  await answer().getByText('1 cluster left out').waitFor();
  assert.deepEqual(await split(), ['cluster1 new']);
  await save('Create: 1 cluster gains').waitFor();
  await pane('Form').getByRole('button', { name: 'Add toleration' }).click();
  await becomes(split, ['cluster1 new', 'cluster2 new'], 'with the toleration');
  await taints(null);
});

test('preview: of more replicas than there is room it says how many are wanted and how many there is room for', async () => {
  const wanted = 100_000;
  await apply([{
    apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'huge', namespace },
    spec: { replicas: wanted, selector: { matchLabels: { app: 'huge' } }, template: { metadata: { labels: { app: 'huge' } }, spec: { containers: [{ name: 'huge', image: 'huge', resources: { requests: { cpu: '1' } } }] } } },
  }]);
  await begin('propagationpolicies', 'huge', 'everywhere');
  await choose(0, 'Deployment', 'huge');
  await pane('Form').getByLabel('How replicas are placed').selectOption({ label: 'on as few clusters as have room' });
  const short = answer().getByText(`${wanted} replicas are wanted, the clusters that fit have room for `);
  await short.waitFor();
  const room = Number(/room for (\d+)\.$/.exec(await short.innerText())[1]);
  assert.ok(room > 0 && room < 1000, `room for ${room}`);
  await save('Create: 1 object finds no place').waitFor();

  // Exactly so many fit.
  await kubectl(['scale', 'deployment', 'huge', ...inside, `--replicas=${room}`]);
  await save('Create: 2 clusters gain').waitFor();
  const replicas = (await split()).map((one) => Number(/(\d+) replicas? new$/.exec(one)[1]));
  assert.equal(replicas.reduce((sum, one) => sum + one, 0), room);
  await kubectl(['delete', 'deployment', 'huge', ...inside]);
});

test('preview: a change that takes a cluster away says so on the button, and the object goes there', async () => {
  await page.goto(`${setting.url}/policies/clusterpropagationpolicies/-/readers/edit`);
  await page.getByRole('button', { name: 'Nothing changed' }).waitFor();
  await becomes(split, ['cluster1 as now', 'cluster2 as now']);
  await pane('Form').getByRole('button', { name: 'chosen clusters' }).click();
  await pill('spec.placement.clusterAffinity.exclude', 'cluster2');
  await becomes(split, ['cluster1 as now', 'cluster2 leaves']);
  assert.deepEqual(await leftOut(), [['ClusterAffinity', 'Not chosen by the policy', 'not meant by the cluster affinity', 'cluster2']]);
  await save('Save: 1 cluster loses').click();
  await saved('clusterpropagationpolicies', '-/readers');
  assert.deepEqual((await read('clusterpropagationpolicy', 'readers')).spec.placement.clusterAffinity, { exclude: ['cluster2'] });
  await becomes(() => Promise.all([east, west].map(role)), ['color:reader green', ''], 'after the change');
});

test('the pages fit from 1440 to 390 px in both schemes', async () => {
  const shows = (what) => (p) => p.locator(what).filter({ visible: true }).first().waitFor();
  // A phone has the preview behind a tab.
  const untolerated = async (p) => {
    await shows('[data-path="metadata.name"]')(p);
    const tab = p.getByRole('tab', { name: 'What it will do' });
    if (await tab.isVisible()) await tab.click();
    await shows('dt[title="TaintToleration"]')(p);
  };
  await taints([{ key: 'dedicated', value: 'games', effect: 'NoSchedule' }]);
  const faults = await photograph(browser, await admin.context.storageState(), [
    ['editor-taint', `/policies/new/propagationpolicies?apiVersion=v1&kind=Secret&namespace=${namespace}&name=plain`, untolerated],
    ['override-diff-fields', `/workloads/core/v1/ConfigMap/${namespace}/colors?tab=overrides&cluster=cluster2&against=cluster1`, shows('[role="row"][data-op="add"]')],
  ]);
  assert.deepEqual(faults, []);
  await taints(null);
  await page.goto(`${setting.url}/policies`); // no page asks for what is gone
  await kubectl(['delete', 'clusterpropagationpolicy/readers', 'clusteroverridepolicy/teams', 'clusterrole/color:reader', `namespace/${namespace}`]);
  await kubectl(['label', 'cluster', 'cluster2', 'side-']);
});

test('no violation of the content security policy, no error in the console', () => {
  assert.deepEqual(admin.faults.filter((fault) => !/status of 4\d\d .*[?&]dryRun=true/.test(fault)), []);
});
