// What every browser test shares: Debian's Chromium, a page that remembers what went wrong in it, screenshots.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { promisify } from 'node:util';
import { chromium } from 'playwright-core';
import { violations } from './accessible.mjs';

/** Where the hub is, and what the Go test that started it says of the members. */
export const setting = {
  url: process.env.MUSTER_URL,
  password: process.env.MUSTER_PASSWORD,
  bin: process.env.MUSTER_BIN,
  hubKubeconfig: process.env.MUSTER_HUB_KUBECONFIG,
  pullKubeconfig: process.env.MUSTER_PULL_KUBECONFIG,
  pushKubeconfig: process.env.MUSTER_PUSH_KUBECONFIG,
  eastKubeconfig: process.env.MUSTER_EAST_KUBECONFIG,
  westKubeconfig: process.env.MUSTER_WEST_KUBECONFIG,
  bootstrapKubeconfig: process.env.MUSTER_BOOTSTRAP_KUBECONFIG,
  screenshots: process.env.MUSTER_SCREENSHOTS,
};

/** How long a test waits, in milliseconds, for what takes a second or two when the machine has nothing else to do. */
export const patience = 120_000;

/** The password that the administrator chooses at the first sign-in. */
export const chosenPassword = 'correct horse battery staple';

const flags = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--disable-extensions', '--lang=en-US',
];

export function launch() {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: flags });
}

/** kubectl on the hub, unless args lead elsewhere, with text for its standard input. */
export async function kubectl(args, text) {
  const elsewhere = args.includes('--kubeconfig') || args.includes('--server');
  const run = promisify(execFile)(`${setting.bin}/kube`, ['kubectl', ...(elsewhere ? [] : ['--kubeconfig', setting.hubKubeconfig]), ...args]);
  run.child.stdin.on('error', () => {}); // one that ends without having read says why by its status
  run.child.stdin.end(text);
  return (await run).stdout;
}

/** An object as kubectl has it. */
export async function read(...args) {
  return JSON.parse(await kubectl(['get', ...args, '-o', 'json']));
}

/** Applies objects, to the hub unless args lead elsewhere. */
export function apply(objects, ...args) {
  return kubectl(['apply', ...args, '-f', '-'], objects.map((object) => JSON.stringify(object)).join('\n---\n'));
}

/** The names of an app's pods in a namespace, once there are so many. */
async function podsOf(app, where, count) {
  const names = async () => (await read('pods', '-l', `app=${app}`, ...where)).items.map(({ metadata }) => metadata.name).sort();
  await becomes(async () => (await names()).length, count, `pods of ${app}`);
  return names();
}

/** Plays the kubelet, which these clusters do not have: each of an app's pods gets a status, "running" or what keeps it. Their names are handed on. */
export async function playPods(app, where, ...statuses) {
  const pods = await podsOf(app, where, statuses.length);
  for (const [index, pod] of pods.entries()) {
    const runs = statuses[index] === 'running';
    const conditions = [{ type: 'Ready', status: runs ? 'True' : 'False', lastTransitionTime: '2026-01-01T00:00:00Z' }];
    const containerStatuses = runs ? [] : [{ name: app, image: app, imageID: '', ready: false, restartCount: 0, state: { waiting: statuses[index] } }];
    await kubectl(['patch', 'pod', pod, ...where, '--subresource=status', '--type=merge', '-p', JSON.stringify({ status: { phase: runs ? 'Running' : 'Pending', conditions, containerStatuses } })]);
  }
  return pods;
}

/** Waits until what a function tells is as wanted, and says what it told when that never came. */
export async function becomes(tell, wanted, what) {
  const end = Date.now() + patience;
  for (;;) {
    const told = await tell();
    if (JSON.stringify(told) === JSON.stringify(wanted)) return;
    if (Date.now() > end) assert.deepEqual(told, wanted, what);
  }
}

/** A browser context, as of one person, and the faults seen in its pages. */
export async function person(browser, options = {}) {
  const context = await browser.newContext({ ignoreHTTPSErrors: true, locale: 'en-US', viewport: { width: 1440, height: 900 }, ...options });
  context.setDefaultTimeout(patience);
  const faults = [];
  await context.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) => {
      console.error(`CSP violation: ${event.violatedDirective} ${event.blockedURI} at ${event.sourceFile}:${event.lineNumber}`);
    });
  });
  context.on('page', (page) => {
    page.on('pageerror', (error) => faults.push(`exception: ${error.stack ?? error.message}`));
    page.on('console', (message) => {
      if (message.type() !== 'error' && message.type() !== 'warning') return;
      // A question whose answer is "not signed in" is an ordinary one; browsers report it all the same.
      if (message.text().includes('401') && message.location().url.endsWith('/api/v1/session')) return;
      faults.push(`console ${message.type()}: ${message.text()} (${message.location().url})`);
    });
  });
  return { context, faults };
}

/** Waits until the hub's answer about a page's object is there: a page that is opened before says 404, in the console too. */
export async function known(context, path) {
  await becomes(async () => (await context.request.get(`${setting.url}/api/v1${path.split('?')[0]}`)).status(), 200, path);
}

/** Signs in on a page that shows the door. */
export async function signIn(page, name, password) {
  await page.getByLabel('Name', { exact: true }).fill(name);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** One picture a page at each width and colour scheme; a page wider than its window is a fault, and so is what violates WCAG AA. */
export async function photograph(browser, storageState, pages, { locale = 'en-US', schemes = ['light', 'dark'] } = {}) {
  await mkdir(setting.screenshots, { recursive: true });
  const faults = [];
  const language = locale === 'en-US' ? '' : `-${locale.slice(0, 2)}`;
  for (const scheme of schemes) {
    for (const width of [1440, 390]) {
      const one = await person(browser, { storageState, locale, colorScheme: scheme, viewport: { width, height: width === 390 ? 844 : 900 } });
      const page = await one.context.newPage();
      for (const [name, path, settled] of pages) {
        await page.goto(setting.url + path);
        await settled(page);
        const excess = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
        if (excess > 0) faults.push(`${name} at ${width} px is ${excess} px too wide`);
        await page.screenshot({ path: `${setting.screenshots}/${name}-${width}-${scheme}${language}.png`, fullPage: true });
        faults.push(...await violations(page, `${name} at ${width} px, ${scheme}`));
      }
      faults.push(...one.faults);
      await one.context.close();
    }
  }
  return faults;
}
