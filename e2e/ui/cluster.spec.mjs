// From the first sign-in to two clusters that are ready, by both wizards, and what the audit says of it. One story: each
// test goes on where the one before ended.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { chosenPassword, launch, patience, person, photograph, setting, signIn } from './browser.mjs';

let browser;
let admin;
let page;
let storageState;
const agents = [];

before(async () => {
  browser = await launch();
  admin = await person(browser);
  page = await admin.context.newPage();
});

after(async () => {
  for (const agent of agents) agent.kill('SIGTERM');
  await browser?.close();
});

const heading = (name) => page.getByRole('heading', { name });
const stage = (name) => page.locator(`[data-stage="${name}"]`);
const stages = async () => Object.fromEntries(await page.locator('[data-stage]').evaluateAll((items) => items.map((item) => [item.dataset.stage, item.dataset.state])));

/** Reloads until the cluster is ready, and hands on the stages seen: a reload must not lose any. */
async function reloadUntilReady(name) {
  const seen = [];
  const end = Date.now() + patience;
  for (;;) {
    await page.reload();
    await page.locator('[data-stage]').first().waitFor();
    const now = await stages();
    const done = Object.values(now).filter((state) => state === 'done').length;
    assert.ok(done >= (seen.at(-1) ?? 0), `stages went back after a reload: ${JSON.stringify(now)}`);
    seen.push(done);
    assert.ok(!Object.values(now).includes('failed'), `a stage failed: ${JSON.stringify(now)} ${await page.locator('main').innerText()}`);
    if (await page.getByRole('status').filter({ hasText: `${name} is ready` }).isVisible()) return stages();
    assert.ok(Date.now() < end, `${name} did not become ready: ${JSON.stringify(now)}`);
  }
}

test('first run: the printed password opens once, then one chooses an own one', async () => {
  await page.goto(setting.url);
  await page.getByText('First start').waitFor();
  await signIn(page, 'admin', 'wrong password');
  await page.getByText('Name or password is wrong').waitFor();
  admin.faults.length = 0; // that refusal is reported by the browser, and wanted here
  await signIn(page, 'admin', setting.password);
  await heading('Choose your own password').waitFor();
  await page.getByLabel('Current password').fill(setting.password);
  await page.getByLabel('New password', { exact: true }).fill(chosenPassword);
  await page.getByLabel('New password, once more').fill(chosenPassword);
  await page.getByRole('button', { name: 'Save password' }).click();
  await page.getByText('No clusters yet').waitFor();
  storageState = await admin.context.storageState();
});

test('pull: the wizard shows a command, the command brings the cluster, every stage outlives a reload', async () => {
  await page.goto(`${setting.url}/add-cluster`);
  await page.getByText('The cluster calls us (pull)').click();
  await page.reload();
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.reload();
  await page.getByLabel('Cluster name').fill('pulled');
  await page.getByRole('button', { name: 'Show the command' }).click();

  const block = page.getByLabel('Register command');
  await block.waitFor();
  assert.match(await block.innerText(), /•{16}/, 'the token is not masked');
  await page.getByRole('button', { name: /^Show/ }).click();
  const command = (await block.innerText()).replaceAll('\\\n', ' ').trim().split(/\s+/).map((word) => word.replace(/^'(.*)'$/, '$1'));
  assert.equal(command[0], 'muster-agent');
  assert.doesNotMatch(page.url(), /[a-z0-9]{6}\.[a-z0-9]{16}/, 'the token is in the address');

  await page.reload();
  await page.getByText('The token is shown only once').waitFor();
  assert.equal(await stage('command').getAttribute('data-state'), 'done');

  const agent = spawn(`${setting.bin}/muster-agent`, [...command.slice(1), '--kubeconfig', setting.pullKubeconfig, '--run'], { stdio: ['ignore', 'pipe', 'pipe'] });
  agents.push(agent);
  let printed = '';
  agent.stdout.on('data', (text) => { printed += text; });
  agent.stderr.on('data', (text) => { printed += text; });
  const states = await reloadUntilReady('pulled').catch((error) => { throw new Error(`${error.message}\nmuster-agent printed:\n${printed}`); });
  assert.deepEqual([...new Set(Object.values(states))], ['done']);
  await page.getByRole('link', { name: 'Open pulled' }).click();
  await heading('pulled').waitFor();
});

test('push: pasted kubeconfig, preflight, join; the fleet list of somebody else shows it without a reload', async () => {
  const other = await person(browser, { storageState });
  const fleet = await other.context.newPage();
  await fleet.goto(`${setting.url}/clusters`);
  await fleet.getByRole('link', { name: 'pulled' }).waitFor();

  await page.goto(`${setting.url}/add-cluster?how=push&step=details`);
  await page.getByLabel('Kubeconfig of the cluster').fill(await readFile(setting.pushKubeconfig, 'utf8'));
  await page.getByRole('button', { name: 'Check', exact: true }).click();
  await heading('What will be created').waitFor(); // under the name that the page proposes
  await page.getByLabel('Cluster name').fill('pushed');
  await page.getByRole('button', { name: 'Check again' }).click();
  await page.getByRole('button', { name: 'Join pushed' }).click();
  await page.waitForURL(/\/waiting\//);
  await reloadUntilReady('pushed');
  await page.reload();
  await page.getByRole('status').filter({ hasText: 'pushed is ready' }).waitFor();

  const row = fleet.getByRole('row').filter({ hasText: 'pushed' });
  await row.getByText('Ready').waitFor();
  assert.deepEqual(other.faults, []);
  await other.context.close();
});

test('push: a kubeconfig that runs a program is refused by name', async () => {
  await page.goto(`${setting.url}/add-cluster?how=push&step=details`);
  const text = await readFile(setting.pushKubeconfig, 'utf8');
  await page.getByLabel('Kubeconfig of the cluster').fill(text.replace(/user: \{client-certificate-data.*/, 'user: {exec: {command: evil, apiVersion: client.authentication.k8s.io/v1}}}]'));
  await page.getByRole('button', { name: 'Check', exact: true }).click();
  await page.getByText(/exec/).last().waitFor();
  admin.faults.length = 0; // the refusal's status is reported by the browser, and wanted here
});

test('audit: it names who did what', async () => {
  await page.goto(`${setting.url}/audit`);
  const rows = page.getByRole('row');
  await rows.filter({ hasText: 'admin' }).filter({ hasText: 'pushed' }).first().waitFor();
  await rows.filter({ hasText: 'admin' }).filter({ hasText: 'Dashboard' }).first().waitFor();
  await page.goto(`${setting.url}/audit?q=&name=pulled`);
  await page.goto(`${setting.url}/clusters/pushed`);
  await page.getByRole('tab', { name: 'History' }).click();
  await page.getByRole('row').filter({ hasText: 'admin' }).first().waitFor();
});

test('pages fit from 1440 to 390 px in both schemes', async () => {
  storageState = await admin.context.storageState();
  const sees = (text) => (p) => p.getByText(text).filter({ visible: true }).first().waitFor();
  const faults = await photograph(browser, storageState, [
    ['clusters', '/clusters', sees('pushed')], ['cluster', '/clusters/pushed', sees('Conditions')], ['add-cluster', '/add-cluster', sees('Who calls whom?')],
    ['joining', '/waiting/joining', sees('pushed')], ['rules', '/waiting/rules', sees('Off: the hub approves')],
    ['tokens', '/tokens', sees('Join tokens')], ['audit', '/audit', sees('pushed')], ['users', '/users', sees('admin')],
  ]);
  assert.deepEqual(faults, []);
  const chinese = await person(browser, { storageState, locale: 'zh-CN' });
  const p = await chinese.context.newPage();
  await p.goto(`${setting.url}/clusters`);
  await p.getByText('集群').first().waitFor();
  await p.screenshot({ path: `${setting.screenshots}/clusters-zh.png`, fullPage: true });
  assert.deepEqual(chinese.faults, []);
  await chinese.context.close();
});

test('no violation of the content security policy, no error in the console', () => {
  assert.deepEqual(admin.faults, []);
});
