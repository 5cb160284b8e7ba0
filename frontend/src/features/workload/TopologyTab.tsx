import { Suspense, useMemo, useState } from 'react';
import { useNarrow } from '@/shared/hooks/useNarrow';
import { useWords } from '@/shared/hooks/useWords';
import { part } from '@/shared/part';
import { Choice } from '@/shared/ui/Choice';
import { Placeholder } from '@/shared/ui/Placeholder';
import { StateMark } from '@/shared/ui/StateMark';
import { HopPanel } from './HopPanel';
import { clusterOrder, fold, layout } from './layout';
import { looksForPods, podsVersion } from './pods';
import { PodTable } from './PodTable';
import type { WorkloadKey } from './queries';
import styles from './TopologyTab.module.css';
import { TopologyTree } from './TopologyTree';
import type { WorkloadDetail } from './types';
import { workloadWords } from './words';

const TopologyGraph = part(() => import('./TopologyGraph'));

interface TopologyTabProps {
  workload: WorkloadKey;
  detail: WorkloadDetail;
  /** From the address: "graph", "table", or neither for what fits the window. */
  view: string;
  hop: string;
  onChange: (changes: Record<string, string | undefined>) => void;
}

/** The way from the policy to the pods, hop by hop, with the first broken one in focus. */
export function TopologyTab({ workload, detail, view, hop, onChange }: TopologyTabProps) {
  const { topology, row } = detail;
  const words = useWords(workloadWords);
  const narrow = useNarrow();
  const shown = view === 'graph' || view === 'table' ? view : narrow ? 'table' : 'graph';
  // The order stays while one looks: a state that changes must not move what is being read.
  const [order] = useState(() => clusterOrder(topology));
  const placed = useMemo(() => layout(fold(topology), order), [topology, order]);
  const known = topology.nodes.some((node) => node.id === hop) || placed.hops.some((one) => one.id === hop);
  const chosen = known ? hop : topology.broken;
  const panel = placed.hops.find((one) => one.id === chosen) ?? topology.nodes.find((node) => node.id === chosen);
  const choose = (id: string) => onChange({ hop: id === topology.broken ? undefined : id });
  if (topology.nodes.length === 0) return <p className="dim">{words.noHops}</p>;
  return (
    <div className="page">
      <div className={styles['head']}>
        <Choice label={words.view} options={[['graph', words.views.graph], ['table', words.views.table]]} chosen={shown} onChoose={(next) => onChange({ view: next })} />
        {!topology.broken && <StateMark tone="ok">{words.allWell}</StateMark>}
      </div>
      {panel && (
        <HopPanel hop={panel} broken={panel.id === topology.broken}>
          {panel.cluster && looksForPods(row, panel) && <PodTable key={panel.cluster} workload={workload} cluster={panel.cluster} version={podsVersion(detail, panel.cluster)} />}
        </HopPanel>
      )}
      {shown === 'graph'
        ? <Suspense fallback={<div className={styles['graph']}><Placeholder rows={6} /></div>}><TopologyGraph placed={placed} broken={topology.broken} chosen={chosen} label={words.graphLabel(row.name)} onChoose={choose} /></Suspense>
        : <TopologyTree topology={topology} order={order} chosen={chosen} onChoose={choose} />}
    </div>
  );
}
