import { act, useState } from 'react';
import { expect, it } from 'vitest';
import { render } from '@/test/render';
import { Fold } from './Fold';

it('opens for what must be seen, and stays open once that is mended', async () => {
  let set: (urgent: boolean) => void = () => undefined;
  function Page() {
    const [urgent, setUrgent] = useState(false);
    set = setUrgent;
    return <Fold summary="More" urgent={urgent}><p>inside</p></Fold>;
  }
  const place = await render(<Page />);
  const fold = place.querySelector('details') as HTMLDetailsElement;
  expect(fold.open).toBe(false);
  await act(async () => set(true));
  expect(fold.open).toBe(true);
  await act(async () => set(false));
  expect(fold.open).toBe(true);
});
