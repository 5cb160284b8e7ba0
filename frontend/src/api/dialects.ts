/** Which kinds of members the hub takes: a hub on an existing Kubernetes API has no Karmada kinds, hence none of their pages. */
import { useQuery } from '@tanstack/react-query';
import { infoOptions } from '@/api/hub';
import type { Info } from '@/api/model';

export type Dialect = Info['dialects'][number];

/** Whether the hub carries a dialect. Until the hub has said so, and with hubs that do not say it, it does. */
export function useCarries(dialect: Dialect): boolean {
  const { data } = useQuery(infoOptions);
  return !data?.dialects || data.dialects.includes(dialect);
}
