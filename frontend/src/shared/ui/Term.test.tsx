import { expect, it } from 'vitest';
import { render } from '@/test/render';
import { Term } from './Term';

it.each([
  ['ManagedClusterJoined', 'Managed<wbr>Cluster<wbr>Joined'],
  ['CompleteAPIEnablements', 'Complete<wbr>APIEnablements'],
  ['Ready', 'Ready'],
  ['v1Only', 'v1<wbr>Only'],
])('breaks %s between its words, and copies as one', async (text, html) => {
  const place = await render(<p><Term text={text} /></p>);
  const line = place.querySelector('p');
  expect(line?.innerHTML).toBe(html);
  expect(line?.textContent).toBe(text);
});
