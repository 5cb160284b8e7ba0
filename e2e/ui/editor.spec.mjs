// The editor of policies, where only a browser shows that it works: what marks a fault and takes the mark away, what completes and
// explains, form and text that lead to each other and share one history, three versions of one policy, both families, and what the rules
// make of an image in two clusters. One story on a hub of its own with the clusters cluster1 and cluster2: each test goes on where the one
// before ended, and what is saved is checked on the hub.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { apply, becomes, chosenPassword, kubectl, launch, person, photograph, read, setting, signIn } from './browser.mjs';

let browser;
let admin;
let page;
const clusters = [setting.eastKubeconfig, setting.westKubeconfig];

before(async () => {
  browser = await launch();
  admin = await person(browser);
  page = await admin.context.newPage();
  await kubectl(['create', 'deployment', 'nginx', '--image', 'nginx', '--replicas', '2']);
  await page.goto(setting.url);
  await signIn(page, 'admin', setting.password);
  await page.getByLabel('Current password').fill(setting.password);
  await page.getByLabel('New password', { exact: true }).fill(chosenPassword);
  await page.getByLabel('New password, once more').fill(chosenPassword);
  await page.getByRole('button', { name: 'Save password' }).click();
  await page.getByRole('link', { name: 'cluster2' }).first().waitFor();
});

after(async () => { await browser?.close(); });

const pane = (name) => page.getByRole('region', { name, exact: true });
const line = (text) => pane('YAML').locator('.cm-line').filter({ hasText: text }).first();
const lit = () => pane('YAML').locator('.cm-lit').allTextContents();
const text = () => pane('YAML').locator('.cm-line').allTextContents();
const field = (path) => pane('Form').locator(`[data-path="${path}"]`);
const squiggle = (on = page) => on.locator('.cm-lintRange-error');
const save = () => page.getByRole('button', { name: /^(Create|Save)(:|$)/ });
/** A dry run's refusal has a status, which the browser reports; it is wanted here. */
const unwanted = (fault) => !/status of 4\d\d .*[?&]dryRun=true/.test(fault);

/** The editor with one of the starting points, and with nothing typed before. */
async function begin(start, kind = 'propagationpolicies') {
  await page.goto(`${setting.url}/policies/new/${kind}?start=${start}`);
  await line('name:').waitFor();
  await save().and(page.locator(':enabled')).waitFor();
}

/** Writes over one line of the text, as somebody does who selects it and types. */
async function retype(old, next, on = page) {
  await on.locator('.cm-line').filter({ hasText: old }).first().click();
  await on.keyboard.press('Home'); // the first character that is no blank
  await on.keyboard.press('Shift+End');
  await on.keyboard.insertText(next);
  await on.locator('.cm-line').filter({ hasText: next }).first().waitFor();
}

/** That there is one mark, that it is at these words in this line, and that pointing at it tells this. */
async function marked(words, at, tells) {
  await squiggle().first().waitFor();
  await becomes(() => squiggle().allTextContents(), [words]);
  assert.match(await page.locator('.cm-line').filter({ has: squiggle() }).textContent(), at);
  assert.equal(await page.locator('.cm-lint-marker-error').count(), 1, 'no mark beside the line');
  await squiggle().hover();
  await page.locator('.cm-tooltip-lint').filter({ hasText: tells }).waitFor();
  const number = (await text()).findIndex((one) => at.test(one)) + 1;
  await page.getByRole('list', { name: 'Problems' }).getByRole('button').filter({ hasText: `Line ${number} ` }).filter({ hasText: tells }).waitFor();
  await save().and(page.locator(':disabled')).waitFor();
}

/** That nothing is marked, and that it may be saved. */
async function unmarked() {
  await squiggle().waitFor({ state: 'detached' });
  await page.locator('.cm-lint-marker-error').waitFor({ state: 'detached' });
  await save().and(page.locator(':enabled')).waitFor();
}

test('gallery: each of twelve starting points of both families shows what it would do to this fleet', async () => {
  await page.goto(`${setting.url}/policies/new`);
  const entries = page.getByRole('main').locator('button[aria-pressed]').filter({ has: page.locator('strong') });
  await becomes(() => entries.count(), 12, 'starting points');
  for (const entry of await entries.all()) {
    const title = await entry.locator('strong').innerText();
    await entry.click();
    const view = pane(title);
    await view.locator('pre, .cm-content').getByText('apiVersion').first().waitFor();
    await view.getByText(/^(\d+ objects? match(es)?|No object on the hub matches yet)/).filter({ visible: true }).first().waitFor();
    await view.getByText(/the scheduler’s own answer on 2 clusters/).waitFor();
    assert.equal(await view.getByText('The preview comes once the problems are mended').count(), 0, `${title} is no policy that the hub takes`);
  }
  await page.getByRole('button', { name: 'What differs there' }).click();
  await becomes(() => entries.locator('strong').allTextContents(), ['Registry mirror per region', 'Image tag per cluster', 'Extra label per cluster']);
});

test('gallery: it names the clusters that are left out, with the filter that left each out', async () => {
  await page.goto(`${setting.url}/policies/new`);
  await page.getByRole('button', { name: /^One cluster by name/ }).click();
  const view = pane('One cluster by name');
  await view.getByText('1 cluster left out').waitFor();
  await view.locator('dt[title="ClusterAffinity"]').waitFor();
  assert.deepEqual(await view.locator('dd').getByRole('link').allTextContents(), ['cluster2']);
  assert.deepEqual(await view.locator('li[data-change]').getByRole('link').allTextContents(), ['cluster1']);
  await view.getByRole('link', { name: 'Use this' }).click();
  await line('name: one-cluster').waitFor();
  await unmarked();
});

test('squiggles: a field that does not exist is marked where it stands, until it is mended', async () => {
  await begin('oneCluster');
  await retype('clusterAffinity:', 'clusterAfinity:');
  await marked('clusterAfinity', /^ +clusterAfinity:/, 'There is no field clusterAfinity here; clusterAffinity is near.');
  await page.getByRole('list', { name: 'Problems' }).getByRole('button').first().click();
  await page.locator('.cm-activeLine').filter({ hasText: 'clusterAfinity' }).waitFor();
  await retype('clusterAfinity:', 'clusterAffinity:');
  await unmarked();
});

test('squiggles: a value that the hub’s validation refuses is marked too', async () => {
  await begin('oneCluster');
  await retype('name: one-cluster', 'name: One_Cluster');
  await marked('One_Cluster', /^ +name: One_Cluster/, 'metadata.name: ');
  await retype('name: One_Cluster', 'name: one-cluster');
  await unmarked();
});

test('squiggles: what only the dry run finds out, an admission policy of this hub, is marked', async () => {
  await begin('oneCluster');
  const [apiGroups, apiVersions, resources] = [['policy.karmada.io'], ['*'], ['propagationpolicies']];
  await apply([
    {
      apiVersion: 'admissionregistration.k8s.io/v1', kind: 'ValidatingAdmissionPolicy', metadata: { name: 'modest' },
      spec: {
        matchConstraints: { resourceRules: [{ apiGroups, apiVersions, resources, operations: ['CREATE', 'UPDATE'] }] },
        validations: [{ expression: '!has(object.spec.priority) || object.spec.priority <= 100', message: 'priorities above 100 are for the platform team' }],
      },
    },
    { apiVersion: 'admissionregistration.k8s.io/v1', kind: 'ValidatingAdmissionPolicyBinding', metadata: { name: 'modest' }, spec: { policyName: 'modest', validationActions: ['Deny'] } },
  ]);
  // The API server takes note of it in its own time: whoever asks it knows when.
  const greedy = JSON.stringify({ apiVersion: 'policy.karmada.io/v1alpha1', kind: 'PropagationPolicy', metadata: { name: 'greedy', namespace: 'default' }, spec: { priority: 101, resourceSelectors: [{ apiVersion: 'apps/v1', kind: 'Deployment' }] } });
  await becomes(() => kubectl(['create', '--dry-run=server', '-f', '-'], greedy).then(() => 'taken', () => 'refused'), 'refused', 'a priority of 101');

  await pane('Form').getByLabel('Priority', { exact: true }).fill('101');
  await line('priority: 101').waitFor();
  await squiggle().first().waitFor();
  const told = page.getByRole('list', { name: 'Problems' }).getByRole('button').filter({ hasText: 'priorities above 100 are for the platform team' });
  await told.waitFor();
  await squiggle().first().hover();
  await page.locator('.cm-tooltip-lint').filter({ hasText: 'priorities above 100 are for the platform team' }).waitFor();
  await save().and(page.locator(':disabled')).waitFor();
  await pane('Form').getByLabel('Priority', { exact: true }).fill('100');
  await unmarked();
  await pane('Form').getByLabel('Priority', { exact: true }).fill('');
  await line('priority').waitFor({ state: 'detached' });
  await unmarked();
});

test('completion and hover tell what the schema says of a field', async () => {
  await begin('oneCluster');
  const crd = await read('crd', 'propagationpolicies.policy.karmada.io');
  const { properties } = crd.spec.versions[0].schema.openAPIV3Schema.properties.spec;
  const sentence = (description) => description.split(/\n/)[0];

  await line('resourceSelectors:').getByText('resourceSelectors').hover();
  const card = page.locator('.cm-tooltip-hover .cm-card');
  await card.waitFor();
  const explained = await card.innerText();
  assert.ok(explained.includes('spec.resourceSelectors · array'), explained);
  assert.ok(explained.includes(sentence(properties.resourceSelectors.description)), explained);
  await page.mouse.move(0, 0);
  await card.waitFor({ state: 'detached' });

  await line('spec:').click();
  await page.keyboard.press('End');
  await page.keyboard.press('Enter');
  await page.keyboard.type('prio');
  const option = page.locator('.cm-tooltip-autocomplete li').filter({ has: page.getByText('priority', { exact: true }) });
  await option.and(page.locator('[aria-selected="true"]')).waitFor();
  const info = page.locator('.cm-completionInfo');
  await info.waitFor();
  assert.equal((await info.innerText()).trim(), properties.priority.description.trim());
  await option.click();
  await page.keyboard.type('7');
  await line('priority: 7').waitFor();
  await becomes(() => pane('Form').getByLabel('Priority', { exact: true }).inputValue(), '7');

  // What the fleet has is offered where a cluster is named.
  await retype('- cluster1', '- clus');
  await page.keyboard.press('Control+Space');
  await becomes(() => page.locator('.cm-tooltip-autocomplete .cm-completionLabel').allTextContents(), ['cluster1', 'cluster2']);
  await page.locator('.cm-tooltip-autocomplete li').filter({ hasText: 'cluster2' }).click();
  await line('- cluster2').waitFor();
  await pane('What it will do').locator('li[data-change]').filter({ hasText: 'cluster2' }).waitFor();
  await retype('- cluster2', '- cluster1');
  await unmarked();
});

test('a field of the form lights its lines, a line of the text its field', async () => {
  await begin('oneCluster');
  await pane('Form').getByLabel('Priority', { exact: true }).fill('7');
  await pane('Form').getByLabel('Name', { exact: true }).first().click();
  await becomes(lit, ['  name: one-cluster']);
  await pane('Form').getByLabel('Priority', { exact: true }).focus();
  await becomes(lit, ['  priority: 7']);
  await pane('Form').getByLabel('By name', { exact: true }).click();
  await becomes(lit, ['      clusterNames:', '      - cluster1']);

  const shown = (path) => field(path).and(page.locator('[data-lit]'));
  for (const [of, path] of [['- cluster1', 'spec.placement.clusterAffinity.clusterNames'], ['name: one-cluster', 'metadata.name'], ['kind: Deployment', 'spec.resourceSelectors[0].kind'], ['priority: 7', 'spec.priority']]) {
    await line(of).click();
    await shown(path).waitFor();
    assert.equal(await pane('Form').locator('[data-lit]').count(), 1, `more than one field for ${of}`);
    const [box, room] = [await shown(path).boundingBox(), await pane('Form').boundingBox()];
    assert.ok(box.y >= room.y && box.y + box.height <= room.y + room.height + 1, `the field of ${of} is out of sight`);
  }
});

test('one history for form and text: comments and order outlive a form edit, and one undo takes back both', async () => {
  await begin('primaryBackup');
  const before = await text();
  assert.ok(before.some((one) => /^ +# Tried in this order/.test(one)), 'a starting point without a comment shows nothing of comments');
  const name = pane('Form').getByLabel('Name', { exact: true }).first();
  const priority = pane('Form').getByLabel('Priority', { exact: true });

  await name.fill('nginx');
  await becomes(text, before.map((one) => one.replace('primary-and-backup', 'nginx')), 'a form edit changed more than its line');
  await priority.fill('5');
  await line('priority: 5').waitFor();
  const after = await text();
  assert.deepEqual(after.filter((one) => !/priority: 5/.test(one)), before.map((one) => one.replace('primary-and-backup', 'nginx')));

  await page.getByRole('button', { name: 'Undo' }).click();
  await becomes(text, before.map((one) => one.replace('primary-and-backup', 'nginx')), 'one undo takes back one field');
  assert.equal(await priority.inputValue(), '');
  await page.getByRole('button', { name: 'Undo' }).click();
  await becomes(text, before);
  await becomes(() => name.inputValue(), 'primary-and-backup');
  await page.getByRole('button', { name: 'Undo' }).and(page.locator(':disabled')).waitFor();
  await page.getByRole('button', { name: 'Redo' }).click();
  await becomes(() => name.inputValue(), 'nginx');

  // The text's edit reaches the form; undo by the keyboard of either side takes back both.
  await retype('- cluster2', '- cluster1');
  const backup = field('spec.placement.clusterAffinities[1].clusterNames');
  await backup.getByText('cluster1', { exact: true }).waitFor();
  await page.keyboard.press('Control+z');
  await backup.getByText('cluster2', { exact: true }).waitFor();
  await name.focus();
  await page.keyboard.press('Control+z');
  await becomes(text, before);
  await page.keyboard.press('Control+y');
  await becomes(() => name.inputValue(), 'nginx');
});

test('the pickers write the clusters that are chosen, and take back what is not wanted any more', async () => {
  await begin('everywhere');
  const form = pane('Form');
  await form.getByLabel('Name', { exact: true }).first().fill('nginx');
  await form.getByRole('button', { name: 'chosen clusters' }).click();
  await form.getByLabel('By name', { exact: true }).click();
  for (const name of ['cluster1', 'cluster2']) await page.getByRole('option', { name }).click();
  await line('- cluster2').waitFor();
  // None is not every cluster: who takes the last one out is asked which it shall be.
  for (let pills = 2; pills > 0; pills--) await page.keyboard.press('Backspace');
  await line('clusterAffinity: {}').waitFor();
  await field('spec.placement.clusterAffinity.clusterNames').getByText('No cluster is chosen').waitFor();
  await form.getByRole('button', { name: 'chosen clusters', pressed: true }).waitFor();
  await save().and(page.locator(':disabled')).waitFor();
  await form.getByLabel('By name', { exact: true }).click();
  for (const name of ['cluster1', 'cluster2']) await page.getByRole('option', { name }).click();
  await line('- cluster2').waitFor();
  await form.getByRole('button', { name: 'Add bound' }).click();
  await line('spreadByField: cluster').waitFor();
  await form.getByRole('button', { name: 'Remove bound 1' }).click();
  await form.getByLabel('How replicas are placed').selectOption({ label: 'divided by weights' });
  await line('staticWeightList:').waitFor();
  await form.getByLabel('How replicas are placed').selectOption({ label: 'all in each cluster' });
  await line('staticWeightList:').waitFor({ state: 'detached' });
  await pane('What it will do').locator('li[data-change="new"]').filter({ hasText: 'cluster2' }).waitFor();
  await save().filter({ hasText: 'Create: 2 clusters gain' }).and(page.locator(':enabled')).click();
  await page.waitForURL(/\/policies\/propagationpolicies\/default\/nginx$/);
  const { spec } = await read('propagationpolicy', 'nginx');
  assert.deepEqual(spec.placement.clusterAffinity.clusterNames, ['cluster1', 'cluster2']);
  assert.deepEqual(spec.resourceSelectors.map(({ kind }) => kind), ['Deployment']);
});

/** The editor of the policy that the test before saved. */
async function reopen() {
  await page.goto(`${setting.url}/policies/propagationpolicies/default/nginx/edit`);
  await line('name: nginx').waitFor();
  await page.getByRole('button', { name: 'Nothing changed' }).waitFor();
}

const elsewhere = (spec) => kubectl(['patch', 'propagationpolicy', 'nginx', '--type=merge', '-p', JSON.stringify({ spec })]);

test('merge: two changes of different fields are brought together, and both are saved', async () => {
  await reopen();
  await pane('Form').getByLabel('If already there').selectOption('Overwrite');
  await line('conflictResolution: Overwrite').waitFor();
  await elsewhere({ priority: 3 });
  await page.getByText('Somebody saved this policy meanwhile').waitFor();
  await save().and(page.locator(':disabled')).waitFor();
  await page.getByRole('button', { name: 'Bring together…' }).click();
  await page.getByText('The changes touch different fields. The merged policy has both.').waitFor();
  const side = (name) => pane(name).locator('pre').innerText();
  const has = async (name) => [/priority: 3/.test(await side(name)), /conflictResolution: Overwrite/.test(await side(name))];
  assert.deepEqual(await Promise.all(['Before both', 'Theirs', 'Mine', 'Merged'].map(has)), [[false, false], [true, false], [false, true], [true, true]]);
  await page.getByRole('button', { name: 'Take the merged policy' }).click();
  await line('priority: 3').waitFor();
  await save().and(page.locator(':enabled')).click();
  await page.waitForURL(/\/default\/nginx$/);
  const { spec } = await read('propagationpolicy', 'nginx');
  assert.deepEqual([spec.priority, spec.conflictResolution], [3, 'Overwrite']);
});

test('merge: where both changed one field a person chooses, and sees what it was', async () => {
  await reopen();
  await pane('Form').getByLabel('Priority', { exact: true }).fill('4');
  await line('priority: 4').waitFor();
  await elsewhere({ priority: 5, propagateDeps: true });
  await page.getByRole('button', { name: 'Bring together…' }).click();
  await page.getByText('One field was changed by both. Choose what it shall be.').waitFor();
  const conflict = page.getByRole('group').filter({ hasText: 'spec.priority' });
  await conflict.getByText('was 3').waitFor();
  const take = page.getByRole('button', { name: 'Take the merged policy' });
  assert.ok(await take.isDisabled(), 'it can be taken before anybody chose');
  await conflict.getByRole('radio', { name: /^Theirs/ }).check();
  assert.match(await pane('Merged').locator('pre').innerText(), /priority: 5/);
  await conflict.getByRole('radio', { name: /^Mine/ }).check();
  assert.match(await pane('Merged').locator('pre').innerText(), /priority: 4/);
  await take.click();
  await line('priority: 4').waitFor();
  // The field is another's now, who may set it back: that is asked, not done behind anybody's back.
  await page.getByText('owned by kubectl-patch').waitFor();
  await save().and(page.locator(':disabled')).waitFor();
  await page.getByRole('button', { name: 'Take over these fields' }).click();
  await save().and(page.locator(':enabled')).click();
  await page.waitForURL(/\/default\/nginx$/);
  const { spec } = await read('propagationpolicy', 'nginx');
  assert.deepEqual([spec.priority, spec.propagateDeps], [4, true]);
});

test('override: the other family has an editor and a preview as well', async () => {
  await begin('imageTag', 'overridepolicies');
  const answer = pane('What it will do');
  await answer.getByText('Overrides change it for 1 of its 2 clusters.').waitFor();
  const edit = answer.getByRole('listitem').filter({ hasText: 'cluster1' });
  await edit.getByText('/spec/template/spec/containers/0/image').waitFor();
  assert.deepEqual([await edit.locator('del').innerText(), await edit.locator('ins').innerText()], ['nginx', 'nginx:1.20']);
  await edit.getByText('rule 1, Image').waitFor();
  await save().filter({ hasText: 'changes 1 cluster' }).click();
  await page.waitForURL(/\/policies\/overridepolicies\/default\/image-tag$/);
  const image = async (kubeconfig) => (await read('deployment', 'nginx', '--kubeconfig', kubeconfig)).spec.template.spec.containers[0].image;
  await becomes(() => Promise.all(clusters.map(image)), ['nginx:1.20', 'nginx'], 'images of the members');
});

test('override diff: two clusters compared; the changed line names its rule, and no other line has one', async () => {
  const diff = `${setting.url}/workloads/apps/v1/Deployment/default/nginx?tab=overrides`;
  const changed = () => page.getByRole('table').locator('[role="row"][data-op="add"], [role="row"][data-op="del"]').evaluateAll((rows) => rows.map((row) => {
    const cells = [...row.querySelectorAll('[role="cell"]')].map((cell) => cell.textContent.trim());
    return [row.dataset.op, cells.at(-2), cells.at(-1)];
  }));
  const rule = /^default\/image-tag[^]*1[^]*imageOverrider$/;
  await page.goto(`${diff}&cluster=cluster1&against=cluster2`);
  await page.getByRole('table').getByText('nginx:1.20').waitFor();
  const [gone, come, ...others] = await changed();
  assert.deepEqual(others, [], 'more lines differ than the image');
  assert.match(gone[1], /^removed: +- image: nginx$/);
  assert.match(come[1], /^added: +- image: nginx:1\.20$/);
  assert.match(come[2], rule);
  await page.getByRole('table').getByRole('link', { name: /default\/image-tag/ }).first().waitFor();

  await page.goto(`${diff}&cluster=cluster2`);
  await page.getByText('nginx').first().waitFor();
  await page.getByRole('table').waitFor();
  await page.locator('[aria-busy="true"]').waitFor({ state: 'detached' });
  assert.deepEqual(await changed(), []);
});

test('the pages fit from 1440 to 390 px in both schemes and both languages', async () => {
  const shows = (what) => (p) => p.locator(what).filter({ visible: true }).first().waitFor();
  const tab = async (p, label) => { if (await p.getByRole('tab', { name: label, exact: true }).first().isVisible()) await p.getByRole('tab', { name: label, exact: true }).click(); };
  const editing = async (p) => { await shows('[data-path="metadata.name"]')(p); await tab(p, 'YAML'); await shows('.cm-line')(p); };
  const faulty = async (p) => { await editing(p); await retype('clusterAffinity:', 'clusterAfinity:', p); await shows('.cm-lintRange-error')(p); };
  let theirs = 100;
  const merging = async (p) => {
    await shows('[data-path="spec.priority"]')(p);
    await p.locator('[data-path="spec.priority"] input').fill('40');
    await elsewhere({ priority: ++theirs - 200, preserveResourcesOnDeletion: true });
    await p.getByRole('button', { name: /^(Bring together|合并)…$/ }).click();
    await shows('fieldset input[type="radio"]')(p);
  };
  const pages = [
    ['editor-fault', '/policies/new/propagationpolicies?start=oneCluster', faulty],
    ['editor-override', '/policies/new/overridepolicies?start=extraLabel', shows('[data-path="metadata.name"]')],
    ['editor-merge', '/policies/propagationpolicies/default/nginx/edit', merging],
    ['override-diff-clusters', '/workloads/apps/v1/Deployment/default/nginx?tab=overrides&cluster=cluster1&against=cluster2', shows('[role="row"][data-op="add"]')],
    ['gallery-example', '/policies/new?start=oneCluster', shows('details')],
  ];
  const state = await admin.context.storageState();
  const faults = [...await photograph(browser, state, pages), ...await photograph(browser, state, pages.slice(0, 3), { locale: 'zh-CN', schemes: ['light'] })];
  assert.deepEqual(faults.filter(unwanted), []);
});

test('no violation of the content security policy, no error in the console', () => {
  assert.deepEqual(admin.faults.filter(unwanted), []);
});
