import { useMemo, useState } from 'react';
import { live } from '@/api/hub';
import type { AuditEntry, Page } from '@/api/model';
import { useLiveList } from '@/api/useLiveList';
import { verbWords } from '@/api/verbs';
import { useWords } from '@/shared/hooks/useWords';
import { Age } from '@/shared/ui/Age';
import { Empty } from '@/shared/ui/Empty';
import { Listing } from '@/shared/ui/Listing';
import { type Column } from '@/shared/ui/Rows';
import { StateMark } from '@/shared/ui/StateMark';
import { announced, clusterHistory } from './queries';
import { outcomeTones } from './state';
import { clusterWords } from './words';

const keyOf = (entry: AuditEntry) => entry.id;

/** Who changed what about this cluster: its lines of the audit, as they are written. */
export function HistoryTab({ name }: { name: string }) {
  const words = useWords(clusterWords);
  const verbs = useWords(verbWords);
  const [mark] = useState(() => live.mark());
  const list = useLiveList<AuditEntry, Page<AuditEntry>>(clusterHistory(name));
  const fresh = list.fresh && announced(name, live.since('audit', mark), list.rows);
  const columns = useMemo<Column<AuditEntry>[]>(() => [
    { key: 'what', label: words.what, card: 'title', breaks: true, cell: (entry) => <>{verbs[entry.verb] ?? entry.verb} <span className="dim">{entry.kind}</span>{entry.name && entry.name !== name ? ` ${entry.name}` : ''}</> },
    { key: 'who', label: words.who, cell: (entry) => entry.actor },
    { key: 'outcome', label: words.outcome, card: 'corner', cell: (entry) => <StateMark tone={outcomeTones[entry.outcome]}>{words.outcomes[entry.outcome]}</StateMark> },
    { key: 'from', label: words.from, minor: true, cell: (entry) => <code>{entry.source || '–'}</code> },
    { key: 'when', label: words.when, right: true, cell: (entry) => <Age at={entry.at} ago /> },
  ], [words, verbs, name]);
  return <Listing list={{ ...list, fresh }} caption={words.tabs.history} columns={columns} rowKey={keyOf} empty={<Empty title={words.historyNoneTitle}>{words.historyNoneText}</Empty>} />;
}
