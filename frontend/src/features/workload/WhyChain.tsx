import { useQueries } from '@tanstack/react-query';
import { FactChain } from './FactChain';
import { podsVersion, unreadyClusters } from './pods';
import { workloadPods, type WorkloadKey } from './queries';
import type { WorkloadDetail } from './types';

/** The chain of facts, and behind it what the pods say in the clusters that are not ready. */
export function WhyChain({ workload, detail }: { workload: WorkloadKey; detail: WorkloadDetail }) {
  const clusters = unreadyClusters(detail);
  const looks = useQueries({ queries: clusters.map((cluster) => workloadPods(workload, cluster, podsVersion(detail, cluster))) });
  // That all pods are ready is news which the cluster's own report is about to bring.
  const said = looks.flatMap(({ data }, index) => (data && data.fact.level !== 'ok' ? [{ ...data.fact, link: { kind: 'Cluster', name: clusters[index] ?? '' } }] : []));
  return <FactChain facts={[...detail.facts, ...said]} />;
}
