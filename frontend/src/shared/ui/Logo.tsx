import styles from './Logo.module.css';

/** The mark; its name stands beside it. */
export function Logo() {
  return (
    <span className={styles['logo']}>
      <svg viewBox="0 0 24 24" width="20" height="20" aria-hidden="true">
        <rect x="2" y="2" width="9" height="9" rx="2" />
        <rect x="13" y="13" width="9" height="9" rx="2" />
        <rect x="2" y="13" width="9" height="9" rx="2" opacity=".45" />
        <rect x="13" y="2" width="9" height="9" rx="2" opacity=".2" />
      </svg>
      <span>Muster</span>
    </span>
  );
}
