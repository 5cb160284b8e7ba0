import { useState } from 'react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { PartMissing } from '@/shared/part';
import { click, render } from '@/test/render';
import { Boundary } from './Boundary';

const reload = vi.fn();

beforeEach(() => {
  vi.spyOn(console, 'error').mockImplementation(() => undefined);
  vi.spyOn(location, 'reload').mockImplementation(reload);
});

afterEach(() => {
  vi.restoreAllMocks();
  reload.mockClear();
  sessionStorage.clear();
});

function Broken({ error }: { error: Error }): never {
  throw error;
}

it('says what a page failed of, offers to reload, and draws the next page', async () => {
  function Page() {
    const [at, setAt] = useState('/a');
    return <><a onClick={() => setAt('/b')}>next</a><Boundary at={at}>{at === '/a' ? <Broken error={new Error('rows is undefined')} /> : <p>well</p>}</Boundary></>;
  }
  const place = await render(<Page />);
  expect(place.textContent).toContain('This page cannot be shown');
  expect(place.textContent).toContain('rows is undefined');
  expect(reload).not.toHaveBeenCalled();
  await click(place.querySelector('button'));
  expect(reload).toHaveBeenCalledTimes(1);
  await click(place.querySelector('a'));
  expect(place.textContent).toContain('well');
});

it('loads the page of another version of the hub by itself, but not for ever', async () => {
  await render(<Boundary at="/a"><Broken error={new PartMissing()} /></Boundary>);
  expect(reload).toHaveBeenCalledTimes(1);
  const place = await render(<Boundary at="/a"><Broken error={new PartMissing()} /></Boundary>);
  expect(reload).toHaveBeenCalledTimes(1);
  expect(place.textContent).toContain('upgraded');
});
