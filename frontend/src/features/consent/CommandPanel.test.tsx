import { QueryClientProvider } from '@tanstack/react-query';
import { afterEach, expect, it, vi } from 'vitest';
import { queryClient } from '@/api/hub';
import type { SessionInfo } from '@/api/model';
import { SessionProvider } from '@/api/session';
import { click, render } from '@/test/render';
import { CommandPanel } from './CommandPanel';
import { en } from './words.en';

afterEach(() => { vi.restoreAllMocks(); });

it('makes new commands for agents that are hosted elsewhere after a reload too, when the ones before are forgotten', async () => {
  const asked: unknown[] = [];
  vi.spyOn(globalThis, 'fetch').mockImplementation(((_: unknown, init?: RequestInit) => {
    if (init?.method === 'POST') asked.push(JSON.parse(String(init.body)));
    return new Promise(() => undefined);
  }) as typeof fetch);
  const session = { user: { name: 'ada', role: 'operator' } } as SessionInfo;
  const place = await render(<QueryClientProvider client={queryClient}><SessionProvider value={session}><CommandPanel cluster="edge" mode="hosted" /></SessionProvider></QueryClientProvider>);
  expect(place.textContent).toContain(en.runHosted);
  await click([...place.querySelectorAll('button')].find((button) => button.textContent === en.again));
  await vi.waitFor(() => expect(asked).toEqual([{ clusterName: 'edge', mode: 'hosted' }]), { timeout: 30_000 });
});
