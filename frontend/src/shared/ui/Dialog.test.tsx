import { useState } from 'react';
import { expect, it, vi } from 'vitest';
import { click, render } from '@/test/render';
import { Dialog } from './Dialog';

vi.setConfig({ testTimeout: 60_000 });

function Page() {
  const [open, setOpen] = useState(false);
  const [rows, setRows] = useState(['edge-7']);
  return (
    <main tabIndex={-1}>
      {rows.map((row) => <button key={row} type="button" onClick={() => setOpen(true)}>{row}</button>)}
      {open && <Dialog title="Remove" onClose={() => setOpen(false)}><button id="go" type="button" onClick={() => { setRows([]); setOpen(false); }}>Remove</button></Dialog>}
    </main>
  );
}

async function opened(): Promise<HTMLElement> {
  const place = await render(<Page />);
  const opener = place.querySelector('button');
  opener?.focus();
  await click(opener);
  await vi.waitFor(() => expect(document.querySelector('[role="dialog"]')?.contains(document.activeElement)).toBe(true), { timeout: 30_000 });
  return place;
}

it('gives the keyboard back to what opened it', async () => {
  const place = await opened();
  await click(document.querySelector('[role="dialog"] button'));
  await vi.waitFor(() => expect(document.activeElement).toBe(place.querySelector('button')), { timeout: 30_000 });
});

it('gives it to the content when what opened it is gone', async () => {
  const place = await opened();
  await click(document.querySelector('#go'));
  await vi.waitFor(() => expect(document.activeElement).toBe(place.querySelector('main')), { timeout: 30_000 });
});
