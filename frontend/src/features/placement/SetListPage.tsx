import { ActionIcon, Button } from '@mantine/core';
import IconPlus from '@tabler/icons-react/dist/esm/icons/IconPlus.mjs';
import IconX from '@tabler/icons-react/dist/esm/icons/IconX.mjs';
import { useMutation } from '@tanstack/react-query';
import { Suspense, useMemo } from 'react';
import { Link, useSearchParams } from 'wouter';
import { useExplain } from '@/api/errors';
import type { ClusterSet, Page } from '@/api/model';
import { useMay } from '@/api/session';
import { useLiveList } from '@/api/useLiveList';
import { paths } from '@/app/paths';
import { useWords } from '@/shared/hooks/useWords';
import { part } from '@/shared/part';
import { Age } from '@/shared/ui/Age';
import { Empty } from '@/shared/ui/Empty';
import { Listing } from '@/shared/ui/Listing';
import { Notice } from '@/shared/ui/Notice';
import { PageHead } from '@/shared/ui/PageHead';
import type { Column } from '@/shared/ui/Rows';
import styles from './placement.module.css';
import { setList, unbindSet } from './queries';
import type { PlacementWords } from './words.en';
import { placementWords } from './words';

const CreateDialog = part(() => import('./CreateSetDialog'));
const BindDialog = part(() => import('./BindDialog'));
const DeleteDialog = part(() => import('./DeleteSetDialog'));
const keyOf = (set: ClusterSet) => set.name;

/** The sets of clusters: what is in each, and which namespaces may choose through it. The dialogs live in the address. */
export default function SetListPage() {
  const { sets: words, needRole } = useWords(placementWords);
  const explain = useExplain();
  const may = useMay('operator');
  const [search, setSearch] = useSearchParams();
  const list = useLiveList<ClusterSet, Page<ClusterSet>>(setList);
  const unbind = useMutation(unbindSet);
  const { mutate } = unbind;
  const columns = useMemo<Column<ClusterSet>[]>(() => [
    { key: 'name', label: words.name, card: 'title', cell: (set) => <Link href={`${paths.managedClusters()}?set=${encodeURIComponent(set.name)}`}>{set.name}</Link> },
    { key: 'kind', label: words.kind, cell: (set) => choosing(words, set) },
    { key: 'clusters', label: words.clusters, right: true, cell: (set) => <span title={set.names.join(', ')}>{set.clusters}</span> },
    {
      key: 'bound', label: words.bound, cell: (set) => (set.namespaces.length === 0 ? <span className="dim">{words.nowhere}</span> : (
        <ul className={styles['chips']}>
          {set.namespaces.map((namespace) => (
            <li key={namespace} className={styles['chip']}>
              <code>{namespace}</code>
              {may && <ActionIcon size={20} aria-label={words.unbind(set.name, namespace)} title={words.unbind(set.name, namespace)} onClick={() => mutate({ set: set.name, namespace })}><IconX size={12} /></ActionIcon>}
            </li>
          ))}
        </ul>
      )),
    },
    { key: 'age', label: words.age, right: true, minor: true, cell: (set) => <Age at={set.createdAt} /> },
    {
      key: 'actions', label: words.actions, quiet: true, right: true, card: 'foot', cell: (set) => (
        <span className={styles['actions']}>
          <Button variant="default" size="compact-sm" disabled={!may} title={may ? undefined : needRole} aria-label={words.bindNamed(set.name)} onClick={() => setSearch({ bind: set.name })}>{words.bind}</Button>
          {!set.standing && <Button variant="default" size="compact-sm" disabled={!may} title={may ? undefined : needRole} aria-label={words.removeNamed(set.name)} onClick={() => setSearch({ delete: set.name })}>{words.remove}</Button>}
        </span>
      ),
    },
  ], [words, needRole, may, mutate, setSearch]);
  const create = <Button leftSection={<IconPlus size={16} aria-hidden="true" />} disabled={!may} title={may ? undefined : needRole} onClick={() => setSearch({ create: '1' })}>{words.create}</Button>;
  const close = () => { setSearch({}, { replace: true }); list.retry(); };
  const binding = search.get('bind');
  const deleting = search.get('delete');
  return (
    <div className="page">
      <title>{`${words.title} · Muster`}</title>
      <PageHead title={words.title} below={words.text} actions={create} />
      {unbind.error && <Notice explained={explain.error(unbind.error)} />}
      <Listing list={list} caption={words.title} columns={columns} rowKey={keyOf} empty={<Empty title={words.emptyTitle}>{words.emptyText}</Empty>} />
      <Suspense>
        {search.has('create') && may && <CreateDialog onClose={close} />}
        {binding && may && <BindDialog set={binding} onClose={close} />}
        {deleting && may && <DeleteDialog set={deleting} onClose={close} />}
      </Suspense>
    </div>
  );
}

function choosing(words: PlacementWords['sets'], set: ClusterSet): string {
  if (set.type !== 'LabelSelector') return words.byLabel;
  return set.selector ? words.bySelector(set.selector) : words.everything;
}
