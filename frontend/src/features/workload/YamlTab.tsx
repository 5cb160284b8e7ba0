import { useWords } from '@/shared/hooks/useWords';
import { CopyButton } from '@/shared/ui/CopyButton';
import { linesOf } from './diff';
import type { WorkloadDetail } from './types';
import { workloadWords } from './words';
import styles from './YamlTab.module.css';

/** The template as it is in the hub. */
export function YamlTab({ detail }: { detail: WorkloadDetail }) {
  const words = useWords(workloadWords);
  const label = words.manifest(detail.row.name);
  return (
    <>
      <div className={styles['head']}><p className="dim">{words.yamlText}</p><CopyButton text={detail.yaml} what={label} /></div>
      <pre className={styles['yaml']} aria-label={label} tabIndex={0}>{linesOf(detail.yaml).map((line, index) => <span key={index}>{line}</span>)}</pre>
    </>
  );
}
