import { liveList } from '@/api/hub';
import type { AuditEntry, Page } from '@/api/model';
import type { Filter } from '@/shared/ui/FilterBar';

/** The parameters of the list that the address of the page may carry. */
export const filterFields = ['actor', 'verb', 'kind', 'name', 'outcome'] as const;

const hours: Record<string, number> = { '1h': 1, '24h': 24, '7d': 168 };

/** The beginning of a period, to the full minute, so that the query's key stays the same for a while. */
function sinceOf(period: string): string | undefined {
  const span = hours[period];
  if (!span) return undefined;
  const minute = 60_000;
  return new Date(Math.floor((Date.now() - span * 3_600_000) / minute) * minute).toISOString();
}

export function auditList(filter: Filter, period: string) {
  return liveList<Page<AuditEntry>>('audit', '/audit', { ...filter, since: sinceOf(period) });
}
