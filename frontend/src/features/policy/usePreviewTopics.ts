import { useFollow } from '@/api/hub';
import { previewTopics } from './queries';

/** Follows what previews depend on while the caller is mounted. */
export function usePreviewTopics(): void {
  const [clusters, policies, workloads] = previewTopics;
  useFollow(clusters);
  useFollow(policies);
  useFollow(workloads);
}
