import { QueryClientProvider } from '@tanstack/react-query';
import { expect, it, vi } from 'vitest';
import { beginSession, endSession, leaveSession, queryClient } from '@/api/hub';
import type { SessionInfo } from '@/api/model';
import { render } from '@/test/render';
import LoginPage from './LoginPage';

const ended = 'Your session has ended';

async function door(): Promise<string> {
  const asked = vi.spyOn(globalThis, 'fetch').mockImplementation(() => new Promise(() => undefined));
  const place = await render(<QueryClientProvider client={queryClient}><LoginPage /></QueryClientProvider>);
  asked.mockRestore();
  return place.textContent;
}

it('says that the session ended, unless one signed out', async () => {
  expect(await door()).not.toContain(ended);
  beginSession({ user: { name: 'ada', role: 'admin' }, csrf: 'x' } as SessionInfo);
  endSession(true);
  expect(await door()).toContain(ended);
  beginSession({ user: { name: 'ada', role: 'admin' }, csrf: 'x' } as SessionInfo);
  leaveSession();
  endSession(true);
  expect(await door()).not.toContain(ended);
});
