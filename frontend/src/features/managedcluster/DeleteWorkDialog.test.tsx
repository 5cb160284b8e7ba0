import { QueryClientProvider } from '@tanstack/react-query';
import { act } from 'react';
import { afterEach, expect, it, vi } from 'vitest';
import { queryClient } from '@/api/hub';
import type { ManifestWorkDetail } from '@/api/model';
import { click, render, type } from '@/test/render';
import DeleteWorkDialog from './DeleteWorkDialog';
import { workDetail } from './queries';
import { en } from './words.en';
import { zh } from './words.zh';

afterEach(() => { vi.restoreAllMocks(); queryClient.clear(); });

it.each(['Foreground', 'Orphan', 'SelectivelyOrphan'] as const)('says what becomes of the objects, and deletes nothing before the name is typed: %s', async (deletePolicy) => {
  const asked: string[] = [];
  vi.spyOn(globalThis, 'fetch').mockImplementation(((_: unknown, init?: RequestInit) => {
    asked.push(init?.method ?? 'GET');
    return new Promise(() => undefined);
  }) as typeof fetch);
  const objects = [{ ordinal: 0, apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default', name: 'shop', conditions: [], feedback: [] }];
  queryClient.setQueryData(workDetail('edge', 'web').queryKey, { name: 'web', deletePolicy, objects } as unknown as ManifestWorkDetail);
  await render(<QueryClientProvider client={queryClient}><DeleteWorkDialog cluster="edge" work="web" onClose={() => undefined} /></QueryClientProvider>);
  expect(document.body.textContent).toContain(en.deleteWorkTexts[deletePolicy]);
  expect(document.body.textContent).toContain('default/shop');
  expect([...document.querySelectorAll('button')].find((one) => one.textContent === 'Delete web')?.disabled).toBe(true);
  expect(asked).toEqual(['GET']);
  expect(zh.deleteWorkTexts[deletePolicy]).toMatch(/\p{Script=Han}/u);
});

it('asks no more for what is being deleted, whatever is told of it', async () => {
  const asked: string[] = [];
  const web = { name: 'web', deletePolicy: 'Foreground', objects: [] };
  vi.spyOn(globalThis, 'fetch').mockImplementation(((_: unknown, init?: RequestInit) => {
    asked.push(init?.method ?? 'GET');
    return init?.method === 'DELETE' ? new Promise(() => undefined) : Promise.resolve(new Response(JSON.stringify(web), { headers: { 'Content-Type': 'application/json' } }));
  }) as typeof fetch);
  queryClient.setQueryData(workDetail('edge', 'web').queryKey, web as unknown as ManifestWorkDetail);
  await render(<QueryClientProvider client={queryClient}><DeleteWorkDialog cluster="edge" work="web" onClose={() => undefined} /></QueryClientProvider>);
  const told = () => act(() => queryClient.invalidateQueries({ queryKey: ['manifest-works', 'count', 'edge'] }));
  await told();
  expect(asked).toEqual(['GET', 'GET']);
  await type(document.querySelector('input') as HTMLInputElement, 'web');
  await click([...document.querySelectorAll('button')].find((one) => one.textContent === 'Delete web'));
  await told();
  expect(asked).toEqual(['GET', 'GET', 'DELETE']);
});
