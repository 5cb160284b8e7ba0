import type { KeyboardEvent } from 'react';
import type { Draft } from './draft';

/** Undo in a field undoes the document, not the field alone. */
export function historyKeys(event: KeyboardEvent, draft: Draft): void {
  if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
  const key = event.key.toLowerCase();
  const back = key === 'z' && !event.shiftKey;
  if (!back && !(key === 'y' || (key === 'z' && event.shiftKey))) return;
  event.preventDefault();
  if (back) draft.undo();
  else draft.redo();
}
