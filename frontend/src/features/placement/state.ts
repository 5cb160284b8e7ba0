import type { Placement } from '@/api/model';
import type { Tone } from '@/shared/ui/StateMark';

export const states: readonly Placement['state'][] = ['satisfied', 'partly', 'none', 'misconfigured', 'pending'];

export const tones: Record<Placement['state'], Tone> = { satisfied: 'ok', partly: 'warn', none: 'bad', misconfigured: 'bad', pending: 'busy' };

/** Names separated by spaces or commas. */
export function namesIn(text: string): string[] {
  return text.split(/[\s,]+/).filter(Boolean);
}

/** Rows whose text holds what is looked for, in any case. */
export function found<T>(rows: T[], text: string, of: (row: T) => string): T[] {
  const wanted = text.trim().toLowerCase();
  return wanted ? rows.filter((row) => of(row).toLowerCase().includes(wanted)) : rows;
}
