import { QueryClientProvider } from '@tanstack/react-query';
import { expect, it, vi } from 'vitest';
import { queryClient } from '@/api/hub';
import type { SessionInfo } from '@/api/model';
import { SessionProvider } from '@/api/session';
import { render } from '@/test/render';
import TokenListPage from './TokenListPage';

it.each([['viewer', 0], ['operator', 1]] as const)('asks for the tokens only where the hub would tell them: %s', async (role, requests) => {
  queryClient.clear();
  const asked = vi.spyOn(globalThis, 'fetch').mockImplementation(() => new Promise(() => undefined));
  const session = { user: { name: 'ada', role } } as SessionInfo;
  const place = await render(<QueryClientProvider client={queryClient}><SessionProvider value={session}><TokenListPage /></SessionProvider></QueryClientProvider>);
  expect(asked.mock.calls.filter(([url]) => String(url).includes('/tokens')).length).toBe(requests);
  expect(place.textContent.includes('Only operators and administrators see join tokens.')).toBe(role === 'viewer');
  asked.mockRestore();
});
