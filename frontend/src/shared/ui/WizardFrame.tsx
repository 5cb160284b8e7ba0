import type { ReactNode } from 'react';
import { PageHead } from './PageHead';
import { Steps } from './Steps';

interface WizardFrameProps {
  title: string;
  /** What the steps are together, and each of them. */
  label: string;
  steps: string[];
  current: number;
  actions?: ReactNode;
  children: ReactNode;
}

/** The title and the steps, the same on every page of a wizard. */
export function WizardFrame({ title, label, steps, current, actions, children }: WizardFrameProps) {
  return (
    <div className="page">
      <title>{`${title} · Muster`}</title>
      <PageHead title={title} below={<Steps label={label} steps={steps} current={current} />} actions={actions} />
      {children}
    </div>
  );
}
