/** Filter and order of a list live in the address of its page. */
import { useCallback } from 'react';
import { useSearchParams } from 'wouter';
import type { Filter } from '@/shared/ui/FilterBar';

export function useListAddress(fields: readonly string[], firstSort: string) {
  const [search, setSearch] = useSearchParams();
  const filter: Filter = Object.fromEntries(['q', ...fields].flatMap((key) => (search.get(key) ? [[key, search.get(key) ?? '']] : [])));
  const setFilter = useCallback((next: Filter) => {
    setSearch((before) => {
      const kept = before.get('sort');
      return new URLSearchParams({ ...next, ...(kept ? { sort: kept } : {}) });
    }, { replace: true });
  }, [setSearch]);
  const setSort = useCallback((next: string) => {
    setSearch((before) => { before.set('sort', next); return before; }, { replace: true });
  }, [setSearch]);
  return { filter, filtered: Object.keys(filter).length > 0, setFilter, sort: search.get('sort') ?? firstSort, setSort };
}

/** The filter with another state, or with none. */
export function withState(filter: Filter, state: string | undefined): Filter {
  const others = Object.fromEntries(Object.entries(filter).filter(([key]) => key !== 'state'));
  return state ? { ...others, state } : others;
}
