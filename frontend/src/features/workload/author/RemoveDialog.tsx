import { useMutation } from '@tanstack/react-query';
import { useExplain } from '@/api/errors';
import { useWords } from '@/shared/hooks/useWords';
import { ConfirmName } from '@/shared/ui/ConfirmName';
import { Dialog } from '@/shared/ui/Dialog';
import { Notice } from '@/shared/ui/Notice';
import type { WorkloadKey } from '../queries';
import { remove as removeOf } from './queries';
import { authorWords } from './words';

/** Says what goes with the object before it goes. */
export default function RemoveDialog({ at, clusters, onClose }: { at: WorkloadKey; clusters: number; onClose: () => void }) {
  const words = useWords(authorWords).removal;
  const explain = useExplain();
  const remove = useMutation(removeOf(at));
  return (
    <Dialog onClose={onClose} title={words.title(at.kind, at.name)}>
      <ConfirmName
        name={at.name} words={words} pending={remove.isPending} failed={remove.error && <Notice explained={explain.error(remove.error)} />}
        onConfirm={() => remove.mutate(undefined, { onSuccess: onClose })} onClose={onClose}
      >
        <p>{clusters > 0 ? words.placed(clusters) : words.nowhere}</p>
      </ConfirmName>
    </Dialog>
  );
}
