/** What the fleet offers to pickers. */
import type { Cluster } from '@/api/model';

export function namesOf(clusters: readonly Cluster[]): string[] {
  return clusters.map((cluster) => cluster.name);
}

export function labelsOf(clusters: readonly Cluster[]): string[] {
  return [...new Set(clusters.flatMap((cluster) => Object.entries(cluster.labels).map(([key, value]) => `${key}=${value}`)))].sort();
}

/** The values of a field that clusters are placed by. */
export function placesOf(clusters: readonly Cluster[], field: string): string[] {
  const values = clusters.flatMap((cluster) => (field === 'region' ? [cluster.region] : field === 'provider' ? [cluster.provider] : field === 'zone' ? cluster.zones : []));
  return [...new Set(values.filter(Boolean))].sort();
}
