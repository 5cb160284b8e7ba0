import { useSyncExternalStore } from 'react';

const query = matchMedia('(max-width: 640px)');

function watch(watcher: () => void): () => void {
  query.addEventListener('change', watcher);
  return () => query.removeEventListener('change', watcher);
}

/** Whether the page has the width of a phone. */
export function useNarrow(): boolean {
  return useSyncExternalStore(watch, () => query.matches);
}
