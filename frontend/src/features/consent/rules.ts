/** What the hub will refuse, said while it is typed. */
import type { NewRule } from '@/api/model';

const clusterName = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const label = /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?=([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$/;

export const isName = (text: string) => clusterName.test(text);

/** The labels of "a=b, c=d", or null when that is not what it says. */
export function parseLabels(text: string): Record<string, string> | null {
  const parts = text.split(',').map((part) => part.trim()).filter(Boolean);
  if (!parts.every((part) => label.test(part))) return null;
  return Object.fromEntries(parts.map((part) => part.split('=', 2) as [string, string]));
}

export const isHttps = (text: string) => URL.canParse(text) && new URL(text).protocol === 'https:';

/** Whether a rule's value cannot be meant. */
export function ruleProblem(kind: NewRule['kind'], value: string): boolean {
  switch (kind) {
    case 'identity': return value === '';
    case 'token-label': return value === '' || parseLabels(value) === null;
    case 'cluster-name': return !/^[-a-z0-9*?]+$/.test(value);
  }
}
