/** A paged list as a page shows it: its rows, what to do for more, and how many rows the hub has announced since. */
import { type InfiniteData, keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useExplain } from '@/api/errors';
import { type liveList, useFollow, useMoved, useStaleSince, useUnseen } from '@/api/hub';
import type { Page } from '@/api/model';
import type { ListState } from '@/shared/ui/Listing';

const settle = 400;
const settleMoved = 5_000;

/**
 * Runs the query and follows its topic. Rows that were made meanwhile are fetched at once while the reader is at the top of
 * a one-page list; else they wait behind a pill, so that nothing moves under the reader's eyes. Changes outside of the rows
 * shown are looked at in measure: a fleet of thousands has some every second.
 */
export function useLiveList<T, P extends Page<T>>(options: ReturnType<typeof liveList<P>>, follow = true): ListState<T> & { first: P | undefined } {
  const topic = options.queryKey[0];
  const explain = useExplain();
  const query = useInfiniteQuery<P, Error, InfiniteData<P>, typeof options.queryKey, string>({ ...options, placeholderData: keepPreviousData });
  useFollow(follow ? topic : '');
  const stale = useStaleSince() !== undefined;
  const fresh = useUnseen(options.queryKey);
  const pages = query.data?.pages ?? [];
  const { refetch } = query;

  const moved = useMoved(options.queryKey);
  const wait = pages.length !== 1 ? 0 : fresh > 0 ? settle : moved ? settleMoved : 0;
  useEffect(() => {
    if (!wait) return;
    const timer = setInterval(() => { if (window.scrollY < 8) void refetch(); }, wait);
    return () => clearInterval(timer);
  }, [wait, refetch]);

  return {
    first: pages[0],
    rows: pages.flatMap((page) => page.items),
    total: pages[0]?.total ?? 0,
    pending: query.isPending,
    changing: query.isPlaceholderData,
    hasMore: query.hasNextPage,
    loadingMore: query.isFetchingNextPage,
    more: () => void query.fetchNextPage(),
    explained: query.error && !query.data ? explain.error(query.error) : undefined,
    retry: () => void refetch(),
    stale,
    fresh,
  };
}
