import { type CSSProperties, type KeyboardEvent, useMemo, useRef, useState } from 'react';
import { Link } from 'wouter';
import { aboutCluster, factWords } from '@/api/facts';
import { paths } from '@/app/paths';
import { useWords } from '@/shared/hooks/useWords';
import { More } from '@/shared/ui/More';
import { StateMark } from '@/shared/ui/StateMark';
import { hopTones } from './state';
import styles from './TopologyTree.module.css';
import { closedAtFirst, openRows, treeRows } from './tree';
import type { Topology } from './types';
import { workloadWords } from './words';

/** How many rows are added at a time. */
const step = 100;

interface TopologyTreeProps {
  topology: Topology;
  /** Which clusters come first. */
  order: readonly string[];
  chosen: string | undefined;
  onChoose: (id: string) => void;
}

/** The topology as a tree table: arrows move, open and close; Enter chooses. */
export function TopologyTree({ topology, order, chosen, onChoose }: TopologyTreeProps) {
  const words = useWords(workloadWords);
  const said = useWords(factWords);
  const rows = useMemo(() => treeRows(topology, order), [topology, order]);
  // What the reader opened and closed stays so when a state changes.
  const [closed, setClosed] = useState(() => closedAtFirst(rows, topology.broken));
  const [focused, setFocused] = useState(chosen);
  const body = useRef<HTMLTableSectionElement>(null);
  const [most, setMost] = useState(step);
  const all = openRows(rows, closed);
  const open = all.slice(0, most);
  const current = open.some((row) => row.node.id === focused) ? focused : open[0]?.node.id;

  const toggle = (id: string, close: boolean) => setClosed((before) => {
    const next = new Set(before);
    if (close) next.add(id);
    else next.delete(id);
    return next;
  });
  const focus = (id: string | undefined) => {
    if (id === undefined) return;
    setFocused(id);
    body.current?.querySelector<HTMLElement>(`[data-hop="${CSS.escape(id)}"]`)?.focus();
  };
  const press = (event: KeyboardEvent) => {
    const index = open.findIndex((row) => row.node.id === current);
    const row = open[index];
    if (!row || event.target !== event.currentTarget.querySelector(`[data-hop="${CSS.escape(row.node.id)}"]`)) return;
    const id = row.node.id;
    const actions: Record<string, () => void> = {
      ArrowDown: () => focus(open[index + 1]?.node.id),
      ArrowUp: () => focus(open[index - 1]?.node.id),
      Home: () => focus(open[0]?.node.id),
      End: () => focus(open.at(-1)?.node.id),
      ArrowRight: () => (row.children > 0 && closed.has(id) ? toggle(id, false) : focus(row.children > 0 ? open[index + 1]?.node.id : undefined)),
      ArrowLeft: () => (row.children > 0 && !closed.has(id) ? toggle(id, true) : focus(row.parent)),
      Enter: () => onChoose(id),
      ' ': () => onChoose(id),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  };

  return (
    <div className={styles['scroll']}>
      <table className={styles['tree']} role="treegrid" aria-label={words.tabs.topology} onKeyDown={press}>
        <thead>
          <tr><th scope="col">{words.hop}</th><th scope="col">{words.whereHop}</th><th scope="col">{words.state}</th><th scope="col">{words.reason}</th></tr>
        </thead>
        <tbody ref={body}>
          {open.map(({ node, level, children }) => {
            const shut = closed.has(node.id);
            const name = `${words.hops[node.kind]} ${node.label}`;
            return (
              <tr
                key={node.id} data-hop={node.id} data-state={node.state} data-broken={node.id === topology.broken || undefined} style={{ '--level': level } as CSSProperties}
                aria-level={level} aria-expanded={children > 0 ? !shut : undefined} aria-selected={node.id === chosen} tabIndex={node.id === current ? 0 : -1}
                onClick={() => { setFocused(node.id); onChoose(node.id); }}
              >
                <td role="gridcell">
                  <span className={styles['hop']}>
                    {children > 0
                      ? <button type="button" tabIndex={-1} className={styles['twist']} aria-label={shut ? words.open(name) : words.close(name)} onClick={(event) => { event.stopPropagation(); toggle(node.id, !shut); }}>{shut ? '▸' : '▾'}</button>
                      : <span className={styles['twist']} />}
                    <span className={styles['kind']}>{words.hops[node.kind]}</span>
                    <span className={styles['label']}>{node.label || '–'}</span>
                  </span>
                </td>
                <td role="gridcell">{node.cluster ? <Link href={paths.cluster(node.cluster)} tabIndex={-1} onClick={(event) => event.stopPropagation()}>{node.cluster}</Link> : <span className="dim">{words.theHub}</span>}</td>
                <td role="gridcell" className={styles['state']}><StateMark tone={hopTones[node.state]}>{words.hopStates[node.state]}</StateMark></td>
                <td role="gridcell" className={styles['reason']}>{node.reason && aboutCluster(said, node.reason, node.cluster)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {all.length > step && <More shown={open.length} total={all.length} hasMore={open.length < all.length} loading={false} onMore={() => setMost(most + step)} />}
    </div>
  );
}
