/** How many registrations are under way: the badge in the navigation, which every page shows. */
import { queryOptions } from '@tanstack/react-query';
import { get } from '@/api/client';
import type { Page, Registration } from '@/api/model';

export const underWay = queryOptions({
  queryKey: ['registrations', 'count'],
  queryFn: async ({ signal }) => {
    return (await get<Page<Registration>>('/registrations', { state: 'waiting,running', limit: 1 }, signal)).total;
  },
});
