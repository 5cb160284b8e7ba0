import { QueryClientProvider } from '@tanstack/react-query';
import { act, type ReactNode } from 'react';
import { afterEach, expect, it, vi } from 'vitest';
import { queryClient } from '@/api/hub';
import type { SessionInfo } from '@/api/model';
import { SessionProvider } from '@/api/session';
import { click, render, type } from '@/test/render';
import { type Blocker, explainBlocker } from './blockers';
import ForceDialog from './ForceDialog';
import RemoveDialog from './RemoveDialog';
import { en } from './words.en';
import { zh } from './words.zh';

const held = (code: Blocker['code'], names: string[], detail = ''): Blocker => ({ code, names, detail, what: `hub: ${code}`, why: 'hub: why', fix: 'use --force' });
const works = held('works', ['web', 'api']);
const member = held('member', ['edge'], 'connection refused');

vi.setConfig({ testTimeout: 60_000 });
const settled = (check: () => void) => vi.waitFor(check, { timeout: 30_000 });
const removed: { force?: boolean }[] = [];
afterEach(() => { vi.restoreAllMocks(); removed.length = 0; });

/** A dialog as somebody of this role sees it; dialogs stand in the document's body. */
async function shown(role: 'operator' | 'admin', dialog: ReactNode, blockers: Blocker[]): Promise<HTMLElement> {
  queryClient.clear();
  vi.spyOn(globalThis, 'fetch').mockImplementation((async (_: unknown, init?: RequestInit) => {
    if (init?.method === 'DELETE') {
      removed.push(JSON.parse(String(init.body)) as { force?: boolean });
      return Response.json({ name: 'edge', state: 'removing' }, { status: 202 });
    }
    return Response.json({ works: 0, namespacesKept: [], steps: [], blockers });
  }) as typeof fetch);
  const session = { user: { name: 'ada', role } } as SessionInfo;
  await render(<QueryClientProvider client={queryClient}><SessionProvider value={session}>{dialog}</SessionProvider></QueryClientProvider>);
  await settled(() => expect(document.body.textContent).toMatch(blockers.length > 0 ? blockers[0]?.code === 'member' ? /does not answer/ : /Works|Finalizer/ : /No works run there/));
  return document.body;
}

async function confirm(page: HTMLElement, button: string): Promise<void> {
  await type(page.querySelector('input[autocapitalize="off"]') as HTMLInputElement, 'edge');
  await click([...page.querySelectorAll('button')].find((one) => one.textContent === button));
  await settled(() => expect(removed).toHaveLength(1));
  await act(async () => undefined);
}

it('lets an operator remove a member that is gone: nothing waits for it', async () => {
  const page = await shown('operator', <RemoveDialog name="edge" onClose={() => undefined} />, [member]);
  expect(page.textContent).toContain('connection refused');
  expect(page.textContent).not.toContain(en.removal.noForce);
  expect(page.querySelector('input[type="checkbox"]')).toBeNull();
  await confirm(page, 'Remove edge');
  expect(removed[0]?.force).toBe(false);
});

it('tells an operator what to do where only administrators may use force, and lets the removal begin', async () => {
  const page = await shown('operator', <RemoveDialog name="edge" onClose={() => undefined} />, [works]);
  expect(page.textContent).toContain(en.removal.noForceHint);
  expect(page.querySelector('input[type="checkbox"]')).toBeNull();
  await confirm(page, 'Remove edge');
});

it('offers force to an administrator where force is of use', async () => {
  const page = await shown('admin', <RemoveDialog name="edge" onClose={() => undefined} />, [works]);
  await click(page.querySelector('input[type="checkbox"]'));
  await confirm(page, 'Remove edge');
  expect(removed[0]?.force).toBe(true);
});

it('offers no force against finalizers of others', async () => {
  const page = await shown('admin', <RemoveDialog name="edge" onClose={() => undefined} />, [held('finalizer', ['example.com/mine'])]);
  expect(page.querySelector('input[type="checkbox"]')).toBeNull();
});

it.each([['operator', false], ['admin', true]] as const)('a removal under way tells what it waits for; force is for administrators: %s', async (role, may) => {
  const page = await shown(role, <ForceDialog name="edge" onClose={() => undefined} />, [works]);
  expect(page.textContent).toContain('web, api');
  expect(page.textContent.includes(en.removal.forceDo)).toBe(may);
  if (may) await confirm(page, en.removal.forceDo);
  expect(removed.map((one) => one.force)).toEqual(may ? [true] : []);
});

it('does not offer force to end the waiting for a finalizer of others', async () => {
  const page = await shown('admin', <ForceDialog name="edge" onClose={() => undefined} />, [held('finalizer', ['example.com/mine'])]);
  expect(page.textContent).toContain('example.com/mine');
  expect(page.textContent).not.toContain(en.removal.forceDo);
});

it('words every code in both languages, with nothing of the hub’s English but what others said', () => {
  for (const code of ['works', 'namespace', 'bindings', 'finalizer', 'member'] as const) {
    const told = explainBlocker(zh, 'edge', held(code, ['n'], 'x509'));
    for (const part of [told.what, told.why, told.fix]) expect(part).toMatch(/\p{Script=Han}/u);
    expect(`${told.what}${told.why}${told.fix}`).not.toContain('hub:');
    expect(told.why).toContain('x509');
    expect(explainBlocker(en, 'edge', held(code, ['n'])).fix).not.toContain('--force');
  }
});
