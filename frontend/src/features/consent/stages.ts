/** The way of a cluster from the commands to being available, as stages. The two consents come in either order. */
import type { WaitingRow } from '@/api/model';
import { canApprove, leading } from './state';

export interface Stage {
  name: 'shown' | 'introduced' | 'requested' | 'approved' | 'accepted' | 'joined' | 'available';
  state: 'pending' | 'running' | 'done' | 'failed';
  at?: string;
  /** Who has to do something for it. */
  waits?: 'you' | 'agent';
  aside?: string;
  failure?: 'denied' | 'refused' | 'unavailable' | 'lost';
}

export function stagesOf(row: WaitingRow, shownAt?: string): Stage[] {
  const request = leading(row);
  const issued = row.certificate === 'approved' || row.certificate === 'issued';
  const both = issued && row.accepted;
  const shown: Stage[] = shownAt ? [{ name: 'shown', state: 'done', at: shownAt }] : [];
  return [
    ...shown,
    row.exists ? { name: 'introduced', state: 'done', at: row.createdAt || undefined } : { name: 'introduced', state: 'running', waits: 'agent' },
    request || issued
      ? { name: 'requested', state: 'done', at: request?.createdAt, aside: request?.address }
      : { name: 'requested', state: row.exists ? 'running' : 'pending', waits: row.exists ? 'agent' : undefined },
    approval(row, issued),
    acceptance(row),
    row.joined ? { name: 'joined', state: 'done' } : { name: 'joined', state: both ? 'running' : 'pending', waits: both ? 'agent' : undefined },
    availability(row),
  ];
}

function approval(row: WaitingRow, issued: boolean): Stage {
  const request = leading(row);
  if (issued) return { name: 'approved', state: 'done', at: request?.decidedAt, aside: request?.decidedBy };
  if (row.certificate === 'denied') return { name: 'approved', state: 'failed', failure: 'refused' };
  return canApprove(row) ? { name: 'approved', state: 'running', waits: 'you' } : { name: 'approved', state: 'pending' };
}

function acceptance(row: WaitingRow): Stage {
  if (row.accepted) return { name: 'accepted', state: 'done', at: row.acceptedAt, aside: row.acceptedBy };
  if (row.denied) return { name: 'accepted', state: 'failed', failure: 'denied' };
  return row.exists ? { name: 'accepted', state: 'running', waits: 'you' } : { name: 'accepted', state: 'pending' };
}

function availability(row: WaitingRow): Stage {
  if (!row.joined) return { name: 'available', state: 'pending' };
  switch (row.available) {
    case 'True': return { name: 'available', state: 'done' };
    case 'False': return { name: 'available', state: 'failed', failure: 'unavailable' };
    case 'Unknown': return { name: 'available', state: 'failed', failure: 'lost' };
    default: return { name: 'available', state: 'running', waits: 'agent' };
  }
}
