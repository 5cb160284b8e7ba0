import { useQueries } from '@tanstack/react-query';
import { FactChain } from './FactChain';
import { podsVersion, unreadyClusters } from './pods';
import { workloadPods, type WorkloadKey } from './queries';
import type { Fact, WorkloadDetail } from './types';

const urgency: Fact['level'][] = ['info', 'warn', 'error'];

/** The chain of facts, and behind it what the pods say in the clusters that are not ready. */
export function WhyChain({ workload, detail }: { workload: WorkloadKey; detail: WorkloadDetail }) {
  const clusters = unreadyClusters(detail);
  const looks = useQueries({ queries: clusters.map((cluster) => workloadPods(workload, cluster, podsVersion(detail, cluster))) });
  const said = looks.flatMap(({ data }, index) => {
    // That all pods are ready is news which the cluster's own report is about to bring.
    if (!data || data.fact.level === 'ok') return [];
    return [{ ...data.fact, link: { kind: 'Cluster', name: clusters[index] ?? '' } }];
  });
  // The chain ends with what is known, behind what could not be asked.
  return <FactChain facts={[...detail.facts, ...said.toSorted((a, b) => urgency.indexOf(a.level) - urgency.indexOf(b.level))]} />;
}
