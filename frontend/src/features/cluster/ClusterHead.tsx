import '@mantine/core/styles/Popover.layer.css';
import '@mantine/core/styles/Menu.layer.css';
import { ActionIcon, Button, Menu } from '@mantine/core';
import IconDots from '@tabler/icons-react/dist/esm/icons/IconDots.mjs';
import IconPlayerPause from '@tabler/icons-react/dist/esm/icons/IconPlayerPause.mjs';
import IconPlayerPlay from '@tabler/icons-react/dist/esm/icons/IconPlayerPlay.mjs';
import IconTrash from '@tabler/icons-react/dist/esm/icons/IconTrash.mjs';
import { useMutation } from '@tanstack/react-query';
import { Link } from 'wouter';
import { useExplain } from '@/api/errors';
import type { ClusterDetail } from '@/api/model';
import { useSay } from '@/api/said';
import { useMay } from '@/api/session';
import { paths } from '@/app/paths';
import { useWords } from '@/shared/hooks/useWords';
import { Age } from '@/shared/ui/Age';
import { Notice } from '@/shared/ui/Notice';
import { PageHead } from '@/shared/ui/PageHead';
import { StateMark } from '@/shared/ui/StateMark';
import { hasReason, ReasonLine } from './clusterColumns';
import { changeCluster } from './queries';
import { tones } from './state';
import { clusterWords } from './words';

/** Name, state with its reason, and what can be done with the whole cluster. */
export function ClusterHead({ cluster, onRemove }: { cluster: ClusterDetail; onRemove: () => void }) {
  const words = useWords(clusterWords);
  const say = useSay();
  const explain = useExplain();
  const may = useMay('operator');
  const change = useMutation(changeCluster(cluster.name));
  const removing = cluster.state === 'removing';
  return (
    <>
      <PageHead
        title={cluster.name}
        below={
          <>
            <StateMark tone={tones[cluster.state]}>{words.states[cluster.state]}{cluster.since && <span className="dim"> <Age at={cluster.since} /></span>}</StateMark>
            {cluster.cordoned && <span title={words.cordonedHint}>{words.cordoned}</span>}
            <span>{cluster.mode}</span>
            {cluster.version && <code>{cluster.version}</code>}
            {cluster.dialect === 'ocm' && <Link href={paths.managedCluster(cluster.name)}>{words.asManaged}</Link>}
            {cluster.link && <StateMark tone={cluster.link.connected ? 'ok' : 'unknown'} plain>{words.link} {cluster.link.connected ? words.linkUp(cluster.link.address ?? '–') : words.linkDown} <span className="dim"><Age at={cluster.link.since} /></span></StateMark>}
          </>
        }
        actions={
          <Menu position="bottom-end" width={200}>
            <Menu.Target>
              <ActionIcon variant="default" aria-label={words.actions} disabled={!may || removing} title={may ? words.actions : words.needRole}><IconDots size={16} /></ActionIcon>
            </Menu.Target>
            <Menu.Dropdown>
              <Menu.Item leftSection={cluster.cordoned ? <IconPlayerPlay size={16} /> : <IconPlayerPause size={16} />} onClick={() => change.mutate({ cordoned: !cluster.cordoned })}>
                {cluster.cordoned ? words.uncordon : words.cordon}
              </Menu.Item>
              <Menu.Divider />
              <Menu.Item color="red" leftSection={<IconTrash size={16} />} onClick={onRemove}>{words.remove}</Menu.Item>
            </Menu.Dropdown>
          </Menu>
        }
      />
      {change.error && <Notice explained={explain.error(change.error)} />}
      {removing && (
        <Notice tone="warn" title={words.removal.progress(cluster.name)} action={may && <Button variant="default" size="compact-sm" onClick={onRemove}>{words.removal.forceOpen}</Button>}>
          <p aria-live="polite">{cluster.removal?.waitingFor ? words.removal.waiting(say(cluster.removal.waitingFor)) : words.removal.working} <span className="dim"><Age at={cluster.removal?.startedAt ?? cluster.since} /></span></p>
        </Notice>
      )}
      {!removing && hasReason(cluster) && <Notice tone={cluster.state === 'failed' ? 'bad' : cluster.state === 'joining' ? 'info' : 'warn'} title={<ReasonLine cluster={cluster} />}>{words.reasonFixes[cluster.reason ?? '']}</Notice>}
    </>
  );
}
