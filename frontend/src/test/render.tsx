/** Renders into the test's document as the app does, without router and queries. */
import { MantineProvider } from '@mantine/core';
import { act, type ReactNode } from 'react';
import { createRoot } from 'react-dom/client';
import { afterEach } from 'vitest';

(globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
const cleanups: (() => void)[] = [];
afterEach(() => { cleanups.splice(0).forEach((cleanup) => cleanup()); });

export async function render(node: ReactNode): Promise<HTMLElement> {
  const place = document.body.appendChild(document.createElement('div'));
  const root = createRoot(place);
  cleanups.push(() => { act(() => root.unmount()); place.remove(); });
  await act(async () => root.render(<MantineProvider env="test">{node}</MantineProvider>));
  return place;
}

export async function click(element: Element | null | undefined): Promise<void> {
  await act(async () => (element as HTMLElement).click());
}

/** Types as a browser does: React listens to the native setter's event. */
export async function type(input: HTMLInputElement, text: string): Promise<void> {
  await act(async () => {
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')?.set?.call(input, text);
    input.dispatchEvent(new Event('input', { bubbles: true }));
  });
}
