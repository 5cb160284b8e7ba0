import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useExplain } from '@/api/errors';
import { useWords } from '@/shared/hooks/useWords';
import { ConfirmName } from '@/shared/ui/ConfirmName';
import { Dialog } from '@/shared/ui/Dialog';
import { Notice } from '@/shared/ui/Notice';
import { Placeholder } from '@/shared/ui/Placeholder';
import styles from './managedcluster.module.css';
import { deleteWork, workDetail } from './queries';
import { managedWords } from './words';

/** Deletes a ManifestWork once its name was typed, and says before what becomes of its objects. */
export default function DeleteWorkDialog({ cluster, work, onClose }: { cluster: string; work: string; onClose: () => void }) {
  const words = useWords(managedWords);
  const explain = useExplain();
  // What is being deleted is asked for no more: it may be gone before the hub has said so.
  const [deleting, setDeleting] = useState(false);
  const query = useQuery({ ...workDetail(cluster, work), enabled: !deleting });
  const remove = useMutation(deleteWork(cluster, work));
  const confirm = () => {
    setDeleting(true);
    remove.mutate(undefined, { onSuccess: onClose, onError: () => setDeleting(false) });
  };
  return (
    <Dialog onClose={onClose} title={words.deleteWorkNamed(work)}>
      <ConfirmName
        name={work} words={{ type: words.removal.type, keep: words.removal.keep, confirm: words.deleteWorkNamed }}
        pending={remove.isPending} failed={remove.error && <Notice explained={explain.error(remove.error)} />}
        onConfirm={confirm} onClose={onClose}
      >
        {query.data ? (
          <section>
            <p>{words.deleteWorkTexts[query.data.deletePolicy]}</p>
            <ul className={styles['steps']}>
              {query.data.objects.map((object) => <li key={object.ordinal}><span className="dim">{object.kind}</span> <code>{object.namespace ? `${object.namespace}/` : ''}{object.name}</code></li>)}
            </ul>
          </section>
        ) : query.error ? <Notice explained={explain.error(query.error)} /> : <Placeholder rows={2} />}
      </ConfirmName>
    </Dialog>
  );
}
