/** A paged list as a page shows it: its rows, what to do for more, and how many rows the hub has announced since. */
import { type InfiniteData, keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useExplain } from '@/api/errors';
import { type liveList, useFollow, useStaleSince, useUnseen } from '@/api/hub';
import type { Page } from '@/api/model';
import type { ListState } from '@/shared/ui/Listing';

const settle = 400;

/**
 * Runs the query and follows its topic. Rows that the hub announces are fetched at once while the reader is at the top of
 * a one-page list; else they wait behind a pill, so that nothing moves under the reader's eyes.
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

  const mayMove = fresh > 0 && pages.length === 1;
  useEffect(() => {
    if (!mayMove) return;
    const timer = setTimeout(() => { if (window.scrollY < 8) void refetch(); }, settle);
    return () => clearTimeout(timer);
  }, [mayMove, refetch]);

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
