import { Button } from '@mantine/core';
import IconPlus from '@tabler/icons-react/dist/esm/icons/IconPlus.mjs';
import { type ReactNode, Suspense, useMemo } from 'react';
import { useSearchParams } from 'wouter';
import type { ApprovalRule, Page } from '@/api/model';
import { useMay } from '@/api/session';
import { useLiveList } from '@/api/useLiveList';
import { useWords } from '@/shared/hooks/useWords';
import { part } from '@/shared/part';
import { Age } from '@/shared/ui/Age';
import { Empty } from '@/shared/ui/Empty';
import { Listing } from '@/shared/ui/Listing';
import { Notice } from '@/shared/ui/Notice';
import { PageHead } from '@/shared/ui/PageHead';
import { type Column } from '@/shared/ui/Rows';
import { ruleList } from './queries';
import { consentWords } from './words';

const AddRuleDialog = part(() => import('./AddRuleDialog'));
const RemoveRuleDialog = part(() => import('./RemoveRuleDialog'));
const keyOf = (rule: ApprovalRule) => rule.id;

/** The rules that let clusters in unseen; none unless somebody makes one. The dialogs live in the address. */
export default function RuleListPage({ tabs }: { tabs: ReactNode }) {
  const words = useWords(consentWords);
  const may = useMay('admin');
  const [search, setSearch] = useSearchParams();
  const list = useLiveList<ApprovalRule, Page<ApprovalRule>>(ruleList);
  const columns = useMemo<Column<ApprovalRule>[]>(() => [
    { key: 'value', label: words.value, card: 'title', cell: (rule) => <code className="wrap">{rule.value}</code> },
    { key: 'kind', label: words.kind, card: 'corner', cell: (rule) => words.kinds[rule.kind] },
    { key: 'gives', label: words.gives, cell: (rule) => givesOf(rule, words) },
    { key: 'uses', label: words.uses, cell: (rule) => (rule.uses > 0 ? <>{words.times(rule.uses)}{rule.lastUsedAt && <span className="dim"> · <Age at={rule.lastUsedAt} ago /></span>}</> : <span className="dim">{words.unused}</span>) },
    { key: 'by', label: words.madeBy, minor: true, cell: (rule) => rule.createdBy || words.sources[rule.source] },
    { key: 'age', label: words.age, right: true, minor: true, cell: (rule) => <Age at={rule.createdAt} /> },
    { key: 'remove', label: words.remove, quiet: true, right: true, card: 'foot', cell: (rule) => <Remove rule={rule} may={may} onRemove={() => setSearch({ remove: rule.id })} /> },
  ], [words, may, setSearch]);
  const add = <Button leftSection={<IconPlus size={16} aria-hidden="true" />} disabled={!may} title={may ? undefined : words.needAdmin} onClick={() => setSearch({ add: '1' })}>{words.addRule}</Button>;
  const close = () => setSearch({}, { replace: true });
  const removing = list.rows.find((rule) => rule.id === search.get('remove'));
  return (
    <div className="page">
      <title>{`${words.rulesTitle} · Muster`}</title>
      <PageHead title={words.rulesTitle} below={words.rulesText} actions={list.rows.length > 0 && add} />
      {tabs}
      {list.rows.length > 0 && <Notice tone="warn" title={words.rulesOn(list.rows.length)}>{words.rulesOnText}</Notice>}
      <Listing list={list} caption={words.rulesTitle} columns={columns} rowKey={keyOf} note={(rule) => rule.note || null} empty={<Empty title={words.rulesOff} action={add}>{words.rulesOffText}</Empty>} />
      <Suspense>
        {search.has('add') && may && <AddRuleDialog onClose={close} />}
        {removing && may && <RemoveRuleDialog rule={removing} onClose={close} />}
      </Suspense>
    </div>
  );
}

function givesOf(rule: ApprovalRule, words: { givesCertificate: string; givesAcceptance: string; and: string }): string {
  return [rule.approve && words.givesCertificate, rule.accept && words.givesAcceptance].filter(Boolean).join(words.and);
}

function Remove({ rule, may, onRemove }: { rule: ApprovalRule; may: boolean; onRemove: () => void }) {
  const words = useWords(consentWords);
  const fixed = rule.source === 'flag';
  const title = fixed ? words.flagFixed : may ? undefined : words.needAdmin;
  return <Button variant="default" size="compact-sm" disabled={!may || fixed} title={title} aria-label={words.removeNamed(rule.value)} onClick={onRemove}>{words.remove}</Button>;
}
