/** What a row means: which consent is missing, in which tone it is told, who asked. */
import type { CertificateRequest, WaitingRow } from '@/api/model';
import type { Tone } from '@/shared/ui/StateMark';
import type { ConsentWords } from './words.en';

/** The request that stands for the cluster: the newest proper one, else the newest. */
export function leading(row: WaitingRow): CertificateRequest | undefined {
  return row.requests.find((request) => !request.superseded && !request.renewal && !request.problem)
    ?? row.requests.find((request) => !request.superseded) ?? row.requests[0];
}

export const certificateTones: Record<WaitingRow['certificate'], Tone> = { none: 'idle', pending: 'busy', approved: 'ok', issued: 'ok', denied: 'bad', failed: 'bad' };

export function acceptanceOf(row: WaitingRow): { key: keyof ConsentWords['acceptances']; tone: Tone } {
  if (row.accepted) return { key: 'accepted', tone: 'ok' };
  if (row.denied) return { key: 'denied', tone: 'bad' };
  return row.exists ? { key: 'waiting', tone: 'busy' } : { key: 'unknown', tone: 'idle' };
}

/** The row in one word. */
export function standing(words: ConsentWords, row: WaitingRow): { label: string; tone: Tone } {
  if (row.denied) return { label: words.denied, tone: 'bad' };
  if (row.waits) return { label: words.next[row.next], tone: 'warn' };
  if (row.joined && row.available === 'True') return { label: words.available, tone: 'ok' };
  if (row.joined && row.available === 'False') return { label: words.unavailable, tone: 'warn' };
  if (row.joined && row.available === 'Unknown') return { label: words.lost, tone: 'unknown' };
  return { label: words.next[row.next], tone: row.next === 'none' ? 'unknown' : 'busy' };
}

const bootstrapAccount = 'system:serviceaccount:open-cluster-management:agent-registration-bootstrap';

/** Who asked, in words where the name is one of those that everybody sees here. */
export function requesterOf(words: ConsentWords, user: string): string {
  if (user === bootstrapAccount) return words.requesters.account;
  if (user.startsWith('system:bootstrap:')) return words.requesters.token(user.slice('system:bootstrap:'.length));
  if (user.startsWith('system:open-cluster-management:')) return words.requesters.agent;
  return user.replace(/^muster:user:/, '');
}

/** "SHA256:" and the digest in groups of eight, for eyes; together they are the text that the agent prints. */
export function fingerprintParts(fingerprint: string): string[] {
  const [, algorithm = '', digest = fingerprint] = /^([A-Z0-9]+:)?(.*)$/.exec(fingerprint) ?? [];
  return [algorithm, ...(digest.match(/.{1,8}/g) ?? [])].filter(Boolean);
}

export function lifetimeOf(words: ConsentWords, seconds: number): string {
  return seconds >= 48 * 3_600 ? words.lifetime(Math.round(seconds / 86_400)) : words.lifetimeHours(Math.max(1, Math.round(seconds / 3_600)));
}

/** Whether the certificate, or acceptance, can be given now. */
export const canApprove = (row: WaitingRow) => row.requests.some((request) => request.state === 'pending' && !request.problem && !request.superseded);
export const canAccept = (row: WaitingRow) => row.exists && !row.accepted;
export const canDeny = (row: WaitingRow) => row.accepted || (row.exists && !row.denied) || row.requests.some((request) => request.state === 'pending');
