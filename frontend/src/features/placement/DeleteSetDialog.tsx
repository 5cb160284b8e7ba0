import { useMutation } from '@tanstack/react-query';
import { useExplain } from '@/api/errors';
import { useWords } from '@/shared/hooks/useWords';
import { ConfirmName } from '@/shared/ui/ConfirmName';
import { Dialog } from '@/shared/ui/Dialog';
import { Notice } from '@/shared/ui/Notice';
import { deleteSet } from './queries';
import { placementWords } from './words';

/** Deletes a set once its name was typed. */
export default function DeleteSetDialog({ set, onClose }: { set: string; onClose: () => void }) {
  const { sets: words } = useWords(placementWords);
  const explain = useExplain();
  const remove = useMutation(deleteSet);
  return (
    <Dialog onClose={onClose} title={words.removeTitle(set)}>
      <ConfirmName
        name={set} words={{ type: words.type, keep: words.keep, confirm: words.removeNamed }}
        pending={remove.isPending} failed={remove.error && <Notice explained={explain.error(remove.error)} />}
        onConfirm={() => remove.mutate(set, { onSuccess: onClose })} onClose={onClose}
      >
        <p>{words.removeText}</p>
      </ConfirmName>
    </Dialog>
  );
}
