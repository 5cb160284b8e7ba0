import { Button } from '@mantine/core';
import IconPlus from '@tabler/icons-react/dist/esm/icons/IconPlus.mjs';
import { Suspense, useMemo } from 'react';
import { Link, useSearchParams } from 'wouter';
import type { Page, Token } from '@/api/model';
import { Said } from '@/api/said';
import { useMay } from '@/api/session';
import { useLiveList } from '@/api/useLiveList';
import { paths } from '@/app/paths';
import { useNow } from '@/shared/hooks/useNow';
import { useWords } from '@/shared/hooks/useWords';
import { part } from '@/shared/part';
import { Age } from '@/shared/ui/Age';
import { Empty } from '@/shared/ui/Empty';
import { Listing } from '@/shared/ui/Listing';
import { Notice } from '@/shared/ui/Notice';
import { PageHead } from '@/shared/ui/PageHead';
import { type Column } from '@/shared/ui/Rows';
import { StateMark } from '@/shared/ui/StateMark';
import { countdown } from '@/shared/ui/time';
import { uiWords } from '@/shared/ui/words';
import { tokenList } from './queries';
import { tokenWords } from './words';

const CreateDialog = part(() => import('./CreateDialog'));
const RevokeDialog = part(() => import('./RevokeDialog'));
const keyOf = (token: Token) => token.id;

/** The tokens, or why they are not shown: the hub tells them to operators only. */
export default function TokenListPage() {
  const words = useWords(tokenWords);
  return useMay('operator') ? <TokenList /> : <Notice tone="warn" explained={{ what: words.notShown, fix: words.needRole }} />;
}

/** Every join token, how long it works and who used it. The dialogs live in the address. */
function TokenList() {
  const words = useWords(tokenWords);
  const [search, setSearch] = useSearchParams();
  const list = useLiveList<Token, Page<Token>>(tokenList);
  const columns = useMemo<Column<Token>[]>(() => [
    { key: 'id', label: words.id, card: 'title', cell: (token) => <code>{token.id}</code> },
    { key: 'valid', label: words.valid, card: 'corner', cell: (token) => <Validity token={token} /> },
    { key: 'description', label: words.description, minor: true, cell: (token) => (token.description ? <Said text={token.description} /> : null) },
    { key: 'cluster', label: words.cluster, cell: (token) => token.clusterName ?? (token.maxClusters ? words.atMost(token.maxClusters) : words.anyCluster) },
    { key: 'usedBy', label: words.usedBy, cell: (token) => (token.usedBy.length > 0 ? token.usedBy.map((name, index) => <span key={name}>{index > 0 && ', '}<Link href={paths.cluster(name)}>{name}</Link></span>) : <span className="dim">{words.nobody}</span>) },
    { key: 'by', label: words.by, minor: true, cell: (token) => token.createdBy || null },
    { key: 'age', label: words.age, right: true, minor: true, cell: (token) => <Age at={token.createdAt} /> },
    { key: 'revoke', label: words.revoke, quiet: true, right: true, card: 'foot', cell: (token) => <Button variant="default" size="compact-sm" aria-label={words.revokeNamed(token.id)} onClick={() => setSearch({ revoke: token.id })}>{words.revoke}</Button> },
  ], [words, setSearch]);
  const create = <Button leftSection={<IconPlus size={16} aria-hidden="true" />} onClick={() => setSearch({ create: '1' })}>{words.create}</Button>;
  const revoking = search.get('revoke');
  const close = () => setSearch({}, { replace: true });
  return (
    <div className="page">
      <title>{`${words.title} · Muster`}</title>
      <PageHead title={words.title} below={words.text} actions={list.rows.length > 0 && create} />
      <Listing list={list} caption={words.title} columns={columns} rowKey={keyOf} empty={<Empty title={words.emptyTitle} action={create}>{words.emptyText}</Empty>} />
      <Suspense>
        {search.has('create') && <CreateDialog onClose={close} />}
        {revoking && <RevokeDialog id={revoking} onClose={close} />}
      </Suspense>
    </div>
  );
}

function Validity({ token }: { token: Token }) {
  const words = useWords(tokenWords);
  const units = useWords(uiWords);
  const now = useNow();
  if (!token.expiresAt) return <StateMark tone="warn" plain>{words.forever}</StateMark>;
  const left = Date.parse(token.expiresAt) - now;
  if (token.expired || left <= 0) return <StateMark tone="unknown">{words.expired}</StateMark>;
  return <StateMark tone="ok" plain><span role="timer">{countdown(units, left)}</span></StateMark>;
}
