import { useState } from 'react';
import { useSearchParams } from 'wouter';
import { useSession } from '@/api/session';
import { paths } from '@/app/paths';
import { useWords } from '@/shared/hooks/useWords';
import { Choice } from '@/shared/ui/Choice';
import styles from './Editor.module.css';
import { openSession } from './session';
import { type StartKey, startKeys, startOf, starts } from './starts';
import { authorWords } from './words';
import { WorkloadEditor } from './WorkloadEditor';

/** Makes a workload: an example to begin with, a few fields, the text. The example chosen lives in the address. */
export default function NewWorkloadPage() {
  const words = useWords(authorWords);
  const [search, setSearch] = useSearchParams();
  const start = startOf(search.get('start'));
  const choice = (
    <div className={styles['above']}>
      <p className="dim">{words.newText}</p>
      <Choice label={words.startLabel} options={startKeys.map((key) => [key, key])} chosen={start} onChoose={(key) => setSearch({ start: key }, { replace: true })} />
    </div>
  );
  return <Begun key={start} start={start} above={choice} />;
}

function Begun({ start, above }: { start: StartKey; above: React.ReactNode }) {
  const words = useWords(authorWords);
  const { user } = useSession();
  const [session] = useState(() => openSession(`${user.name}/new/${start}`, starts[start], words.yaml));
  return <WorkloadEditor title={words.newTitle} session={session} saved={undefined} above={above} back={paths.workloads()} />;
}
