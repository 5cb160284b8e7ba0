/** Parts of the dashboard that come when they are needed, to a page that may be open while the hub is away or is upgraded. */
import { lazy } from 'react';

/** A part did not come although the hub answers: it belongs to another version of the hub. */
export class PartMissing extends Error {
  override name = 'PartMissing';
}

let answering: () => Promise<void> = () => Promise.resolve();

/** Says how to wait until the hub answers. */
export function setAnswering(wait: () => Promise<void>): void {
  answering = wait;
}

// The bundler's loader fetches scripts again, but a stylesheet only once: those that failed are ours to fetch.
const unstyled = new Set<HTMLLinkElement>();
document.addEventListener('error', ({ target }) => {
  if (target instanceof HTMLLinkElement && target.rel === 'stylesheet') unstyled.add(target);
}, true);

async function mendStyles(): Promise<void> {
  await Promise.all([...unstyled].map((link) => new Promise((settled) => {
    unstyled.delete(link);
    const again = link.cloneNode() as HTMLLinkElement;
    again.nonce = link.nonce;
    again.onload = again.onerror = settled;
    link.replaceWith(again);
  })));
}

/** Loads a part. One that does not come is asked for again once the hub answers: an error would take the page down that asks for it. */
export async function patiently<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch {
    await answering();
    await mendStyles();
    return load().catch((cause: unknown) => { throw new PartMissing('', { cause }); });
  }
}

/** React's lazy for a page or a dialog. */
export const part: typeof lazy = (load) => lazy(() => patiently(load));
