import { useMutation } from '@tanstack/react-query';
import { useExplain } from '@/api/errors';
import type { ManagedDetail, ManagedTaint } from '@/api/model';
import { useMay } from '@/api/session';
import { useWords } from '@/shared/hooks/useWords';
import { TaintEditor as Editor } from '@/shared/ui/editor/TaintEditor';
import { changeManaged } from './queries';
import { managedWords } from './words';

const effects: ManagedTaint['effect'][] = ['NoSelect', 'PreferNoSelect', 'NoSelectIfNew'];
const blank: ManagedTaint = { key: '', value: '', effect: 'NoSelect', system: false };
const byHub = (taint: ManagedTaint) => taint.system;
const same = (a: ManagedTaint, b: ManagedTaint) => a.key === b.key;

/** The taints; those of the hub come and go by themselves. A key stands once. */
export function TaintEditor({ cluster }: { cluster: ManagedDetail }) {
  const words = useWords(managedWords);
  const explain = useExplain();
  const save = useMutation(changeManaged(cluster.name));
  return (
    <Editor
      title={words.taints} none={words.noTaints} taints={cluster.taints} effects={effects} blank={blank} byHub={byHub} same={same} seen={cluster.taints}
      may={useMay('operator')} saving={save.isPending} error={save.error ? explain.error(save.error) : undefined} onDiscard={save.reset}
      onSave={(taints, taintsSeen, saved) => save.mutate({ taints, taintsSeen }, { onSuccess: saved })}
    />
  );
}
