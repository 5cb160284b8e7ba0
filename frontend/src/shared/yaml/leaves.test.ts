/** A list of completions belongs to the caret: it goes with the focus, also while it is still being put together. */
import { acceptCompletion, autocompletion, completionStatus } from '@codemirror/autocomplete';
import { EditorView } from '@codemirror/view';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { yamlExtensions } from './extensions';

// Browsers tell of it afterwards; here it would come amid the editor's own update.
document.addEventListener('selectionchange', (event) => event.stopImmediatePropagation(), true);

let view: EditorView;
let elsewhere: HTMLInputElement;

beforeEach(() => {
  vi.useFakeTimers();
  elsewhere = document.body.appendChild(document.createElement('input'));
  const offer = autocompletion({ override: [() => ({ from: 0, options: [{ label: 'priority' }] })] });
  view = new EditorView({ parent: document.body, extensions: [offer, yamlExtensions('YAML')] });
  view.focus();
});

afterEach(() => {
  view.destroy();
  elsewhere.remove();
  vi.useRealTimers();
});

const type = (text: string) => view.dispatch({ changes: { from: 0, insert: text }, selection: { anchor: text.length }, userEvent: 'input.type' });

it('opens for who types and stays', async () => {
  type('p');
  await vi.advanceTimersByTimeAsync(1_000);
  expect(completionStatus(view.state)).toBe('active');
  expect(acceptCompletion(view)).toBe(true);
});

it('does not open any more for who has left before it was there', async () => {
  type('p');
  expect(completionStatus(view.state)).toBe('pending');
  elsewhere.focus();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(completionStatus(view.state)).toBeNull();
});

it('closes for who leaves', async () => {
  type('p');
  await vi.advanceTimersByTimeAsync(1_000);
  elsewhere.focus();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(completionStatus(view.state)).toBeNull();
});
