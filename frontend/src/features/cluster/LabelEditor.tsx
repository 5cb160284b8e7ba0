import { useMutation } from '@tanstack/react-query';
import { useExplain } from '@/api/errors';
import type { ClusterDetail } from '@/api/model';
import { useMay } from '@/api/session';
import { useWords } from '@/shared/hooks/useWords';
import { LabelEditor as Editor } from '@/shared/ui/editor/LabelEditor';
import { changeCluster } from './queries';
import { clusterWords } from './words';

/** The cluster's labels: what somebody else saved meanwhile makes the hub refuse, never vanishes. */
export function LabelEditor({ cluster }: { cluster: ClusterDetail }) {
  const words = useWords(clusterWords);
  const explain = useExplain();
  const save = useMutation(changeCluster(cluster.name));
  return (
    <Editor
      title={words.labels} none={words.noLabels} labels={cluster.labels} seen={cluster.resourceVersion}
      may={useMay('operator')} saving={save.isPending} error={save.error ? explain.error(save.error) : undefined} onDiscard={save.reset}
      onSave={(labels, resourceVersion, saved) => save.mutate({ labels, resourceVersion }, { onSuccess: saved })}
    />
  );
}
