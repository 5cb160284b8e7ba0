import { useSyncExternalStore } from 'react';

const step = 1_000;
const watchers = new Set<() => void>();
let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

/** Calls back every second, by the one timer of the page. */
export function watchNow(watcher: () => void): () => void {
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
  return useSyncExternalStore(watchNow, () => Math.floor(current() / every) * every);
}

/** How long ago something was, in milliseconds: to the second while it is young, coarser later, which spares long lists their renders. */
export function useAge(at: number): number {
  return useSyncExternalStore(watchNow, () => {
    const age = current() - at;
    const every = age < 120_000 ? step : 60_000;
    return Math.floor(age / every) * every;
  });
}

function current(): number {
  if (watchers.size === 0) now = Date.now();
  return now;
}
