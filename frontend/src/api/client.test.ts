import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ApiError, del, get, onSessionEnd, post, setCsrf } from '@/api/client';

const answer = vi.fn<typeof fetch>();

beforeEach(() => { vi.stubGlobal('fetch', answer); setCsrf(''); });
afterEach(() => { vi.unstubAllGlobals(); answer.mockReset(); });

function sent() {
  const [url, init] = answer.mock.calls[0] ?? [];
  return { url, init, headers: init?.headers as Record<string, string> };
}

it('puts the CSRF token on what changes something, and only there', async () => {
  setCsrf('c1');
  answer.mockImplementation(() => Promise.resolve(new Response('{}')));
  await get('/clusters', { q: 'a b', state: '', limit: 50 });
  expect(sent().url).toBe('/api/v1/clusters?q=a+b&limit=50');
  expect(sent().headers['X-CSRF-Token']).toBeUndefined();
  answer.mockClear();
  await del('/clusters/a', { confirm: 'a' });
  expect(sent().headers).toMatchObject({ 'X-CSRF-Token': 'c1', 'Content-Type': 'application/json' });
  expect(sent().init?.body).toBe('{"confirm":"a"}');
});

it('turns a problem into an ApiError', async () => {
  answer.mockResolvedValue(new Response(JSON.stringify({ code: 'MU-105', status: 409, detail: 'taken', fix: 'rename', fields: [{ field: 'name', message: 'taken' }] }), { status: 409 }));
  const error = await post('/clusters').catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({ status: 409, code: 'MU-105', detail: 'taken', fix: 'rename', fields: [{ field: 'name', message: 'taken' }] });
});

it('survives an answer that is no problem, and no answer at all', async () => {
  answer.mockResolvedValueOnce(new Response('<html>', { status: 502, statusText: 'Bad Gateway' }));
  expect(await get('/x').catch((thrown: unknown) => thrown)).toMatchObject({ status: 502, message: 'Bad Gateway' });
  answer.mockRejectedValueOnce(new TypeError('failed'));
  expect(await get('/x').catch((thrown: unknown) => thrown)).toMatchObject({ status: 0, code: 'offline' });
});

it('tells once that the session ended, and not for a refused login', async () => {
  const ended = vi.fn();
  const stop = onSessionEnd(ended);
  answer.mockImplementation(() => Promise.resolve(new Response('{}', { status: 401 })));
  await post('/session').catch(() => undefined);
  expect(ended).not.toHaveBeenCalled();
  setCsrf('c1');
  await get('/clusters').catch(() => undefined);
  await get('/clusters').catch(() => undefined);
  expect(ended).toHaveBeenCalledTimes(1);
  stop();
});

it('reads an empty answer as nothing', async () => {
  answer.mockResolvedValue(new Response(null, { status: 204 }));
  expect(await del('/tokens/a')).toBeUndefined();
});
