// A page stays what it is while the hub is away and when the session ends: what was asked for comes when the hub is back,
// and what was typed is there after the next sign-in. It goes on with the hub of cluster.spec.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { chosenPassword, launch, person, setting } from './browser.mjs';

let browser;
let admin;
let page;

// A page that waits behind the door has fields of its own, so that only what can be seen is meant.
async function enter(at) {
  await at.getByRole('textbox', { name: 'Name', exact: true }).fill('admin');
  await at.locator('input[type="password"]').fill(chosenPassword);
  await at.getByRole('button', { name: 'Sign in' }).click();
}

before(async () => {
  browser = await launch();
  admin = await person(browser);
  page = await admin.context.newPage();
  await page.goto(`${setting.url}/tokens`);
  await enter(page);
  await page.getByRole('heading', { name: 'Join tokens' }).waitFor();
});

after(async () => { await browser?.close(); });

test('a dialog that is asked for while the hub is away comes when it is back', async () => {
  await page.getByTestId('live').and(page.locator('[data-status="live"]')).waitFor();
  await admin.context.setOffline(true);
  const refused = page.waitForEvent('requestfailed', (request) => request.url().includes('.css'));
  await page.getByRole('button', { name: 'New token' }).first().click();
  await refused;
  assert.ok(await page.getByRole('heading', { name: 'Join tokens' }).isVisible(), 'the page is gone');
  await admin.context.setOffline(false);
  await page.getByRole('dialog').getByLabel('Description').fill('typed before the session ended');
  const unstyled = await page.evaluate(() => [...document.querySelectorAll('link[rel="stylesheet"]')].filter((link) => !link.sheet).map((link) => link.href));
  assert.deepEqual(unstyled, []);
});

test('a session that was ended elsewhere begins again with what was typed', async () => {
  const other = await (await person(browser)).context.newPage();
  await other.goto(`${setting.url}/sessions`);
  await enter(other);
  await other.getByRole('heading', { name: 'My sessions' }).waitFor();
  const ended = await other.evaluate(async () => {
    const { csrf } = await (await fetch('/api/v1/session')).json();
    const { items } = await (await fetch('/api/v1/sessions')).json();
    const headers = { 'Content-Type': 'application/json', 'X-CSRF-Token': csrf };
    const answers = items.filter((one) => !one.current).map((one) => fetch(`/api/v1/sessions/${one.id}`, { method: 'DELETE', headers, body: '{}' }));
    return (await Promise.all(answers)).filter((answer) => answer.ok).length;
  });
  assert.ok(ended > 0, 'no session was ended');
  await page.getByText('Your session has ended').waitFor();
  assert.equal(await page.getByRole('dialog').filter({ visible: true }).count(), 0, 'a dialog stands before the door');
  await enter(page);
  const field = page.getByRole('dialog').getByLabel('Description');
  await field.waitFor();
  assert.equal(await field.inputValue(), 'typed before the session ended');
});

test('who signs out leaves nothing behind', async () => {
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Account: admin' }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in to Muster' }).waitFor();
  assert.equal(await page.getByText('Join tokens').count(), 0);
});
