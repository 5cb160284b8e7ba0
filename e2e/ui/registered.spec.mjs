// The fleet in both dialects, after ocm.spec.mjs and on its hub: what is done to a managed cluster on its page, members of either dialect in
// either list, each consent alone, and the rules that give them unseen. What is clicked is checked on the hub.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { becomes, chosenPassword, kubectl, launch, person, photograph, setting, signIn } from './browser.mjs';
import { consents, managed, requestOf, room } from './ocm.mjs';

let browser;
let admin;
let page;
let inRoom;
const agents = [];

before(async () => {
  browser = await launch();
  admin = await person(browser);
  page = await admin.context.newPage();
  inRoom = room(page);
  await page.goto(setting.url);
  await signIn(page, 'admin', chosenPassword);
  await page.getByRole('heading', { name: 'Clusters', exact: true }).waitFor();
});

after(async () => {
  await browser?.close();
  await Promise.all(agents.map((agent) => new Promise((resolve) => {
    if (agent.exitCode !== null || agent.signalCode !== null) resolve();
    else agent.once('exit', resolve).kill('SIGTERM');
  })));
});

/** Runs agents of the member east until the end. */
function agent(...args) {
  agents.push(spawn(`${setting.bin}/muster-agent`, [...args, '--bootstrap-kubeconfig', setting.bootstrapKubeconfig, '--spoke-kubeconfig', setting.eastKubeconfig], { stdio: 'ignore' }));
}

/** A cluster that nobody knows asks for both consents. */
const newcomer = (name) => agent('registration', '--spoke-cluster-name', name, '--namespace', `agent-${name}`);

const condition = async (name, type) => (await managed(name)).status?.conditions?.find((one) => one.type === type)?.status;
const row = (name) => page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });
const region = (name) => page.getByRole('region', { name, exact: true });
/** The hub's objects of a kind, by name. */
const names = async (kind) => (await kubectl(['get', kind, '-o', 'jsonpath={.items[*].metadata.name}'])).split(' ');

test('the page of a managed cluster: labels and taints are what the object has', async () => {
  await page.goto(`${setting.url}/managed-clusters/east`);
  await page.getByLabel('New label').fill('tier=gold');
  await page.getByRole('button', { name: 'Add label' }).click();
  await region('Labels').getByRole('button', { name: 'Save' }).click();
  await region('Labels').getByRole('button', { name: 'Save' }).waitFor({ state: 'detached' });
  const { labels } = (await managed('east')).metadata;
  assert.equal(labels.tier, 'gold');
  assert.equal(labels['cluster.open-cluster-management.io/clusterset'], 'default', 'its set went with the save');

  await region('Taints').getByLabel('Key').fill('maintenance');
  await region('Taints').getByLabel('Value').fill('tonight');
  await region('Taints').getByLabel('Effect').selectOption('PreferNoSelect');
  await page.getByRole('button', { name: 'Add taint' }).click();
  await region('Taints').getByRole('button', { name: 'Save' }).click();
  await region('Taints').getByRole('button', { name: 'Save' }).waitFor({ state: 'detached' });
  const [{ timeAdded, ...taint }, ...others] = (await managed('east')).spec.taints;
  assert.deepEqual([taint, others], [{ key: 'maintenance', value: 'tonight', effect: 'PreferNoSelect' }, []]);
  assert.ok(Date.parse(timeAdded), 'since when, the hub did not say');

  await page.getByRole('button', { name: 'Remove label tier' }).click();
  await region('Labels').getByRole('button', { name: 'Save' }).click();
  await region('Labels').getByText('tier=gold').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Remove taint maintenance=tonight:PreferNoSelect' }).click();
  await region('Taints').getByRole('button', { name: 'Save' }).click();
  await becomes(async () => (await managed('east')).spec.taints ?? [], [], 'the taints of east');
  await becomes(async () => (await managed('east')).metadata.labels.tier, undefined, 'the label of east');
});

test('the page of a managed cluster: removed by its plan, with its name typed', async () => {
  await page.goto(`${setting.url}/managed-clusters/west`);
  await page.getByRole('button', { name: 'Remove…' }).click();
  const plan = inRoom.dialog().getByRole('region', { name: 'What will happen' });
  await plan.getByText('No ManifestWorks are there.').waitFor();
  await plan.getByRole('listitem').filter({ hasText: 'ManagedCluster' }).filter({ hasText: 'west' }).first().waitFor();
  const remove = inRoom.dialog().getByRole('button', { name: 'Remove west' });
  assert.ok(await remove.isDisabled(), 'it can be removed without its name typed');
  await inRoom.dialog().getByLabel('Type west to confirm').fill('west');
  await remove.click();
  await page.getByRole('heading', { name: 'west was removed' }).waitFor();
  assert.ok(!(await names('managedclusters')).includes('west'), 'it is still on the hub');
});

test('one fleet: a member of either dialect is in both lists, well, with its mark and the way to its page', async () => {
  agent('klusterlet', '--spoke-cluster-name', 'east');
  await promisify(execFile)(`${setting.bin}/muster`, ['join', 'quay', '--kubeconfig', setting.hubKubeconfig, '--cluster-kubeconfig', setting.westKubeconfig]);
  for (const [list, marks] of [['/clusters', [['east', 'OCM', '/managed-clusters/east'], ['quay', 'Karmada', '/clusters/quay']]],
    ['/managed-clusters', [['east', 'OCM', '/managed-clusters/east'], ['quay', 'Karmada', '/managed-clusters/quay']]]]) {
    await page.goto(`${setting.url}${list}`);
    for (const [name, dialect, path] of marks) {
      await row(name).getByText('Ready', { exact: true }).waitFor();
      await row(name).getByRole('cell', { name: dialect, exact: true }).waitFor();
      assert.equal(await row(name).getByRole('link', { name, exact: true }).getAttribute('href'), path);
    }
  }
  await page.goto(`${setting.url}/clusters`);
  await row('east').getByRole('link', { name: 'east', exact: true }).click();
  await page.getByText('ManagedClusterJoined').first().waitFor();
  await page.goto(`${setting.url}/managed-clusters`);
  await row('quay').getByRole('link', { name: 'quay', exact: true }).click();
  await page.getByText('no Open Cluster Management agent acts for it').waitFor();
  await page.getByRole('link', { name: 'Its page as a Karmada member' }).click();
  await page.getByText('Push', { exact: true }).first().waitFor();
});

test('waiting room: each consent alone moves nothing but itself, one by one and of several', async () => {
  const { acceptance, certificate, decide, dialog } = inRoom;
  await page.goto(`${setting.url}/waiting`);
  await decide('Accept alone-one');
  await acceptance('alone-one').getByText('Accepted').waitFor();
  await certificate('alone-one').getByText('Waits for approval').waitFor();
  assert.deepEqual(await consents('alone-one'), { request: 'Pending', accepted: true });
  await decide('Approve the certificate of alone-two');
  await certificate('alone-two').getByText('Issued').waitFor();
  await acceptance('alone-two').getByText('Waits for acceptance').waitFor();
  assert.deepEqual(await consents('alone-two'), { request: 'Approved', accepted: false });

  const several = ['alone-three', 'alone-four'];
  const all = async (button, answer) => {
    for (const name of several) await page.getByRole('checkbox', { name: `Choose ${name}`, exact: true }).check();
    await page.getByRole('group', { name: '2 chosen' }).getByRole('button', { name: button, exact: true }).click();
    await dialog().getByRole('button', { name: answer }).click();
    await dialog().waitFor({ state: 'detached' });
  };
  await all('Approve', 'Approve 2 certificates');
  for (const name of several) {
    await certificate(name).getByText('Issued').waitFor();
    assert.deepEqual(await consents(name), { request: 'Approved', accepted: false });
  }
  await all('Accept', 'Accept 2 clusters');
  for (const name of several) {
    await acceptance(name).getByText('Accepted').waitFor();
    assert.deepEqual(await consents(name), { request: 'Approved', accepted: true });
  }
});

const rule = (value) => page.getByRole('row').filter({ hasText: value });

/** Makes a rule for names by mouse, which gives both consents or acceptance alone. */
async function addRule(pattern, approve) {
  const { dialog } = inRoom;
  await page.getByRole('button', { name: 'Add rule' }).click();
  await dialog().getByLabel('By').selectOption('Cluster name');
  await dialog().getByLabel('Pattern of names').fill(pattern);
  await dialog().getByRole('checkbox', { name: 'Approve the certificate' }).setChecked(approve);
  await dialog().getByRole('checkbox', { name: 'Accept the cluster' }).check();
  await dialog().getByText(`Everybody who may ask at all, with any bootstrap credential, gets ${approve ? 'the certificate and acceptance' : 'acceptance'} if the name fits.`).waitFor();
  await dialog().getByRole('button', { name: 'Make rule' }).click();
  await dialog().waitFor({ state: 'detached' });
}

test('approval rules: one made by mouse lets in whom it fits, and its row says so', async () => {
  await page.goto(`${setting.url}/waiting/rules`);
  await addRule('harbor-*', true);
  await rule('harbor-*').getByText('the certificate and acceptance').waitFor();
  await rule('harbor-*').getByText('never').waitFor();
  await page.getByText('2 rules let clusters in unseen').waitFor();

  newcomer('harbor-1');
  await rule('harbor-*').getByText('2 times').waitFor();
  assert.deepEqual(await consents('harbor-1'), { request: 'Approved', accepted: true });
  await becomes(() => condition('harbor-1', 'ManagedClusterConditionAvailable'), 'True', 'harbor-1 is available');
});

test('approval rules: once one is removed, the next one waits', async () => {
  await page.getByRole('button', { name: 'Remove the rule for harbor-*' }).click();
  await inRoom.dialog().getByText('Nobody gets in by harbor-* any more. Whom it let in stays.').waitFor();
  await inRoom.dialog().getByRole('button', { name: 'Remove', exact: true }).click();
  await rule('harbor-*').waitFor({ state: 'detached' });
  newcomer('harbor-2');
  await becomes(async () => (await requestOf('harbor-2').catch(() => undefined)) !== undefined, true, 'the request of harbor-2');

  // Another rule counts for all who wait; when it has done what it gives, harbor-2 was passed over.
  await addRule('late-?', false);
  await rule('late-?').getByText('once').waitFor();
  assert.deepEqual(await consents('late-1'), { request: 'Pending', accepted: true });
  assert.deepEqual(await consents('harbor-2'), { request: 'Pending', accepted: false });
  assert.equal((await managed('harbor-1')).spec.hubAcceptsClient, true, 'whom the rule let in is out again');
});

test('approval rules: one of the command line is shown and stays', async () => {
  const remove = rule('fleet:importer').getByRole('button', { name: /^Remove the rule for/ });
  assert.ok(await remove.isDisabled(), 'a rule of the command line can be removed');
  assert.equal(await remove.getAttribute('title'), 'It stands on the hub’s command line.');
  await rule('fleet:importer').getByText('Command line').waitFor();
});

test('an accepted cluster is denied, and its page says so as it happens', async () => {
  const own = await admin.context.newPage();
  await own.goto(`${setting.url}/managed-clusters/harbor-1`);
  const acceptance = own.getByRole('region', { name: 'The two consents' });
  await acceptance.getByText(/^Accepted/).waitFor();
  await page.goto(`${setting.url}/waiting`);
  await inRoom.card('harbor-1').getByRole('button', { name: 'Details of harbor-1' }).click();
  await page.getByRole('button', { name: 'Deny harbor-1' }).click();
  await inRoom.dialog().getByLabel('Reason').fill('sold');
  await inRoom.dialog().getByRole('button', { name: 'Deny harbor-1' }).click();
  await acceptance.getByText('Withdrawn').waitFor();
  await own.locator('main').getByText(/^Denied/).first().waitFor();
  assert.equal((await managed('harbor-1')).spec.hubAcceptsClient, false);
  await becomes(() => condition('harbor-1', 'HubAcceptedManagedCluster'), 'False', 'harbor-1 is accepted');
  await inRoom.card('harbor-1').getByText('Reason: sold').waitFor();
  await own.close();
});

test('the pages fit from 1440 to 390 px in both schemes', async () => {
  const sees = (text) => (p) => p.getByText(text).filter({ visible: true }).first().waitFor();
  const faults = await photograph(browser, await admin.context.storageState(), [
    ['fleet-clusters', '/clusters', sees('quay')], ['fleet-denied', '/managed-clusters/harbor-1', sees('Withdrawn')],
  ]);
  assert.deepEqual(faults, []);
});

test('no violation of the content security policy, no error in the console', () => {
  // That a removed cluster is not found is how its page knows; browsers report it all the same.
  const removed = (fault) => fault.includes('status of 404') && fault.endsWith('/api/v1/managed-clusters/west)');
  assert.deepEqual(admin.faults.filter((fault) => !removed(fault)), []);
});
