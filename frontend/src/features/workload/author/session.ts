/**
 * Drafts of workloads outlive their page while the dashboard is open, in memory only: who follows a link out of the editor,
 * or signs in again, finds the draft on coming back.
 */
import { autocompletion } from '@codemirror/autocomplete';
import { Draft } from '@/shared/yaml/draft';
import { yamlExtensions } from '@/shared/yaml/extensions';

export interface EditSession {
  key: string;
  draft: Draft;
  /** The text that the draft began with: an example, or what the hub has. */
  base: string;
  restored: boolean;
}

const sessions = new Map<string, EditSession>();

/** Goes on with the draft of the key if it holds changes, or began with the same text; else begins one. */
export function openSession(key: string, base: string, label: string): EditSession {
  const held = sessions.get(key);
  if (held) {
    held.restored = held.draft.get().text !== held.base;
    if (held.restored || held.base === base) return held;
  }
  const session: EditSession = { key, draft: new Draft(base, [autocompletion({ override: [] }), yamlExtensions(label)]), base, restored: false };
  sessions.set(key, session);
  return session;
}

export function closeSession(key: string): void {
  sessions.delete(key);
}
