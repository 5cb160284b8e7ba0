import IconCirclesRelation from '@tabler/icons-react/dist/esm/icons/IconCirclesRelation.mjs';
import IconDots from '@tabler/icons-react/dist/esm/icons/IconDots.mjs';
import IconHistory from '@tabler/icons-react/dist/esm/icons/IconHistory.mjs';
import IconHourglass from '@tabler/icons-react/dist/esm/icons/IconHourglass.mjs';
import IconKey from '@tabler/icons-react/dist/esm/icons/IconKey.mjs';
import IconRoute2 from '@tabler/icons-react/dist/esm/icons/IconRoute2.mjs';
import IconServer2 from '@tabler/icons-react/dist/esm/icons/IconServer2.mjs';
import IconSettings from '@tabler/icons-react/dist/esm/icons/IconSettings.mjs';
import IconStack2 from '@tabler/icons-react/dist/esm/icons/IconStack2.mjs';
import IconTarget from '@tabler/icons-react/dist/esm/icons/IconTarget.mjs';
import IconTool from '@tabler/icons-react/dist/esm/icons/IconTool.mjs';
import IconUsers from '@tabler/icons-react/dist/esm/icons/IconUsers.mjs';
import { useQuery } from '@tanstack/react-query';
import { type ComponentType, Suspense, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { useCarries } from '@/api/dialects';
import { consentsWanted, underWay } from '@/api/underway';
import { useMay } from '@/api/session';
import { useWords } from '@/shared/hooks/useWords';
import { paths } from '../paths';
import { type AppWords } from '../words.en';
import { appWords } from '../words';
import { part } from '@/shared/part';
import { Logo } from '@/shared/ui/Logo';
import styles from './Nav.module.css';

const MoreSheet = part(() => import('./MoreSheet'));

interface Entry {
  href: string;
  label: string;
  icon: ComponentType<{ size?: number; stroke?: number }>;
  badge?: string;
}

function useEntries(words: AppWords): { first: Entry[]; second: Entry[] } {
  const admin = useMay('admin');
  const operator = useMay('operator');
  const karmada = useCarries('karmada');
  const { data: joining = 0 } = useQuery({ ...underWay, enabled: operator && karmada });
  const { data: wanted = 0 } = useQuery({ ...consentsWanted, enabled: operator });
  const waiting = joining + wanted;
  const second: Entry[] = [
    { href: paths.operators(), label: words.operators, icon: IconTool },
    { href: paths.audit(), label: words.audit, icon: IconHistory },
    ...(admin ? [{ href: paths.users(), label: words.users, icon: IconUsers }] : []),
    { href: paths.settings(), label: words.settings, icon: IconSettings },
  ];
  return {
    first: [
      { href: karmada ? paths.clusters() : paths.managedClusters(), label: words.clusters, icon: IconServer2 },
      ...(karmada ? [
        { href: paths.workloads(), label: words.workloads, icon: IconStack2 },
        { href: paths.policies(), label: words.policies, icon: IconRoute2 },
      ] : []),
      { href: paths.placements(), label: words.placements, icon: IconTarget },
      { href: paths.clusterSets(), label: words.clusterSets, icon: IconCirclesRelation },
      // Joining is for operators; others would see refusals only.
      ...(operator ? [
        { href: paths.waiting(), label: words.waiting, icon: IconHourglass, badge: waiting > 0 ? String(waiting) : undefined },
        ...(karmada ? [{ href: paths.tokens(), label: words.tokens, icon: IconKey }] : []),
      ] : []),
    ],
    second,
  };
}

/** The navigation at the left. */
export function Rail() {
  const words = useWords(appWords);
  const { first, second } = useEntries(words);
  return (
    <nav className={styles['rail']} aria-label={words.main}>
      <Link href={first[0]?.href ?? '/'} className={styles['brand']}><Logo /></Link>
      {first.map((entry) => <NavLink key={entry.href} entry={entry} words={words} />)}
      <hr className={styles['rule']} />
      {second.map((entry) => <NavLink key={entry.href} entry={entry} words={words} />)}
    </nav>
  );
}

/** The navigation below, at phone width: three places and the rest behind More. Whoever may not let clusters in looks at workloads. */
export function BottomBar() {
  const words = useWords(appWords);
  const { first, second } = useEntries(words);
  const [open, setOpen] = useState(false);
  const third = first.some((entry) => entry.href === paths.waiting()) ? paths.waiting() : paths.workloads();
  const near = [...new Set([first[0]?.href, paths.policies(), third, ...first.map((entry) => entry.href)])]
    .flatMap((href) => first.filter((entry) => entry.href === href)).slice(0, 3);
  const rest = [...first.filter((entry) => !near.includes(entry)), ...second];
  return (
    <nav className={styles['bottom']} aria-label={words.main}>
      {near.map((entry) => <NavLink key={entry.href} entry={entry} words={words} />)}
      <button type="button" className={styles['link']} aria-expanded={open} onClick={() => setOpen(true)}>
        <IconDots size={20} stroke={1.75} /><span>{words.more}</span>
      </button>
      {open && <Suspense><MoreSheet links={rest} onClose={() => setOpen(false)} /></Suspense>}
    </nav>
  );
}

function NavLink({ entry, words }: { entry: Entry; words: AppWords }) {
  const [location] = useLocation();
  const current = location === entry.href || location.startsWith(`${entry.href}/`) || ([paths.clusters(), paths.managedClusters()].includes(entry.href) && (location.startsWith(paths.addCluster()) || location.startsWith(paths.managedClusters())));
  const Icon = entry.icon;
  return (
    <Link href={entry.href} className={styles['link']} title={entry.label} aria-current={current ? 'page' : undefined}>
      <Icon size={20} stroke={1.75} />
      <span>{entry.label}</span>
      {entry.badge && <span className={styles['badge']} aria-label={words.waitingCount(Number(entry.badge))}>{entry.badge}</span>}
    </Link>
  );
}
