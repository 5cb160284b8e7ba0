import { act } from 'react';
import { expect, it, vi } from 'vitest';
import { render, type } from '@/test/render';
import { ConfirmName } from './ConfirmName';

const words = { type: (name: string) => `Type ${name}`, keep: 'Keep', confirm: (name: string) => `Remove ${name}` };

it('acts only once the name was typed, by the button or by Enter', async () => {
  const confirm = vi.fn();
  const place = await render(<ConfirmName name="edge" words={words} pending={false} failed={null} onConfirm={confirm} onClose={vi.fn()}>It goes.</ConfirmName>);
  const input = place.querySelector('input') as HTMLInputElement;
  const submit = () => act(async () => { place.querySelector('form')?.dispatchEvent(new Event('submit', { bubbles: true, cancelable: true })); });
  await type(input, 'edg');
  await submit();
  expect(confirm).not.toHaveBeenCalled();
  expect((place.querySelector('button[type=submit]') as HTMLButtonElement).disabled).toBe(true);
  await type(input, 'edge');
  await submit();
  expect(confirm).toHaveBeenCalledTimes(1);
});
