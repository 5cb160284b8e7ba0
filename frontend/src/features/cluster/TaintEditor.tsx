import { useMutation } from '@tanstack/react-query';
import { useExplain } from '@/api/errors';
import type { ClusterDetail, Taint } from '@/api/model';
import { useMay } from '@/api/session';
import { useWords } from '@/shared/hooks/useWords';
import { TaintEditor as Editor } from '@/shared/ui/editor/TaintEditor';
import { changeCluster } from './queries';
import { clusterWords } from './words';

const effects: Taint['effect'][] = ['NoSchedule', 'NoExecute'];
const blank: Taint = { key: '', value: '', effect: 'NoSchedule' };
const byHub = (taint: Taint) => taint.key.startsWith('cluster.karmada.io/');
const same = (a: Taint, b: Taint) => a.key === b.key && a.effect === b.effect;

/** The cluster's taints; a key stands once an effect. */
export function TaintEditor({ cluster }: { cluster: ClusterDetail }) {
  const words = useWords(clusterWords);
  const explain = useExplain();
  const save = useMutation(changeCluster(cluster.name));
  return (
    <Editor
      title={words.taints} none={words.noTaints} taints={cluster.taints} effects={effects} blank={blank} byHub={byHub} same={same} seen={cluster.resourceVersion}
      may={useMay('operator')} saving={save.isPending} error={save.error ? explain.error(save.error) : undefined} onDiscard={save.reset}
      onSave={(taints, resourceVersion, saved) => save.mutate({ taints, resourceVersion }, { onSuccess: saved })}
    />
  );
}
