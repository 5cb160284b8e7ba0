import type { ClusterState } from '@/api/model';
import type { Tone } from '@/shared/ui/StateMark';

/** The states in the order of the counts, most common first. */
export const states: readonly ClusterState[] = ['ready', 'degraded', 'unknown', 'joining', 'failed', 'removing'];

export const tones: Record<ClusterState, Tone> = { ready: 'ok', joining: 'busy', degraded: 'warn', unknown: 'unknown', failed: 'bad', removing: 'leaving' };

export const outcomeTones = { pending: 'busy', ok: 'ok', denied: 'warn', failed: 'bad', unknown: 'unknown' } as const satisfies Record<string, Tone>;

/** Bytes as Kubernetes writes them, three figures at most. */
export function bytes(n: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  const step = n > 0 ? Math.min(units.length - 1, Math.floor(Math.log2(n) / 10)) : 0;
  return `${figure(n / 1024 ** step)} ${units[step]}`;
}

/** Millicores as cores. */
export function cores(millicores: number): string {
  return figure(millicores / 1_000);
}

function figure(n: number): string {
  return n >= 100 ? String(Math.round(n)) : String(Math.round(n * 10) / 10);
}
