/** The page's one connection to the hub: the query cache, the live socket that keeps it true, and their React hooks. */
import { QueryClient, type QueryKey, queryOptions } from '@tanstack/react-query';
import { useEffect, useRef, useSyncExternalStore } from 'react';
import { cacheSink, fetchOne, fetchPage, Unseen } from '@/api/cache';
import { ApiError, get, onSessionEnd, type Params, post, setCsrf } from '@/api/client';
import { Live } from '@/api/live';
import { watchNow } from '@/shared/hooks/useNow';
import { setAnswering } from '@/shared/part';
import type { Info, Page, SessionInfo } from '@/api/model';

export const sessionKey = ['session'] as const;

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      // Live events keep the rows true; a refetch is for gaps.
      staleTime: 60_000,
      refetchOnWindowFocus: false,
      retry: (failures, error) => failures < 2 && (!(error instanceof ApiError) || error.status === 0 || error.status >= 500),
    },
  },
});

export const live = new Live({
  ticket: async () => (await post<{ ticket: string }>('/live/ticket')).ticket,
  url: () => `${location.protocol === 'http:' ? 'ws' : 'wss'}://${location.host}/api/v1/live`,
});

const unseen = new Unseen();

async function askSession(signal?: AbortSignal): Promise<SessionInfo | null> {
  try {
    const info = await get<SessionInfo>('/session', undefined, signal);
    setCsrf(info.csrf);
    return info;
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return null;
    throw error;
  }
}

/** The session, or null when there is none. */
export const sessionOptions = queryOptions<SessionInfo | null>({
  queryKey: sessionKey,
  staleTime: Infinity,
  queryFn: ({ signal }) => askSession(signal),
});

/** What the hub says of itself; without a session only the version and whether nobody signed in yet. */
export const infoOptions = queryOptions({
  queryKey: ['info'],
  staleTime: Infinity,
  // No topic tells of it; it is asked for again whenever the link stands anew, for the hub may be another one then.
  meta: { follows: [] },
  queryFn: ({ signal }) => get<Info>('/info', undefined, signal),
});

// What does not come while the hub is away is asked for again when it is back.
setAnswering(async () => {
  while (await get('/info').then(() => false, (error: unknown) => error instanceof ApiError && isAway(error))) {
    await new Promise((resolve) => setTimeout(resolve, away));
  }
});

const away = 2_000;

/** Whether the hub does not answer, or something in front of it does in its stead. */
export function isAway(error: ApiError): boolean {
  return [0, 502, 503, 504].includes(error.status);
}

const ofSession = ({ queryKey }: { queryKey: QueryKey }) => queryKey[0] !== sessionKey[0];

/** Forgets what a session had read. The question whether there is one stays, for the door hangs on it. */
function forget(): void {
  queryClient.getMutationCache().clear();
  queryClient.removeQueries({ predicate: ofSession });
}

/** Takes up a session that the hub granted: what another user cached is gone before the first query runs. */
export function beginSession(info: SessionInfo): void {
  const held = queryClient.getQueryData<SessionInfo | null>(sessionKey) ?? expired;
  if (held && held.user.name !== info.user.name) forget();
  else if (expired) void queryClient.invalidateQueries({ predicate: ofSession });
  expired = undefined;
  leaving = false;
  setCsrf(info.csrf);
  queryClient.setQueryData(sessionKey, info);
}

/** The last session if it ended by itself: who signs in again is told, and goes on where it was, with what was typed. */
let expired: SessionInfo | undefined;
let leaving = false;
export const expiredSession = () => expired;

/** Takes up the session that was begun in another tab, if one was. */
export function joinSession(): void {
  askSession().then((info) => info && beginSession(info), () => undefined);
}

/** Says that the end to come is asked for: the hub closes the socket before it answers. */
export function leaveSession(): void {
  leaving = true;
}

/** Ends the session here. One that is left is forgotten; what one that ended by itself had read waits for its user. */
export function endSession(byItself = false): void {
  // Several say so at about the same time: the socket, and each request under way.
  expired = byItself && !leaving ? (queryClient.getQueryData<SessionInfo | null>(sessionKey) ?? expired) : undefined;
  live.stop();
  setCsrf('');
  queryClient.setQueryData(sessionKey, null);
  if (!expired) forget();
}

/** After the hub refused the session: a change of password puts a new one in its place, everything else is the end. */
async function checkSession(): Promise<void> {
  try {
    const info = await askSession();
    if (!info) return endSession(true);
    queryClient.setQueryData(sessionKey, info);
    live.again();
  } catch {
    live.again(); // the hub does not answer; trying again will tell
  }
}

/** Keeps the socket open as long as the caller is mounted. */
export function useLiveSocket(): void {
  useEffect(() => {
    const wake = () => live.wake();
    const wakeIfShown = () => { if (!document.hidden) live.wake(); };
    const stopListening = onSessionEnd(() => void checkSession());
    live.start(cacheSink(queryClient, unseen, () => void checkSession()));
    window.addEventListener('online', wake);
    document.addEventListener('visibilitychange', wakeIfShown);
    return () => {
      window.removeEventListener('online', wake);
      document.removeEventListener('visibilitychange', wakeIfShown);
      stopListening();
      live.stop();
    };
  }, []);
}

export function useLiveStatus() {
  return useSyncExternalStore(live.watch, live.getStatus);
}

/** Since when (milliseconds since the epoch) the page shows old data; undefined while it is live or was never so. */
export function useStaleSince(): number | undefined {
  return useSyncExternalStore(watchStale, staleSince);
}

/** Forgets the failure of what was sent while the hub was away, once it is back: what was typed stays, and may be sent. */
export function useForgetAway(...sent: readonly { error: unknown; reset: () => void }[]): void {
  const status = useLiveStatus();
  const failed = useRef(sent);
  useEffect(() => { failed.current = sent; });
  useEffect(() => {
    if (status !== 'live') return;
    for (const { error, reset } of failed.current) if (error instanceof ApiError && isAway(error)) reset();
  }, [status]);
}

function watchStale(watcher: () => void): () => void {
  const leaves = [live.watch(watcher), watchNow(watcher)];
  return () => leaves.forEach((leave) => leave());
}

function staleSince(): number | undefined {
  const heard = live.getHeardAt();
  // A blink of a reconnect is not worth a word.
  return live.getStatus() !== 'live' && heard > 0 && Date.now() - heard > 3_000 ? heard : undefined;
}

/** Follows a topic while the caller is mounted; the empty topic is none. */
export function useFollow(topic: string): void {
  useEffect(() => (topic ? live.follow(topic) : undefined), [topic]);
}

/** How many rows the hub announced that the list does not show. */
export function useUnseen(key: QueryKey): number {
  return useSyncExternalStore(unseen.watch, () => unseen.count(key));
}

/** Whether rows changed that the list does not show, and that may belong to it by now. */
export function useMoved(key: QueryKey): boolean {
  return useSyncExternalStore(unseen.watch, () => unseen.hasMoved(key));
}

/** Options of an infinite list that live events patch. */
export function liveList<P extends Page<unknown>>(topic: string, path: string, params: Params, limit = 50) {
  const queryKey = [topic, 'list', path, params] as const;
  return {
    queryKey,
    initialPageParam: '',
    queryFn: ({ pageParam, signal }: { pageParam: string; signal: AbortSignal }) => {
      if (!pageParam) unseen.clear(queryKey);
      return fetchPage(live, topic, () => get<P>(path, { ...params, limit, cursor: pageParam }, signal));
    },
    getNextPageParam: (last: P) => last.next || undefined,
  };
}

/** What a detail has beside its row, by name. */
export type Adds<Detail, Row> = Record<Exclude<keyof Detail, keyof Row>, true>;

/** Options of a one-row query that live events patch; topic may be narrower than the noun. */
export function liveOne<Detail extends object, Row>(noun: string, key: string, path: string, adds: Adds<Detail, Row>, more: { topic?: string; follows?: readonly string[] } = {}) {
  const added = Object.keys(adds);
  return {
    queryKey: [noun, 'one', key] as const,
    queryFn: ({ signal }: { signal: AbortSignal }) => fetchOne(live, more.topic ?? noun, key, added, () => get<Detail>(path, undefined, signal)),
    meta: { ...more, adds: added },
  };
}
