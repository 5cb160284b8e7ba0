import { useState } from 'react';

/** What is being changed, and what it was changed from: with that the hub can refuse a save over what somebody else saved meanwhile. */
export interface Draft<T, S> {
  value: T;
  seen: S;
}

/** A value as it is stored until somebody edits it; `seen` is kept from the first edit on. */
export function useDraft<T, S>(stored: T, seen: S) {
  const [draft, setDraft] = useState<Draft<T, S>>();
  return {
    value: draft?.value ?? stored,
    draft,
    edit: (value: T) => setDraft({ value, seen: draft?.seen ?? seen }),
    discard: () => setDraft(undefined),
  };
}
