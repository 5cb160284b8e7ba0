import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useSearchParams } from 'wouter';
import { ApiError } from '@/api/client';
import { useExplain } from '@/api/errors';
import { useSession } from '@/api/session';
import { type ObjectAt, type PolicyAt, paths } from '@/app/paths';
import { useWords } from '@/shared/hooks/useWords';
import { Empty } from '@/shared/ui/Empty';
import { FailedPage } from '@/shared/ui/FailedPage';
import { Placeholder } from '@/shared/ui/Placeholder';
import { PolicyEditor } from './editor/PolicyEditor';
import { baseOf, openSession } from './editor/session';
import { editorWords } from './editor/words';
import { blank, carrying, entryOf, fleetOf } from './gallery/entries';
import { type KindFacts, kindOf, policyPath } from './kinds';
import { fleet, policyDetail } from './queries';
import { policyWords } from './words';

interface PolicyEditorPageProps {
  resource: string;
  /** With the name, of a saved policy; "-" for what has no namespace. */
  namespace?: string;
  name?: string;
}

/** Makes a policy or changes one. */
export default function PolicyEditorPage({ resource, namespace, name }: PolicyEditorPageProps) {
  const words = useWords(policyWords);
  const facts = kindOf(resource);
  if (!facts) return <Empty page title={words.noKindTitle} action={<Link href={paths.policies()}>{words.toList}</Link>}>{words.noKindText}</Empty>;
  if (!name) return <NewPolicy facts={facts} />;
  return <SavedPolicy facts={facts} at={{ resource, namespace: namespace === '-' ? undefined : namespace, name }} />;
}

function NewPolicy({ facts }: { facts: KindFacts }) {
  const [search] = useSearchParams();
  const start = entryOf(search.get('start'));
  const meant = objectIn(search);
  const { data, error } = useQuery(fleet);
  // The examples name clusters of the fleet; without an answer they name some of their own.
  if (start && !data && !error) return <Placeholder rows={8} />;
  const yaml = start?.resource === facts.resource ? start.yaml(fleetOf(data ?? [])) : meant ? carrying(facts.resource, meant) : blank(facts.resource);
  const key = search.toString();
  return <Opened key={key} facts={facts} sessionKey={`new/${facts.resource}/${key}`} base={{ yaml, resourceVersion: undefined }} />;
}

/** The object that the new policy is to mean, when the address names one. */
function objectIn(search: URLSearchParams): ObjectAt | undefined {
  const [apiVersion, kind, name] = [search.get('apiVersion'), search.get('kind'), search.get('name')];
  return apiVersion && kind && name ? { apiVersion, kind, name, namespace: search.get('namespace') ?? '' } : undefined;
}

function SavedPolicy({ facts, at }: { facts: KindFacts; at: PolicyAt }) {
  const words = useWords(policyWords);
  const explain = useExplain();
  const query = useQuery(policyDetail(at, false));
  if (!query.data) {
    if (query.error instanceof ApiError && query.error.status === 404) {
      return <Empty page title={words.goneTitle(at.name)} action={<Link href={paths.policies()}>{words.toList}</Link>}>{words.goneText}</Empty>;
    }
    return query.error ? <FailedPage title={at.name} explained={explain.error(query.error)} retrying={query.isFetching} onRetry={() => void query.refetch()} back={<Link href={paths.policies()}>{words.toList}</Link>} /> : <Placeholder rows={8} />;
  }
  return <Opened facts={facts} sessionKey={policyPath(at)} base={baseOf(query.data.detail)} saved={at} />;
}

function Opened({ facts, sessionKey, base, saved }: { facts: KindFacts; sessionKey: string; base: { yaml: string; resourceVersion: string | undefined }; saved?: PolicyAt }) {
  const words = useWords(editorWords);
  // A draft waits for whoever wrote it, through a session that ends and begins again, and for nobody else.
  const { user } = useSession();
  const [session] = useState(() => openSession(`${user.name}/${sessionKey}`, base, words.panes.yaml));
  return <PolicyEditor session={session} opened={facts} saved={saved} />;
}
