import type { Amount, ClusterDetail } from '@/api/model';
import { useLanguage, useWords } from '@/shared/hooks/useWords';
import { Bar } from '@/shared/ui/Bar';
import { count } from '@/shared/ui/time';
import styles from './Capacity.module.css';
import { bytes, cores } from './state';
import { clusterWords } from './words';

/** What there is and what is asked for, and how many nodes are well. */
export function Capacity({ cluster }: { cluster: ClusterDetail }) {
  const words = useWords(clusterWords);
  const { language } = useLanguage();
  const { nodes, cpu, memory, pods } = cluster;
  if (!nodes && !cpu && !memory && !pods) return <p className="dim">{words.capacityNone}</p>;
  return (
    <div className={styles['grid']}>
      {nodes && (
        <div className={styles['cell']}>
          <span className={styles['name']}>{words.nodes}</span>
          {nodes.total > 0 && <Bar label={words.nodes} used={nodes.ready} total={nodes.total} wide plain />}
          <span className="dim small">{words.nodesReady(nodes.ready, nodes.total)}</span>
        </div>
      )}
      <Cell name={words.cpuTitle} amount={cpu} format={(n) => words.cores(cores(n))} />
      <Cell name={words.memory} amount={memory} format={bytes} />
      <Cell name={words.pods} amount={pods} format={(n) => count(language, n)} />
    </div>
  );
}

function Cell({ name, amount, format }: { name: string; amount: Amount | undefined; format: (n: number) => string }) {
  const words = useWords(clusterWords);
  if (!amount) return null;
  return (
    <div className={styles['cell']}>
      <span className={styles['name']}>{name}</span>
      <Bar label={name} used={amount.allocated} total={amount.allocatable} wide />
      <span className="dim small">{words.allocated(format(amount.allocated), format(amount.allocatable))}</span>
    </div>
  );
}
