import { expect, it } from 'vitest';
import { click, render } from '@/test/render';
import { CommandBlock, masked, shortened } from './CommandBlock';

const secret = '7pn49b.0f5a1c2b3d4e5f60';

it('masks what stands behind the dot, everywhere', () => {
  expect(masked(`a ${secret} b ${secret}`, secret)).toBe('a 7pn49b.•••••••••••••••• b 7pn49b.••••••••••••••••');
  expect(masked('hunter2', 'hunter2')).toBe('•••••••');
  expect(masked('nothing', '')).toBe('nothing');
});

it('cuts certificates short and leaves everything else', () => {
  const certificate = `${'QUJD'.repeat(60)}==`;
  expect(shortened(`printf %s ${certificate} | base64 -d`)).toBe(`printf %s ${certificate.slice(0, 24)}…${certificate.slice(-12)} | base64 -d`);
  expect(shortened('sha256:3bc5b2d34f')).toBe('sha256:3bc5b2d34f');
});

it('keeps the secret out of the document until asked', async () => {
  const place = await render(<CommandBlock text={`register --token ${secret}`} secret={secret} what="Register command" />);
  expect(place.innerHTML).not.toContain('0f5a1c2b3d4e5f60');
  const show = [...place.querySelectorAll('button')].find((button) => button.textContent === 'Show');
  await click(show);
  expect(place.querySelector('pre')?.textContent).toBe(`register --token ${secret}`);
});
