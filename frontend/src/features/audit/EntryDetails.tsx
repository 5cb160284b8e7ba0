import type { ReactNode } from 'react';
import type { AuditEntry } from '@/api/model';
import { useLanguage, useWords } from '@/shared/hooks/useWords';
import { Facts } from '@/shared/ui/Facts';
import { absolute } from '@/shared/ui/time';
import { auditWords } from './words';

/** All that one entry holds. What is secret never came here. */
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
  const { more, client, ...changes } = entry.detail ?? {};
  if (client) facts.push([words.client, <code key="client">{client}</code>]);
  for (const [name, value] of Object.entries(changes)) facts.push([name, <code key={name}>{value}</code>]);
  // What the hub counted instead of listing comes after what it listed.
  if (more) facts.push([words.more, words.moreChanges(/^\d+/.exec(more)?.[0] ?? more)]);
  if (entry.requestId) facts.push([words.request, <code key="request">{entry.requestId}</code>]);
  facts.push([words.entry, <code key="id">{entry.id}</code>]);
  return <Facts facts={facts} />;
}
