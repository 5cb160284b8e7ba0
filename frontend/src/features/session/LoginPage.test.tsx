import { QueryClientProvider } from '@tanstack/react-query';
import { expect, it, vi } from 'vitest';
import { beginSession, endSession, expiredSession, leaveSession, queryClient } from '@/api/hub';
import type { SessionInfo } from '@/api/model';
import { click, render, type } from '@/test/render';
import LoginPage from './LoginPage';

const ended = 'Your session has ended';

async function door(): Promise<string> {
  const asked = vi.spyOn(globalThis, 'fetch').mockImplementation(() => new Promise(() => undefined));
  const place = await render(<QueryClientProvider client={queryClient}><LoginPage tools={null} /></QueryClientProvider>);
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

it('tells who typed a wrong password what to do, until another is typed', async () => {
  queryClient.clear();
  vi.spyOn(globalThis, 'fetch').mockImplementation((async (url: unknown) => (String(url).includes('/info')
    ? Response.json({ version: 'v1', firstRun: false })
    : Response.json({ code: 'bad-credentials', detail: 'no' }, { status: 401 }))) as typeof fetch);
  const place = await render(<QueryClientProvider client={queryClient}><LoginPage tools={null} /></QueryClientProvider>);
  const [name, password] = place.querySelectorAll('input');
  await type(name as HTMLInputElement, 'ada');
  await type(password as HTMLInputElement, 'wrong');
  await click(place.querySelector('button[type="submit"]'));
  await vi.waitFor(() => expect(place.textContent).toContain('an administrator can make a new one'), { timeout: 30_000 });
  await type(password as HTMLInputElement, 'wrong as well');
  expect(place.querySelector('[role="alert"]')).toBeNull();
  vi.restoreAllMocks();
});

it('keeps what was read for the user whose session ended by itself, and for nobody else', () => {
  const info = (name: string) => ({ user: { name, role: 'admin' }, csrf: 'x' }) as SessionInfo;
  beginSession(info('ada'));
  queryClient.setQueryData(['clusters', 'list'], 'rows');
  endSession(true);
  endSession(true); // the socket says so as well
  expect(expiredSession()?.user.name).toBe('ada');
  beginSession(info('ada'));
  expect(queryClient.getQueryData(['clusters', 'list'])).toBe('rows');
  endSession(true);
  beginSession(info('bob'));
  expect(queryClient.getQueryData(['clusters', 'list'])).toBeUndefined();
  expect(expiredSession()).toBeUndefined();
});
