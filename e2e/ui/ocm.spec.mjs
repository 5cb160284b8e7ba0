// Clusters that speak Open Cluster Management, from the commands of Add cluster to objects in them: the three ways to introduce one, both
// consents by mouse, in bulk and by keyboard, sets, ManifestWorks, operators. One story: each test goes on where the one before ended, and
// what is clicked is checked on the hub.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { chosenPassword, kubectl, launch, patience, person, photograph, setting, signIn } from './browser.mjs';
import { consents, managed, requestOf, room } from './ocm.mjs';

let browser;
let admin;
let page;
let acceptance, card, certificate, decide, dialog;
let directory;
const agents = [];
const clusterOf = { apiVersion: 'cluster.open-cluster-management.io/v1', kind: 'ManagedCluster' };

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'muster-ocm-'));
  browser = await launch();
  admin = await person(browser, { permissions: ['clipboard-read', 'clipboard-write'] });
  page = await admin.context.newPage();
  ({ acceptance, card, certificate, decide, dialog } = room(page));
});

after(async () => {
  await browser?.close();
  for (const agent of agents) {
    const ended = new Promise((resolve) => { agent.once('exit', resolve); });
    if (agent.exitCode === null && agent.signalCode === null) process.kill(-agent.pid, 'SIGTERM');
    else continue;
    await ended;
  }
  await rm(directory, { recursive: true, force: true });
});

const read = async (args) => JSON.parse(await kubectl([...args, '-o', 'json']));

/** Asks the hub until it answers as wanted. */
async function eventually(what, ask) {
  const end = Date.now() + patience;
  for (let last; ;) {
    const answer = await ask().catch((error) => { last = error; });
    if (answer) return answer;
    assert.ok(Date.now() < end, `waited in vain for ${what}: ${last?.message ?? ''}`);
  }
}

const heading = (name) => page.getByRole('heading', { name });

/** What the copy button of a block gives, which must be what the block shows once it may. */
async function copied(block) {
  const figure = page.getByRole('figure').filter({ has: page.getByLabel(block, { exact: true }) }).first();
  assert.match(await figure.locator('pre').innerText(), /•{16}/, `${block} shows its token`);
  await figure.getByRole('button', { name: 'Copy' }).click();
  await figure.getByText('Copied').waitFor();
  const text = await page.evaluate(() => navigator.clipboard.readText());
  await figure.getByRole('button', { name: 'Show' }).click();
  assert.equal((await figure.locator('pre').innerText()).trim(), text.trim());
  return text;
}

/** Runs what somebody pastes into a shell in our directory, with our programs in its path; `agent` goes on until the end. */
function shell(text, kubeconfig, agent = false) {
  const environment = { ...process.env, PATH: `${directory}:${setting.bin}:${process.env.PATH}`, KUBECONFIG: kubeconfig };
  if (!agent) return promisify(execFile)('bash', ['-euc', text], { cwd: directory, env: environment });
  const child = spawn('bash', ['-euc', text], { cwd: directory, env: environment, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  child.printed = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => { child.printed += data; });
  agents.push(child);
  return child;
}

/** Whether an identity may introduce this cluster; nothing is stored. */
async function introduces(name, identity) {
  const object = { ...clusterOf, metadata: { name }, spec: { hubAcceptsClient: false } };
  assert.match(await kubectl(['create', '--dry-run=server', '-f', '-', ...identity], JSON.stringify(object)), new RegExp(`${name} created`));
}

/** The wizard's form, filled and sent. */
async function introduce(name, mode) {
  await page.getByLabel('Cluster name').fill(name);
  await page.getByRole('radio', { name: mode }).check();
  await page.getByRole('button', { name: 'Show the commands' }).click();
  await page.getByLabel('Command', { exact: true }).first().waitFor();
  assert.doesNotMatch(page.url(), /eyJ|[a-z0-9]{6}\.[a-z0-9]{16}/, 'the token is in the address');
}

/** What a stub of clusteradm is called with by the command shown: its flags. */
async function clusteradmFlags(command) {
  const { stdout } = await shell(`clusteradm() { printf '%s\\n' "$@"; }\n${command}`, '/dev/null');
  const words = stdout.trim().split('\n');
  assert.equal(words.shift(), 'join');
  return Object.fromEntries(words.flatMap((word, i) => (word.startsWith('--') ? [[word.slice(2), words[i + 1]?.startsWith('--') ? '' : words[i + 1] ?? '']] : [])));
}

test('first sign-in', async () => {
  await page.goto(setting.url);
  await signIn(page, 'admin', setting.password);
  await page.getByLabel('Current password').fill(setting.password);
  await page.getByLabel('New password', { exact: true }).fill(chosenPassword);
  await page.getByLabel('New password, once more').fill(chosenPassword);
  await page.getByRole('button', { name: 'Save password' }).click();
  await page.getByText('No clusters yet').waitFor();
});

test('add cluster: the commands for clusteradm, Klusterlet and our agent lead to the hub', async () => {
  await page.goto(`${setting.url}/add-cluster`);
  await page.getByText('It introduces itself (Open Cluster Management)').click();
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByText('Token and address').click();
  await page.getByLabel('Address of the cluster’s API').fill('https://east.example:6443');
  await introduce('east', 'In the cluster Registration');

  const flags = await clusteradmFlags(await copied('Command'));
  assert.deepEqual([flags['cluster-name'], flags.mode], ['east', undefined]);
  await introduces('east', ['--server', flags['hub-apiserver'], '--token', flags['hub-token'], '--certificate-authority', join(directory, flags['ca-file'])]);

  await page.getByRole('tab', { name: 'Klusterlet' }).click();
  const manifest = (await copied('Manifest')).split(/^---$/m);
  const [, secret, klusterlet] = await Promise.all(manifest.map(async (text) => JSON.parse(await kubectl(['create', '--dry-run=client', '-o', 'json', '-f', '-'], text))));
  assert.deepEqual([klusterlet.spec.clusterName, klusterlet.spec.deployOption.mode, klusterlet.spec.namespace], ['east', 'Default', secret.metadata.namespace]);
  await shell(`cat > klusterlet.kubeconfig <<'END'\n${secret.stringData.kubeconfig}\nEND`);
  await introduces('east', ['--kubeconfig', join(directory, 'klusterlet.kubeconfig')]);

  await page.getByRole('tab', { name: 'muster-agent' }).click();
  shell(await copied('Command'), setting.eastKubeconfig, true);
  // The wizard follows: both consents are asked for here as well.
  await certificate('east').getByText('Waits for approval').waitFor();
  await acceptance('east').getByText('Waits for acceptance').waitFor();
});

test('add cluster: after a reload the token is gone, and the consents are still there', async () => {
  await page.reload();
  await certificate('east').getByText('Waits for approval').waitFor();
  assert.equal(await page.getByLabel('Command', { exact: true }).count(), 0);
});

test('waiting room: who asks, from where, with which key; both consents are given one by one', async () => {
  await page.goto(`${setting.url}/waiting`);
  const [agent] = agents;
  const [, fingerprint] = await eventually('the agent to print its fingerprint', async () => /"?fingerprint"?[=:]"?(SHA256:[0-9a-f]{64})/.exec(agent.printed));
  const asked = certificate('east');
  assert.equal((await asked.locator('code').first().innerText()).replaceAll(/\s/g, ''), fingerprint);
  await asked.getByText('the bootstrap service account').waitFor();
  await asked.getByText('127.0.0.1').waitFor();
  await acceptance('east').getByText('https://east.example:6443').waitFor();
  assert.deepEqual(await consents('east'), { request: 'Pending', accepted: false });

  await decide('Approve the certificate of east');
  await certificate('east').getByText('Issued').waitFor();
  assert.deepEqual(await consents('east'), { request: 'Approved', accepted: false });
  await card('east').getByText('Waits for acceptance').first().waitFor();

  await decide('Accept east');
  await acceptance('east').getByText('Accepted').waitFor();
  assert.deepEqual(await consents('east'), { request: 'Approved', accepted: true });
  await card('east').getByText('Available', { exact: true }).waitFor();
  const { status: { version } } = await managed('east');
  await acceptance('east').getByText(version.kubernetes).waitFor();
});

test('waiting room: a denied cluster gets nothing, and the reason is kept', async () => {
  await page.getByRole('button', { name: 'Deny stranger' }).click();
  await dialog().getByLabel('Reason').fill('nobody knows it');
  await dialog().getByRole('button', { name: 'Deny stranger' }).click();
  await card('stranger').getByText('Reason: nobody knows it').waitFor();
  await certificate('stranger').getByText('Denied').waitFor();
  assert.deepEqual(await consents('stranger'), { request: 'Denied', accepted: false });
});

test('waiting room: several at once, each decided on by itself', async () => {
  for (const name of ['bulk-one', 'bulk-two']) await page.getByRole('checkbox', { name: `Choose ${name}`, exact: true }).check();
  await page.getByRole('group', { name: '2 chosen' }).getByRole('button', { name: 'Approve and accept' }).click();
  for (const name of ['bulk-one', 'bulk-two']) await dialog().getByText(name).waitFor();
  await dialog().getByRole('button', { name: 'Approve and accept 2 clusters' }).click();
  for (const name of ['bulk-one', 'bulk-two']) {
    await certificate(name).getByText('Issued').waitFor();
    await acceptance(name).getByText('Accepted').waitFor();
    assert.deepEqual(await consents(name), { request: 'Approved', accepted: true });
  }
  assert.deepEqual(await consents('newcomer'), { request: 'Pending', accepted: false }, 'it was not chosen');
});

/** Presses Tab until the element of this name has the keyboard; each stop on the way must show that it has. */
async function tabTo(name) {
  const stops = [];
  for (;;) {
    await page.keyboard.press('Tab');
    const stop = await page.evaluate(async () => {
      const { activeElement: element } = document;
      const settled = async () => { await Promise.all(element.getAnimations().map((one) => one.finished)); return getComputedStyle(element).borderColor; };
      const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(element);
      let shown = (outlineStyle !== 'none' && parseFloat(outlineWidth) > 0) || boxShadow !== 'none';
      if (!shown) { // a field shows it by its border
        const border = await settled();
        element.blur();
        shown = await settled() !== border;
        element.focus();
      }
      const box = element.getBoundingClientRect();
      const about = element.closest('label') ?? document.querySelector(`label[for="${CSS.escape(element.id)}"]`);
      return { name: element.getAttribute('aria-label') ?? about?.textContent ?? element.textContent, shown, inside: box.bottom > 0 && box.top < window.innerHeight };
    });
    assert.ok(stop.shown && stop.inside, `nobody sees that "${stop.name}" has the keyboard`);
    if (stop.name === name) return;
    stops.push(stop.name);
    assert.ok(stops.length < 200, `Tab never comes to "${name}": ${stops.slice(0, 60).join(', ')}`);
  }
}

test('waiting room: both consents by keyboard alone, which is never lost', async () => {
  await page.reload();
  await card('by-keyboard').waitFor();
  await tabTo('Approve the certificate of by-keyboard');
  await page.keyboard.press('Enter');
  await dialog().getByRole('button', { name: 'Approve the certificate of by-keyboard' }).and(page.locator(':focus')).waitFor();
  await page.keyboard.press('Enter');
  await certificate('by-keyboard').getByText('Issued').waitFor();
  await dialog().waitFor({ state: 'detached' });
  assert.deepEqual(await consents('by-keyboard'), { request: 'Approved', accepted: false });

  assert.notEqual(await page.evaluate(() => document.activeElement.tagName), 'BODY', 'the keyboard is at the top again');
  await tabTo('Accept by-keyboard');
  await page.keyboard.press('Space');
  await dialog().getByRole('button', { name: 'Accept by-keyboard' }).and(page.locator(':focus')).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Accept by-keyboard' }).and(page.locator(':focus')).waitFor();
  assert.equal((await consents('by-keyboard')).accepted, false, 'Escape agreed');
  await page.keyboard.press('Space');
  await dialog().getByRole('button', { name: 'Accept by-keyboard' }).and(page.locator(':focus')).waitFor();
  await page.keyboard.press('Space');
  await acceptance('by-keyboard').getByText('Accepted').waitFor();
  assert.deepEqual(await consents('by-keyboard'), { request: 'Approved', accepted: true });
});

test('audit: each consent, of whom and for which key', async () => {
  await page.goto(`${setting.url}/audit`);
  const request = await requestOf('east');
  for (const [verb, object] of [['approve', request.metadata.name], ['accept', 'east'], ['accept', 'bulk-one'], ['accept', 'bulk-two'], ['deny', 'stranger'], ['accept', 'by-keyboard']]) {
    await page.goto(`${setting.url}/audit?verb=${verb}&name=${object}`);
    await page.getByRole('row').filter({ hasText: 'admin' }).filter({ hasText: verb }).filter({ hasText: object }).filter({ hasText: 'Done' }).first().waitFor();
  }
  await page.goto(`${setting.url}/audit?verb=approve&name=${request.metadata.name}`);
  await page.getByRole('row').filter({ hasText: 'admin' }).first().getByRole('button', { name: /^Details/ }).click();
  for (const told of ['SHA256:', '127.0.0.1', 'agent-registration-bootstrap']) await page.locator('main').getByText(told).filter({ visible: true }).first().waitFor();
});

test('cluster sets: made, bound, filled by label, emptied and deleted', async () => {
  await page.goto(`${setting.url}/cluster-sets`);
  await page.getByRole('button', { name: 'New set' }).click();
  await dialog().getByLabel('Name', { exact: true }).fill('shops');
  await dialog().getByLabel('Bind to namespaces (optional)').fill('default');
  await dialog().getByRole('button', { name: 'Make set' }).click();
  const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'shops' }) });
  await row.getByText('default', { exact: true }).waitFor();
  await read(['get', 'managedclustersetbinding', 'shops', '-n', 'default']);

  await page.goto(`${setting.url}/managed-clusters/east`);
  await page.getByLabel('Move to set').selectOption('shops');
  await page.getByRole('button', { name: 'Move', exact: true }).click();
  await page.getByRole('link', { name: 'shops' }).waitFor();
  assert.equal((await managed('east')).metadata.labels['cluster.open-cluster-management.io/clusterset'], 'shops');
  await page.goto(`${setting.url}/cluster-sets`);
  await row.getByRole('cell', { name: '1', exact: true }).waitFor();
  await row.getByRole('link', { name: 'shops' }).click();
  await page.getByRole('link', { name: 'east' }).waitFor();
  assert.equal(await page.getByRole('link', { name: 'stranger' }).count(), 0, 'the set shows a cluster of another');

  await page.goto(`${setting.url}/cluster-sets`);
  await page.getByRole('button', { name: 'Unbind shops from default' }).click();
  await row.getByText('no namespace').waitFor();
  assert.equal(await kubectl(['get', 'managedclustersetbinding', '-n', 'default', '-o', 'name']), '');
  await page.getByRole('button', { name: 'Delete shops' }).click();
  assert.ok(await dialog().getByRole('button', { name: 'Delete shops' }).isDisabled(), 'it can be deleted without its name typed');
  await dialog().getByLabel('Type shops to confirm').fill('shops');
  await dialog().getByRole('button', { name: 'Delete shops' }).click();
  await row.waitFor({ state: 'detached' });
  assert.doesNotMatch(await kubectl(['get', 'managedclusterset', '-o', 'name']), /shops/);
  await page.goto(`${setting.url}/managed-clusters/east`);
  await page.getByText('There is no set shops any more').waitFor();
  await page.getByLabel('Move to set').selectOption('default');
  await page.getByRole('button', { name: 'Move', exact: true }).click();
  await page.getByRole('link', { name: 'default' }).waitFor();
});

const settings = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'default' }, data: { colour: 'green' } };
const shop = {
  apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'shop', namespace: 'default' },
  spec: { replicas: 2, selector: { matchLabels: { app: 'shop' } }, template: { metadata: { labels: { app: 'shop' } }, spec: { containers: [{ name: 'web', image: 'web' }] } } },
};
const unheardOf = { apiVersion: 'example.com/v1', kind: 'Unheard', metadata: { name: 'of', namespace: 'default' } };
const work = (name, manifests) => JSON.stringify({
  apiVersion: 'work.open-cluster-management.io/v1', kind: 'ManifestWork', metadata: { name, namespace: 'east' },
  spec: { workload: { manifests }, manifestConfigs: [{ resourceIdentifier: { group: 'apps', resource: 'deployments', namespace: 'default', name: 'shop' }, feedbackRules: [{ type: 'WellKnownStatus' }] }] },
});

/** Plays the kubelet of east for the pods of an app. */
async function ready(app) {
  const pods = await eventually(`pods of ${app}`, async () => {
    const { items } = await read(['get', 'pods', '-n', 'default', '-l', `app=${app}`, '--kubeconfig', setting.eastKubeconfig]);
    return items.length === shop.spec.replicas && items;
  });
  const status = JSON.stringify({ status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } });
  for (const pod of pods) await kubectl(['patch', 'pod', pod.metadata.name, '-n', 'default', '--subresource=status', '-p', status, '--kubeconfig', setting.eastKubeconfig]);
}

test('ManifestWorks: what is applied and available, object by object, as it happens', async () => {
  await page.goto(`${setting.url}/managed-clusters/east?tab=works`);
  await page.getByText('No ManifestWorks').first().waitFor();
  await kubectl(['apply', '-f', '-'], work('web', [settings, shop]));
  const row = page.getByRole('row').filter({ hasText: 'web' });
  await row.getByText('Available').waitFor();
  await row.getByText('2/2').waitFor();
  await page.getByText('1 of 1 applied, 1 available').waitFor();

  await row.getByRole('button', { name: 'Details of web' }).click();
  const object = (name) => dialog().getByRole('listitem').filter({ has: page.getByText(`default/${name}`, { exact: true }) });
  for (const name of ['settings', 'shop']) {
    await object(name).getByText('AppliedManifestComplete').waitFor();
    await object(name).getByText('ResourceAvailable').waitFor();
  }
  await ready('shop');
  await object('shop').locator('dl > div').filter({ hasText: /^ReadyReplicas\s*2$/ }).waitFor();
  await object('shop').locator('dl > div').filter({ hasText: /^Replicas\s*2$/ }).waitFor();

  // One more object, of a kind that the cluster does not have: the dialog follows.
  await kubectl(['apply', '-f', '-'], work('web', [settings, shop, unheardOf]));
  await object('of').getByText('AppliedManifestFailed').waitFor();
  await dialog().getByText('Not applied').first().waitFor();
  await page.keyboard.press('Escape');
  await row.getByText('Not applied').waitFor();
  await row.getByText('2/3').waitFor();
  await page.getByText('0 of 1 applied').waitFor();
});

test('ManifestWorks: deleted by hand, with its objects', async () => {
  await page.getByRole('button', { name: 'Details of web' }).click();
  await dialog().getByRole('button', { name: 'Delete…' }).click();
  assert.ok(await dialog().getByRole('button', { name: 'Delete web' }).isDisabled(), 'it can be deleted without its name typed');
  await dialog().getByLabel('Type web to confirm').fill('web');
  await dialog().getByRole('button', { name: 'Delete web' }).click();
  await page.getByText('No ManifestWorks').first().waitFor();
  assert.equal(await kubectl(['get', 'manifestwork', '-n', 'east', '-o', 'name']), '');
  assert.doesNotMatch(await kubectl(['get', 'configmap,deployment', '-n', 'default', '-o', 'name', '--kubeconfig', setting.eastKubeconfig]), /settings|shop/);
});

test('add cluster, hosted: what the operator needs is shown, and it and the agents take it', async () => {
  await page.goto(`${setting.url}/add-cluster/ocm`);
  await introduce('west', 'In another cluster (hosted)');
  await heading('Run this where kubectl reaches the cluster that hosts the agents').waitFor();
  const flags = await clusteradmFlags(await copied('Command'));
  assert.deepEqual([flags['cluster-name'], flags.mode, flags['managed-cluster-kubeconfig']], ['west', 'hosted', 'managed.kubeconfig']);
  await introduces('west', ['--server', flags['hub-apiserver'], '--token', flags['hub-token'], '--certificate-authority', join(directory, flags['ca-file'])]);

  await page.getByRole('tab', { name: 'Klusterlet' }).click();
  await kubectl(['apply', '-f', '-'], await copied('Manifest'));
  const steps = (await page.getByLabel('Then give the agents a kubeconfig of the cluster:').innerText()).trim();
  const operators = await admin.context.newPage();
  await operators.goto(`${setting.url}/operators`);
  const klusterlet = operators.getByRole('article', { name: 'klusterlet-west', exact: true });
  await klusterlet.getByText('external-managed-kubeconfig').first().waitFor(); // is named as missing
  await shell(`cp '${setting.westKubeconfig}' managed.kubeconfig && kubectl() { kube kubectl "$@"; }\n${steps}`, setting.hubKubeconfig);
  await klusterlet.getByText(/objects applied/).waitFor();

  await page.getByRole('tab', { name: 'muster-agent' }).click();
  shell(await copied('Command'), setting.westKubeconfig, true);
  await decide('Approve and accept west');
  await page.getByRole('status').filter({ hasText: 'west is available' }).waitFor();
  assert.deepEqual(await consents('west'), { request: 'Approved', accepted: true });
  await operators.close();
});

test('operators: conditions, what was applied at which generation, what is not supported', async () => {
  await page.goto(`${setting.url}/operators`);
  const manager = page.getByRole('article', { name: 'cluster-manager', exact: true });
  const klusterlet = page.getByRole('article', { name: 'klusterlet-west', exact: true });
  const condition = (where, type) => where.getByRole('row').filter({ has: page.getByText(type, { exact: true }) });
  await condition(manager, 'Applied').getByText('True', { exact: true }).waitFor();
  await manager.getByText('Ready', { exact: true }).waitFor();
  await kubectl(['patch', 'clustermanager', 'cluster-manager', '--type=merge', '-p', JSON.stringify({ spec: { workConfiguration: { workDriver: 'mqtt' } } })]);
  await condition(manager, 'NotSupported').getByText('works travel by the Kubernetes API').waitFor();
  await manager.getByText('Degraded', { exact: true }).waitFor();
  await kubectl(['patch', 'clustermanager', 'cluster-manager', '--type=merge', '-p', JSON.stringify({ spec: { workConfiguration: { workDriver: 'kube' } } })]);
  await manager.getByText('Ready', { exact: true }).waitFor();

  await klusterlet.getByText('Hosted').waitFor();
  await condition(klusterlet, 'Applied').getByText('True', { exact: true }).waitFor();
  await condition(klusterlet, 'Available').getByText('False', { exact: true }).waitFor(); // nothing runs pods here
  await klusterlet.getByText(/objects applied/).click();
  const { status } = await read(['get', 'klusterlet', 'klusterlet-west']);
  for (const { resource, name, lastGeneration } of status.generations) {
    await klusterlet.getByRole('listitem').filter({ hasText: resource }).filter({ hasText: name }).getByText(`generation ${lastGeneration}`).first().waitFor();
  }
  assert.equal(await klusterlet.getByRole('listitem').count(), status.relatedResources.length);
});

test('the pages fit from 1440 to 390 px in both schemes', async () => {
  await kubectl(['apply', '-f', '-'], work('web', [settings, shop, unheardOf]));
  const sees = (text) => (p) => p.getByText(text).filter({ visible: true }).first().waitFor();
  const fills = (mode) => async (p) => {
    await p.getByLabel('Cluster name').fill('pictured');
    await p.getByRole('radio', { name: mode }).check();
    await p.getByRole('button', { name: 'Show the commands' }).click();
    await p.getByLabel('Command', { exact: true }).first().waitFor();
  };
  const faults = await photograph(browser, await admin.context.storageState(), [
    ['ocm-introduce', '/add-cluster/ocm', sees('Where its agents run')], ['ocm-commands', '/add-cluster/ocm', fills('In the cluster Registration')],
    ['ocm-waiting', '/waiting', sees('newcomer')],
    ['ocm-decide', '/waiting', async (p) => { await p.getByRole('button', { name: 'Approve and accept newcomer' }).click(); await p.getByRole('dialog').getByText('SHA256').waitFor(); }],
    ['ocm-rules', '/waiting/rules', sees('1 rule lets clusters in unseen')], ['ocm-clusters', '/managed-clusters', sees('bulk-one')], ['ocm-cluster', '/managed-clusters/east', sees('ManagedClusterJoined')],
    ['ocm-works', '/managed-clusters/east?tab=works', sees('AppliedManifestWorkFailed')], ['ocm-work', '/managed-clusters/east?tab=works&work=web', sees('AppliedManifestFailed')],
    ['ocm-sets', '/cluster-sets', sees('global')], ['ocm-operators', '/operators', sees('klusterlet-west')],
  ]);
  assert.deepEqual(faults, []);
});

test('no violation of the content security policy, no error in the console', () => {
  assert.deepEqual(admin.faults, []);
});
