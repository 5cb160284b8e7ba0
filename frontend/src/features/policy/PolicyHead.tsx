import '@mantine/core/styles/Popover.layer.css';
import '@mantine/core/styles/Menu.layer.css';
import { ActionIcon, Button, Menu } from '@mantine/core';
import IconDots from '@tabler/icons-react/dist/esm/icons/IconDots.mjs';
import IconPencil from '@tabler/icons-react/dist/esm/icons/IconPencil.mjs';
import IconTrash from '@tabler/icons-react/dist/esm/icons/IconTrash.mjs';
import { Link } from 'wouter';
import { useMay } from '@/api/session';
import { type PolicyAt, paths } from '@/app/paths';
import { useWords } from '@/shared/hooks/useWords';
import { PageHead } from '@/shared/ui/PageHead';
import { PolicyState } from './policyColumns';
import type { PolicyRow } from './types';
import { policyWords } from './words';

/** The policy's name, kind and state, and what can be done with it. */
export function PolicyHead({ at, row, onRemove }: { at: PolicyAt; row: PolicyRow; onRemove: () => void }) {
  const words = useWords(policyWords);
  const may = useMay('operator') && !row.removing;
  const hint = may ? undefined : words.needRole;
  const history = `${paths.audit()}?${new URLSearchParams({ kind: row.kind, name: row.name }).toString()}`;
  return (
    <PageHead
      title={row.name}
      below={<>
        <PolicyState row={row} />
        <span title={words.kindHints[row.resource]}>{row.kind}</span>
        {row.namespace && <span>{words.namespace} <code>{row.namespace}</code></span>}
        {row.priority !== undefined && row.priority !== 0 && <span>{words.priorityOf(String(row.priority))}</span>}
        <Link href={history}>{words.history}</Link>
      </>}
      actions={<>
        {may
          ? <Button component={Link} href={paths.editPolicy(at)} leftSection={<IconPencil size={16} />}>{words.edit}</Button>
          : <Button disabled title={hint} leftSection={<IconPencil size={16} />}>{words.edit}</Button>}
        <Menu position="bottom-end" width={200}>
          <Menu.Target><ActionIcon variant="default" aria-label={words.actions} title={words.actions}><IconDots size={16} /></ActionIcon></Menu.Target>
          <Menu.Dropdown>
            <Menu.Item color="red" disabled={!may} title={hint} leftSection={<IconTrash size={16} />} onClick={onRemove}>{words.remove}</Menu.Item>
          </Menu.Dropdown>
        </Menu>
      </>}
    />
  );
}
