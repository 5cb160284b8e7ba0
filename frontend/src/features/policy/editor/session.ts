/**
 * Drafts outlive their page while the dashboard is open: who follows a link out of the editor finds the draft on coming
 * back. They are kept in memory only.
 */
import { knownKinds } from '../form/known';
import type { PolicyDetail } from '../types';
import { Knowledge } from './completion';
import { Draft } from '@/shared/yaml/draft';
import { extensions } from './extensions';

/** What the draft began with: the saved policy, or nothing for a new one. */
export interface Base {
  yaml: string;
  resourceVersion: string | undefined;
}

export interface EditSession {
  key: string;
  draft: Draft;
  known: Knowledge;
  base: Base;
  restored: boolean;
}

const sessions = new Map<string, EditSession>();

export function baseOf(detail: PolicyDetail): Base {
  return { yaml: detail.yaml, resourceVersion: detail.row.resourceVersion };
}

/** Goes on with the draft of the key if it holds changes, or began with the same; else begins one. */
export function openSession(key: string, base: Base, label: string): EditSession {
  const held = sessions.get(key);
  if (held) {
    held.restored = held.draft.get().text !== held.base.yaml;
    if (held.restored || (held.base.yaml === base.yaml && held.base.resourceVersion === base.resourceVersion)) return held;
  }
  const known = new Knowledge(knownKinds);
  const session: EditSession = { key, draft: new Draft(base.yaml, extensions(known, label)), known, base, restored: false };
  sessions.set(key, session);
  return session;
}

export function closeSession(key: string): void {
  sessions.delete(key);
}

/** After a merge the draft goes on from what somebody else saved. */
export function rebase(session: EditSession, base: Base): void {
  session.base = base;
}
