import styles from './Steps.module.css';

/** Where one is in a wizard. */
export function Steps({ label, steps, current }: { label: string; steps: string[]; current: number }) {
  return (
    <ol className={styles['steps']} aria-label={label}>
      {steps.map((step, index) => (
        <li key={step} aria-current={index === current ? 'step' : undefined} data-done={index < current || undefined}>
          <span className={styles['number']} aria-hidden="true">{index + 1}</span>{step}
        </li>
      ))}
    </ol>
  );
}
