import type { ReactNode } from 'react';
import type { AuditEntry } from '@/api/model';
import { useLanguage, useWords } from '@/shared/hooks/useWords';
import { Facts } from '@/shared/ui/Facts';
import { absolute } from '@/shared/ui/time';
import styles from './EntryDetails.module.css';
import { auditWords } from './words';

/** All that one entry holds: what changed first, then who, when and how. What is secret never came here. */
export function EntryDetails({ entry }: { entry: AuditEntry }) {
  const words = useWords(auditWords);
  const { language } = useLanguage();
  const facts: [string, ReactNode][] = [
    [words.at, absolute(language, entry.at)],
    [words.actor, entry.actor],
    [words.via, words.vias[entry.via] ?? entry.via],
    [words.source, <code key="source">{entry.source || '–'}</code>],
    [words.object, <code key="object">{[entry.kind, entry.namespace, entry.name].filter(Boolean).join('/')}</code>],
  ];
  if (entry.code) facts.push([words.code, <code key="code">{entry.code}</code>]);
  if (entry.durationMillis !== undefined) facts.push([words.took, words.millis(entry.durationMillis)]);
  const { more, client, ...details } = entry.detail ?? {};
  if (client) facts.push([words.client, <code key="client">{client}</code>]);
  const changes = Object.entries(details).filter(([, value]) => value.includes(arrow));
  for (const [name, value] of Object.entries(details)) if (!value.includes(arrow)) facts.push([name, <code key={name}>{value}</code>]);
  if (entry.requestId) facts.push([words.request, <code key="request">{entry.requestId}</code>]);
  facts.push([words.entry, <code key="id">{entry.id}</code>]);
  return (
    <div className={styles['details']}>
      {changes.length > 0 && <Changes changes={changes} more={more} />}
      {/* What the hub counted instead of listing comes after what it listed. */}
      <Facts facts={more && changes.length === 0 ? [...facts, [words.more, words.moreChanges(countIn(more))]] : facts} />
    </div>
  );
}

const arrow = ' → ';
const countIn = (more: string) => /^\d+/.exec(more)?.[0] ?? more;

/** Each changed field with its value before and after. */
function Changes({ changes, more }: { changes: [path: string, change: string][]; more: string | undefined }) {
  const words = useWords(auditWords);
  const show = (value: string) => (value === 'none' ? <span className="dim">{words.absent}</span> : <code className="wrap">{value}</code>);
  return (
    <table className={styles['changes']}>
      <caption className="hidden">{words.changes}</caption>
      <thead><tr><th scope="col">{words.field}</th><th scope="col">{words.before}</th><th scope="col">{words.after}</th></tr></thead>
      <tbody>
        {changes.map(([path, change]) => {
          const at = change.indexOf(arrow);
          return <tr key={path}><th scope="row"><code className="wrap">{path}</code></th><td data-side="before">{show(change.slice(0, at))}</td><td data-side="after">{show(change.slice(at + arrow.length))}</td></tr>;
        })}
        {more && <tr><td colSpan={3} className="dim">{words.moreChanges(countIn(more))}</td></tr>}
      </tbody>
    </table>
  );
}
