import { useMutation } from '@tanstack/react-query';
import { useExplain } from '@/api/errors';
import type { ManagedDetail } from '@/api/model';
import { useMay } from '@/api/session';
import { useWords } from '@/shared/hooks/useWords';
import { LabelEditor as Editor, type Labels } from '@/shared/ui/editor/LabelEditor';
import { changeManaged } from './queries';
import { managedWords } from './words';

const setLabel = 'cluster.open-cluster-management.io/clusterset';
const userLabels = (labels: Labels): Labels => Object.fromEntries(Object.entries(labels).filter(([key]) => key !== setLabel));

/** The labels: what somebody else saved meanwhile makes the hub refuse, never vanishes. The set has its own place. */
export function LabelEditor({ cluster }: { cluster: ManagedDetail }) {
  const words = useWords(managedWords);
  const explain = useExplain();
  const save = useMutation(changeManaged(cluster.name));
  const stored = userLabels(cluster.labels);
  return (
    <Editor
      title={words.labels} none={words.noLabels} labels={stored} seen={stored}
      may={useMay('operator')} saving={save.isPending} error={save.error ? explain.error(save.error) : undefined} onDiscard={save.reset}
      onSave={(labels, labelsSeen, saved) => save.mutate({ labels, labelsSeen }, { onSuccess: saved })}
    />
  );
}
