// A cluster whose agent is gone is removed by somebody who is no administrator: its plan, the typed name, and no need of
// force. It goes on with the hub of cluster.spec, whose agent of "pulled" ended with it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { chosenPassword, launch, person, setting, signIn } from './browser.mjs';

const operatorPassword = 'three blind mice run';
let browser;
let admin;
let operator;

before(async () => {
  browser = await launch();
  admin = await (await person(browser)).context.newPage();
  await admin.goto(setting.url);
  await signIn(admin, 'admin', chosenPassword);
  await admin.getByRole('link', { name: 'pulled' }).waitFor();
});

after(async () => { await browser?.close(); });

test('an administrator makes an operator, who chooses an own password in 中文', async () => {
  await admin.goto(`${setting.url}/users`);
  await admin.getByRole('button', { name: 'New user' }).click();
  const dialog = admin.getByRole('dialog');
  await dialog.getByLabel('Name', { exact: true }).fill('olga');
  await dialog.getByLabel('Role').selectOption('operator');
  await dialog.getByRole('button', { name: 'Create user' }).click();
  const once = (await dialog.locator('pre').innerText()).trim();

  operator = await (await person(browser)).context.newPage();
  await operator.goto(setting.url);
  await operator.getByRole('button', { name: '中文' }).click();
  await operator.getByRole('heading', { name: '登录 Muster' }).waitFor();
  await operator.getByRole('button', { name: 'English' }).click();
  await signIn(operator, 'olga', once);
  await operator.getByLabel('Current password').fill(once);
  await operator.getByLabel('New password', { exact: true }).fill(operatorPassword);
  await operator.getByLabel('New password, once more').fill(operatorPassword);
  await operator.getByRole('button', { name: 'Save password' }).click();
  await operator.getByRole('link', { name: 'pulled' }).waitFor();
});

test('the operator removes a cluster whose agent is gone, without force', async () => {
  await operator.goto(`${setting.url}/clusters/pulled`);
  await operator.getByRole('button', { name: 'More actions' }).click();
  await operator.getByRole('menuitem', { name: 'Remove…' }).click();
  const dialog = operator.getByRole('dialog');
  await dialog.getByText('What will happen').first().waitFor();
  assert.equal(await dialog.getByRole('checkbox').count(), 0, 'force is offered to an operator');
  assert.ok(await dialog.getByRole('button', { name: 'Remove pulled' }).isDisabled(), 'it can be removed without its name typed');
  await dialog.getByLabel('Type pulled to confirm').fill('pulled');
  await dialog.getByRole('button', { name: 'Remove pulled' }).click();
  await operator.getByText('pulled was removed').waitFor();
  // The list of the administrator follows by itself.
  await admin.goto(`${setting.url}/clusters`);
  await admin.getByRole('link', { name: 'pushed' }).waitFor();
  await admin.getByRole('link', { name: 'pulled' }).waitFor({ state: 'detached' });
});
