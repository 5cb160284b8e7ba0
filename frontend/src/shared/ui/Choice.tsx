import styles from './Choice.module.css';

/** A few ways to look at a list, one of them chosen. */
export function Choice({ label, options, chosen, onChoose }: { label: string; options: [key: string, label: string][]; chosen: string; onChoose: (key: string) => void }) {
  return (
    <div role="group" aria-label={label} className={styles['choice']}>
      {options.map(([key, text]) => (
        <button key={key} type="button" aria-pressed={key === chosen} onClick={() => onChoose(key)}>{text}</button>
      ))}
    </div>
  );
}
