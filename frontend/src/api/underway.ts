/** How many registrations are under way: the badge in the navigation, which every page shows. */
import { queryOptions } from '@tanstack/react-query';
import { get } from '@/api/client';
import type { Page, Registration } from '@/api/model';

export const underWay = queryOptions({
  queryKey: ['registrations', 'count'],
  queryFn: async ({ signal }) => {
    const [waiting, running] = await Promise.all(['waiting', 'running'].map((state) => get<Page<Registration>>('/registrations', { state, limit: 1 }, signal)));
    return (waiting?.total ?? 0) + (running?.total ?? 0);
  },
});
