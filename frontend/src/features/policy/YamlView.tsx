import { CopyButton } from '@/shared/ui/CopyButton';
import styles from './YamlView.module.css';

/** YAML to read and to copy. */
export function YamlView({ text, label }: { text: string; label: string }) {
  return (
    <figure className={styles['view']}>
      <pre className={styles['text']} aria-label={label} tabIndex={0}>{text}</pre>
      <div className={styles['tools']}><CopyButton text={text} /></div>
    </figure>
  );
}
