/** When pods are worth a look into the member, and how they are shown. */
import type { Tone } from '@/shared/ui/StateMark';
import { worstFirst } from './state';
import type { Pod, TopologyNode, WorkloadDetail, WorkloadRow } from './types';

const kinds = new Set(['apps/Deployment', 'apps/StatefulSet', 'apps/DaemonSet', 'apps/ReplicaSet', 'batch/Job', '/Pod']);

/** How many clusters a page looks into by itself. */
const most = 3;

/** Whether objects of this kind have pods that the hub can find. */
export function hasPods({ apiVersion, kind }: Pick<WorkloadRow, 'apiVersion' | 'kind'>): boolean {
  return kinds.has(`${apiVersion.includes('/') ? apiVersion.split('/', 1)[0] : ''}/${kind}`);
}

/** The clusters that have the object, where it is not ready. */
export function unreadyClusters({ row }: WorkloadDetail): string[] {
  if (!hasPods(row)) return [];
  return worstFirst(row.clusters).filter((cluster) => cluster.state === 'progressing').slice(0, most).map((cluster) => cluster.name);
}

/** Whether the pods behind a hop say more than the hop itself. */
export function looksForPods(row: WorkloadRow, hop: Pick<TopologyNode, 'kind' | 'state'>): boolean {
  return hasPods(row) && (hop.kind === 'object' || hop.kind === 'pods') && (hop.state === 'progressing' || hop.state === 'pending');
}

/** What the hub knows of the workload in a cluster: when it changes, so have the pods. */
export function podsVersion({ row, topology }: WorkloadDetail, cluster: string): string {
  return JSON.stringify([row.clusters.find((one) => one.name === cluster), topology.nodes.filter((node) => node.cluster === cluster && node.kind === 'pods').map((node) => node.detail)]);
}

/** Reasons of pods that need time, not help. */
const onTheWay = new Set(['Pending', 'ContainerCreating', 'PodInitializing']);

export function podTone(pod: Pod): Tone {
  if (pod.ok) return 'ok';
  if (pod.reason === 'Terminating') return 'leaving';
  return onTheWay.has(pod.reason ?? '') ? 'busy' : 'bad';
}
