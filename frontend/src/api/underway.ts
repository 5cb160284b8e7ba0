/** How many registrations are under way, and how many clusters wait for a consent: the badge in the navigation, which every page shows. */
import { queryOptions } from '@tanstack/react-query';
import { get } from '@/api/client';
import type { Page, Registration, WaitingRow } from '@/api/model';

export const underWay = queryOptions({
  queryKey: ['registrations', 'count'],
  queryFn: async ({ signal }) => {
    return (await get<Page<Registration>>('/registrations', { state: 'waiting,running', limit: 1 }, signal)).total;
  },
});

export const consentsWanted = queryOptions({
  queryKey: ['waiting', 'count'],
  queryFn: async ({ signal }) => (await get<Page<WaitingRow>>('/waiting', { state: 'waiting', limit: 1 }, signal)).total,
});
