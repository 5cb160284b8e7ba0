import { useMemo } from 'react';
import { Link } from 'wouter';
import type { ManagedCluster } from '@/api/model';
import { useSay } from '@/api/said';
import { paths } from '@/app/paths';
import { useWords } from '@/shared/hooks/useWords';
import { Age } from '@/shared/ui/Age';
import type { Column } from '@/shared/ui/Rows';
import { StateMark } from '@/shared/ui/StateMark';
import styles from './managedcluster.module.css';
import { tones } from './state';
import { managedWords } from './words';

/** The columns that kubectl shows of a ManagedCluster, and what the dashboard knows beyond them. */
export function useManagedColumns(): Column<ManagedCluster>[] {
  const words = useWords(managedWords);
  return useMemo(() => [
    { key: 'name', label: words.name, sortable: true, card: 'title', cell: (row) => <Link href={paths.managedCluster(row.name)}>{row.name}</Link> },
    { key: 'state', label: words.state, sortable: true, card: 'corner', cell: (row) => <StateMark tone={tones[row.state]}>{words.states[row.state]}{row.state !== 'ready' && row.since && <span className="dim"> <Age at={row.since} /></span>}</StateMark> },
    { key: 'dialect', label: words.dialect, cell: (row) => <Dialect row={row} /> },
    { key: 'accepted', label: words.accepted, card: 'none', minor: true, cell: (row) => (row.accepted ? words.yes : words.no) },
    { key: 'joined', label: words.joined, card: 'none', minor: true, cell: (row) => (row.joined ? words.yes : words.no) },
    { key: 'set', label: words.set, sortable: true, cell: (row) => row.set || null },
    { key: 'version', label: words.version, sortable: true, cell: (row) => (row.kubernetesVersion ? <code>{row.kubernetesVersion}</code> : null) },
    { key: 'works', label: words.works, right: true, cell: (row) => (row.works.total > 0 ? words.worksShort(row.works.available, row.works.total) : null) },
    { key: 'age', label: words.age, sortable: true, right: true, card: 'none', cell: (row) => <Age at={row.createdAt} /> },
  ], [words]);
}

/** Which dialect a member was registered in. */
export function Dialect({ row }: { row: Pick<ManagedCluster, 'dialect'> }) {
  const words = useWords(managedWords);
  return <span className={styles['dialect']} title={words.dialectHints[row.dialect]}>{words.dialects[row.dialect]}</span>;
}

/** Whether there is anything to say about a cluster that is not well. */
export const hasReason = (row: ManagedCluster) => Boolean(row.reason || row.message || (row.removing && row.blocking && row.blocking.length > 0));

/** Why a cluster is not well, in the hub's words; the reason is the same term that kubectl shows. */
export function ReasonLine({ row }: { row: ManagedCluster }) {
  const words = useWords(managedWords);
  const say = useSay();
  if (row.removing && row.blocking && row.blocking.length > 0) {
    const shown = row.blocking.slice(0, 3).join(', ');
    return <>{words.removal.waits(row.blocking.length > 3 ? `${shown} ${words.removal.more(row.blocking.length - 3)}` : shown)}</>;
  }
  if (!row.reason && !row.message) return null;
  const message = words.reasons[row.reason ?? ''] ?? (row.message && say(row.message));
  return <>{row.reason && <code>{row.reason}</code>}{row.reason && message ? ' ' : ''}{message}</>;
}
