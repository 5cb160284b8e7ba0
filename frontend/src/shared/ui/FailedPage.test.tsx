import { expect, it, vi } from 'vitest';
import { click, render } from '@/test/render';
import { FailedPage } from './FailedPage';

it('names the page, says why it could not be read, and leads on', async () => {
  const onRetry = vi.fn();
  const place = await render(<FailedPage title="edge-7" explained={{ what: 'The hub does not answer' }} retrying={false} onRetry={onRetry} back={<a href="/clusters">All clusters</a>} />);
  expect(place.querySelector('h1')?.textContent).toBe('edge-7');
  expect(document.title).toBe('edge-7 · Muster');
  expect(place.querySelector('[role="alert"]')?.textContent).toContain('The hub does not answer');
  expect(place.querySelector('a')?.getAttribute('href')).toBe('/clusters');
  await click([...place.querySelectorAll('button')].find((button) => button.textContent === 'Try again'));
  expect(onRetry).toHaveBeenCalledOnce();
});
