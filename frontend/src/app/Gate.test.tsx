import { QueryClientProvider } from '@tanstack/react-query';
import { act, useState } from 'react';
import { expect, it, vi } from 'vitest';
import { beginSession, endSession, queryClient, sessionKey } from '@/api/hub';
import type { SessionInfo } from '@/api/model';
import '@/features/session/LoginPage'; // loaded before the clock of the test runs
import { click, render } from '@/test/render';
import { Gate } from './Gate';

vi.mock('./shell/Shell', () => ({
  Shell: function Shell() {
    const [typed, setTyped] = useState('nothing');
    return <button data-typed={typed} onClick={() => setTyped('something')}>{typed}</button>;
  },
}));

const info = (name: string) => ({ user: { name, role: 'admin' }, csrf: 'x' }) as SessionInfo;

it('keeps the page of a session that ended by itself behind the door, and of no other', async () => {
  vi.spyOn(globalThis, 'fetch').mockImplementation(() => new Promise(() => undefined));
  queryClient.setQueryData(sessionKey, info('ada'));
  const place = await render(<QueryClientProvider client={queryClient}><Gate /></QueryClientProvider>);
  const page = () => place.querySelector<HTMLElement>('[data-typed]');
  const door = () => place.textContent.includes('Sign in to Muster');
  const until = (shut: boolean) => vi.waitFor(() => expect(door()).toBe(shut), { timeout: 4_000 });
  await click(page());

  await act(async () => endSession(true));
  await until(true);
  expect(page()?.style.display).toBe('none');
  await act(async () => beginSession(info('ada')));
  await until(false);
  expect(page()?.style.display).toBe('');
  expect(page()?.dataset['typed']).toBe('something');

  await act(async () => endSession(true));
  await until(true);
  await act(async () => beginSession(info('bob')));
  await until(false);
  expect(page()?.dataset['typed']).toBe('nothing');

  await click(page());
  await act(async () => endSession());
  await until(true);
  expect(page()).toBeNull();
});
