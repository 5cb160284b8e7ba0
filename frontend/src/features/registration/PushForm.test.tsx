import { QueryClientProvider } from '@tanstack/react-query';
import { act } from 'react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { live, queryClient } from '@/api/hub';
import { click, render, type } from '@/test/render';
import { PushForm } from './PushForm';

const contexts = [{ name: 'first', server: 'https://10.0.0.1' }, { name: 'second', server: 'https://10.0.0.2' }, { name: 'broken', problem: 'names no user' }];

/** The hub's preflight: it plans for the name that it is given, for none it has no plan, and it cannot read one of the contexts. */
const asked: { context?: string; name?: string }[] = [];
async function preflight(_: unknown, init?: RequestInit): Promise<Response> {
  const body = JSON.parse(String(init?.body)) as { context?: string; name?: string };
  asked.push(body);
  const context = body.context ?? 'first';
  if (context === 'broken') return Response.json({ code: 'MU-201', title: 'kubeconfig' }, { status: 400 });
  const plan = body.name ? [{ where: 'hub', verb: 'create', kind: 'Cluster', name: body.name }] : [];
  return Response.json({ ok: true, context, contexts, checks: [], plan });
}

beforeEach(() => { asked.length = 0; vi.spyOn(globalThis, 'fetch').mockImplementation(preflight as typeof fetch); });
afterEach(() => { vi.restoreAllMocks(); });

// Generous: what is waited for is a state, and the machine may be busy.
vi.setConfig({ testTimeout: 60_000 });
const settled = (check: () => void) => vi.waitFor(check, { timeout: 30_000 });

const nameOf = (place: HTMLElement) => place.querySelector<HTMLInputElement>('[data-path="name"]');
const planOf = (place: HTMLElement) => [...place.querySelectorAll('code')].at(-1)?.textContent;

async function choose(place: HTMLElement, context: string): Promise<void> {
  const select = place.querySelector('select');
  await act(async () => {
    Object.getOwnPropertyDescriptor(HTMLSelectElement.prototype, 'value')?.set?.call(select, context);
    select?.dispatchEvent(new Event('change', { bubbles: true }));
  });
}

async function checked(): Promise<HTMLElement> {
  const place = await render(<QueryClientProvider client={queryClient}><PushForm may onBack={() => undefined} /></QueryClientProvider>);
  const box = place.querySelector('textarea');
  await act(async () => {
    Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, 'value')?.set?.call(box, 'kind: Config');
    box?.dispatchEvent(new Event('input', { bubbles: true }));
  });
  await click([...place.querySelectorAll('button')].at(-1));
  await settled(() => expect(nameOf(place)?.value).toBe('first'));
  return place;
}

it('proposes the name of the context that is chosen, until somebody types one', async () => {
  const place = await checked();
  await choose(place, 'second');
  await settled(() => expect(nameOf(place)?.value).toBe('second'));
  await settled(() => expect(planOf(place)).toBe('second'));
  await type(nameOf(place) as HTMLInputElement, 'edge-7');
  await choose(place, 'first');
  await settled(() => expect(asked.at(-1)).toMatchObject({ context: 'first', name: 'edge-7' }));
  expect(nameOf(place)?.value).toBe('edge-7');
});

it('shows what will be created under the name that it proposes, before anybody joins', async () => {
  const place = await checked();
  await settled(() => expect(planOf(place)).toBe('first'));
});

it('plans again for another name', async () => {
  const place = await checked();
  const name = nameOf(place) as HTMLInputElement;
  await type(name, 'edge-7');
  await act(async () => { name.dispatchEvent(new FocusEvent('focusout', { bubbles: true })); });
  await settled(() => expect(planOf(place)).toBe('edge-7'));
});

it('keeps the other contexts to choose from when one cannot be used', async () => {
  const place = await checked();
  await choose(place, 'broken');
  await settled(() => expect(place.querySelector('[role="alert"]')).not.toBeNull());
  expect(place.querySelectorAll('select option')).toHaveLength(3);
});

it('forgets that the hub did not answer once it is back, and keeps what was typed', async () => {
  let tell = () => {};
  vi.spyOn(live, 'watch').mockImplementation((watcher) => { tell = watcher; return () => undefined; });
  const status = vi.spyOn(live, 'getStatus').mockReturnValue('lost');
  const place = await checked();
  vi.mocked(globalThis.fetch).mockRejectedValueOnce(new TypeError('Failed to fetch'));
  await click([...place.querySelectorAll('button')].at(-2)); // check again
  await settled(() => expect(place.querySelector('[role="alert"]')).not.toBeNull());
  status.mockReturnValue('live');
  await act(async () => tell());
  await settled(() => expect(place.querySelector('[role="alert"]')).toBeNull());
  expect(nameOf(place)?.value).toBe('first');
});
