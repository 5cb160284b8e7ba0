import { type KeyboardEvent, type ReactNode, useRef } from 'react';
import styles from './TabBar.module.css';

interface TabBarProps {
  label: string;
  tabs: { key: string; label: ReactNode }[];
  chosen: string;
  onChoose: (key: string) => void;
  panel: string;
}

/** Tabs by arrow keys or click; the panel with the id `panel` is the caller's. */
export function TabBar({ label, tabs, chosen, onChoose, panel }: TabBarProps) {
  const list = useRef<HTMLDivElement>(null);
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const index = tabs.findIndex((tab) => tab.key === chosen);
    const next = (index + step + tabs.length) % tabs.length;
    onChoose(tabs[next]?.key ?? chosen);
    list.current?.querySelectorAll('button')[next]?.focus();
  };
  return (
    <div ref={list} role="tablist" aria-label={label} className={styles['tabs']} onKeyDown={move}>
      {tabs.map((tab) => (
        <button
          key={tab.key} type="button" role="tab" className={styles['tab']} id={`${panel}-${tab.key}`}
          aria-selected={tab.key === chosen} aria-controls={panel} tabIndex={tab.key === chosen ? 0 : -1}
          onClick={() => onChoose(tab.key)}
        >
          {tab.label}
        </button>
      ))}
    </div>
  );
}
