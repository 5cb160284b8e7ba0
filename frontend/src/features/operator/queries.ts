import { queryOptions } from '@tanstack/react-query';
import { get } from '@/api/client';
import type { Operators } from '@/api/model';

/** Everything that operators look after; few, and asked for again a moment after any of it changes. */
export const operators = queryOptions({ queryKey: ['operators', 'count'], staleTime: 0, queryFn: ({ signal }) => get<Operators>('/operators', undefined, signal) });
