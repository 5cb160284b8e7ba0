import { useMemo } from 'react';
import { Said } from '@/api/said';
import { useWords } from '@/shared/hooks/useWords';
import { Age } from '@/shared/ui/Age';
import { Empty } from '@/shared/ui/Empty';
import { type Column, Rows } from '@/shared/ui/Rows';
import { StateMark } from '@/shared/ui/StateMark';
import type { WorkloadDetail, WorkloadEvent } from './types';
import { workloadWords } from './words';

const keyOf = (event: WorkloadEvent) => `${event.about} ${event.reason} ${event.message} ${event.at}`;

/** What components of the hub said about the workload and its binding. */
export function EventsTab({ detail }: { detail: WorkloadDetail }) {
  const words = useWords(workloadWords);
  const columns = useMemo<Column<WorkloadEvent>[]>(() => [
    { key: 'reason', label: words.reason, card: 'title', cell: (event) => <code>{event.reason}</code> },
    { key: 'type', label: words.type, card: 'corner', cell: (event) => <StateMark tone={event.type === 'Warning' ? 'warn' : 'idle'} plain>{words.eventTypes[event.type] ?? event.type}</StateMark> },
    { key: 'about', label: words.regarding, cell: (event) => event.about },
    { key: 'count', label: words.count, right: true, cell: (event) => `×${event.count}` },
    { key: 'at', label: words.lastSeen, right: true, cell: (event) => <Age at={event.at} ago /> },
  ], [words]);
  if (detail.events.length === 0) return <Empty title={words.eventsNoneTitle}>{words.eventsNoneText}</Empty>;
  return <Rows caption={words.tabs.events} columns={columns} rows={detail.events} rowKey={keyOf} note={(event) => event.message && <Said text={event.message} />} />;
}
