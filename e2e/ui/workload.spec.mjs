// A namespace, a Deployment in it and a policy for it, made by the dashboard alone, changed there and removed. It goes on
// with the hub and the clusters of cluster.spec.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { chosenPassword, launch, person, photograph, setting, signIn } from './browser.mjs';

let browser;
let admin;
let page;

before(async () => {
  browser = await launch();
  admin = await person(browser);
  page = await admin.context.newPage();
  await page.goto(`${setting.url}/workloads/new?start=Namespace`);
  await signIn(page, 'admin', chosenPassword);
  await page.getByRole('heading', { name: 'New workload' }).waitFor();
});

after(async () => { await browser?.close(); });

const field = (name) => page.getByLabel(name, { exact: true });
const diner = '/workloads/apps/v1/Deployment/diner/diner';

test('a namespace and a Deployment in it', async () => {
  await field('Name').fill('diner');
  await page.getByRole('button', { name: 'Create Namespace' }).click();
  await page.waitForURL(/\/workloads\/core\/v1\/Namespace\/-\/diner$/);
  await page.goto(`${setting.url}/workloads/new`);
  await field('Name').fill('diner');
  await field('Namespace').fill('diner');
  await field('Image').fill('diner:1.0');
  await page.getByLabel('YAML', { exact: true }).getByText('diner:1.0').waitFor();
  await page.getByRole('button', { name: 'Create Deployment' }).click();
  await page.waitForURL(new RegExp(`${diner}$`));
  await page.getByText('It runs nowhere yet').waitFor();
});

test('a policy for it, with what it will do', async () => {
  await page.getByRole('link', { name: 'Make a policy' }).click();
  await page.getByRole('region', { name: 'What it will do', exact: true }).getByText('new', { exact: true }).first().waitFor();
  await page.getByRole('button', { name: /^Create: \d+ clusters? gain/ }).click();
  await page.waitForURL(/\/policies\/propagationpolicies\/diner\/diner$/);
  await page.getByRole('row').filter({ hasText: 'diner' }).filter({ hasText: 'applied' }).first().waitFor();
});

test('a change of its image arrives on its page', async () => {
  await page.goto(setting.url + diner);
  await page.getByRole('link', { name: 'Edit', exact: true }).click();
  await field('Image').fill('diner:2.0');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.waitForURL(new RegExp(`${diner}$`));
  await page.getByText('diner:2.0').first().waitFor();
});

test('the pages fit from 1440 to 390 px in both schemes', async () => {
  const sees = (text) => (p) => p.getByText(text).filter({ visible: true }).first().waitFor();
  const faults = await photograph(browser, await admin.context.storageState(), [['workload-new', '/workloads/new', sees('No problems')], ['workload-edit', `${diner}/edit`, (p) => p.locator('.cm-line').filter({ hasText: 'diner:2.0' }).first().waitFor()]]);
  assert.deepEqual(faults, []);
});

test('removal asks for the name and takes it away', async () => {
  await page.getByRole('button', { name: 'Remove', exact: true }).click();
  await page.getByLabel('Type diner to confirm').fill('diner');
  await page.getByRole('button', { name: 'Remove diner' }).click();
  await page.getByText('diner was removed').waitFor();
});

test('no violation of the content security policy, no error in the console', () => {
  // Whoever looks at a thing until it is gone is answered that it is.
  assert.deepEqual(admin.faults.filter((fault) => !(fault.includes('404') && fault.includes(diner))), []);
});
