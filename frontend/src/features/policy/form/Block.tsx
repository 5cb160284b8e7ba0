import { ActionIcon, Button } from '@mantine/core';
import IconPlus from '@tabler/icons-react/dist/esm/icons/IconPlus.mjs';
import IconX from '@tabler/icons-react/dist/esm/icons/IconX.mjs';
import { type ReactNode, useId } from 'react';
import { type Path, samePath } from '@/shared/yaml/path';
import styles from './Block.module.css';
import { useForm } from './context';
import { At } from './fields';

/** A titled part of the form. */
export function Block({ title, hint, path, children }: { title: string; hint?: string; path: Path; children: ReactNode }) {
  const id = useId();
  const { problems } = useForm();
  const problem = problems.find((one) => samePath(one.path, path));
  return (
    <At path={path}>
      <section className={styles['block']} aria-labelledby={id}>
        <div><h3 id={id}>{title}</h3>{hint && <p className="dim small">{hint}</p>}</div>
        {children}
        {problem && <p className={styles['error']}>{problem.message}</p>}
      </section>
    </At>
  );
}

/** One entry of a list, with the button that takes it out. */
export function Item({ path, title, remove, onRemove, children }: { path: Path; title?: string; remove: string; onRemove: () => void; children: ReactNode }) {
  const { disabled } = useForm();
  return (
    <At path={path} className={styles['item']}>
      {title && <h4 className={styles['itemTitle']}>{title}</h4>}
      <div className={styles['body']}>{children}</div>
      <ActionIcon className={styles['remove']} size={28} disabled={disabled} aria-label={remove} title={remove} onClick={onRemove}><IconX size={16} /></ActionIcon>
    </At>
  );
}

export function AddButton({ label, onClick }: { label: string; onClick: () => void }) {
  const { disabled } = useForm();
  return <Button className={styles['add']} variant="default" size="compact-sm" disabled={disabled} leftSection={<IconPlus size={16} />} onClick={onClick}>{label}</Button>;
}

/** Fields side by side, as many as have room. */
export function Line({ children }: { children: ReactNode }) {
  return <div className={styles['line']}>{children}</div>;
}
