import { useSyncExternalStore } from 'react';

const step = 1_000;
const watchers = new Set<() => void>();
let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

function watch(watcher: () => void): () => void {
  watchers.add(watcher);
  timer ??= setInterval(() => {
    now = Date.now();
    watchers.forEach((tell) => tell());
  }, step);
  return () => {
    watchers.delete(watcher);
    if (watchers.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  };
}

/** The time in milliseconds, anew every second; one timer for the whole page. `every` coarsens it to spare renders. */
export function useNow(every = step): number {
  return useSyncExternalStore(watch, () => {
    if (watchers.size === 0) now = Date.now();
    return Math.floor(now / every) * every;
  });
}
