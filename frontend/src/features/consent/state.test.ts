import { describe, expect, it } from 'vitest';
import type { CertificateRequest, WaitingRow } from '@/api/model';
import { isHttps, isName, parseLabels, ruleProblem } from './rules';
import { stagesOf } from './stages';
import { acceptanceOf, canAccept, canApprove, canDeny, fingerprintParts, leading, lifetimeOf, requesterOf, standing } from './state';
import { en } from './words.en';

const unknownCluster = (cluster: string): WaitingRow => ({
  cluster, exists: false, accepted: false, denied: false, waits: false, next: 'agent', certificate: 'none', joined: false, available: '', urls: [], createdAt: '0001-01-01T00:00:00Z', requests: [],
});
const request = (more: Partial<CertificateRequest> = {}): CertificateRequest => ({
  name: 'edge-1', cluster: 'edge', agent: 'a1b2c', state: 'pending', superseded: false, requester: 'system:bootstrap:abcdef', groups: [],
  fingerprint: `SHA256:${'0123456789abcdef'.repeat(4)}`, createdAt: '2026-11-21T12:00:00Z', renewal: false, ...more,
});
const cluster = (more: Partial<WaitingRow> = {}): WaitingRow => ({ ...unknownCluster('edge'), exists: true, createdAt: '2026-11-21T12:00:00Z', ...more });
const arrived = cluster({ waits: true, next: 'both', certificate: 'pending', requests: [request()] });

it('groups a fingerprint for eyes and leaves its text alone', () => {
  const parts = fingerprintParts(request().fingerprint);
  expect(parts[0]).toBe('SHA256:');
  expect(parts).toHaveLength(9);
  expect(parts.join('')).toBe(request().fingerprint);
});

it('names those who ask for everybody to understand', () => {
  expect(requesterOf(en, 'system:serviceaccount:open-cluster-management:agent-registration-bootstrap')).toBe('the bootstrap service account');
  expect(requesterOf(en, 'system:bootstrap:abcdef')).toBe('bootstrap token abcdef');
  expect(requesterOf(en, 'muster:user:ada')).toBe('ada');
  expect(lifetimeOf(en, 31_536_000)).toBe('365 days');
  expect(lifetimeOf(en, 3_600)).toBe('1 hour');
});

it('takes the newest proper request for the cluster’s', () => {
  const odd = request({ name: 'odd', problem: 'more than an agent asks for' });
  const old = request({ name: 'old', superseded: true });
  expect(leading(cluster({ requests: [odd, request(), old] }))?.name).toBe('edge-1');
  expect(leading(cluster({ requests: [odd] }))?.name).toBe('odd');
  expect(leading(cluster())).toBeUndefined();
});

describe('what can be decided', () => {
  const table: [string, WaitingRow, [approve: boolean, accept: boolean, deny: boolean], string][] = [
    ['arrived', arrived, [true, true, true], 'Waits for both consents'],
    ['unknown', unknownCluster('edge'), [false, false, false], 'Waits for its agent'],
    ['request alone', { ...unknownCluster('edge'), waits: true, next: 'certificate', certificate: 'pending', requests: [request()] }, [true, false, true], 'Waits for its certificate'],
    ['improper', cluster({ waits: true, next: 'acceptance', requests: [request({ problem: 'odd' })] }), [false, true, true], 'Waits for acceptance'],
    ['left behind', cluster({ accepted: true, next: 'join', certificate: 'issued', requests: [request({ state: 'issued' }), request({ superseded: true })] }), [false, false, true], 'Joining'],
    ['well', cluster({ accepted: true, joined: true, available: 'True', next: 'none', certificate: 'issued' }), [false, false, true], 'Available'],
    ['lost', cluster({ accepted: true, joined: true, available: 'Unknown', next: 'available', certificate: 'issued' }), [false, false, true], 'Joined, out of reach'],
    ['denied', cluster({ denied: true, next: 'none', certificate: 'denied', requests: [request({ state: 'denied' })] }), [false, true, false], 'Denied'],
  ];
  it.each(table)('%s', (_, row, can, label) => {
    expect([canApprove(row), canAccept(row), canDeny(row)]).toEqual(can);
    expect(standing(en, row).label).toBe(label);
  });
  it('tells acceptance apart from a cluster that nobody has seen', () => {
    expect(acceptanceOf(unknownCluster('edge')).key).toBe('unknown');
    expect(acceptanceOf(arrived).key).toBe('waiting');
    expect(acceptanceOf(cluster({ accepted: true })).key).toBe('accepted');
    expect(acceptanceOf(cluster({ denied: true })).key).toBe('denied');
  });
});

describe('stages', () => {
  const states = (row: WaitingRow, shownAt?: string) => stagesOf(row, shownAt).map((stage) => `${stage.name} ${stage.state}${stage.waits ? ` ${stage.waits}` : ''}`);
  it('waits for the agent, then for you, in either order of consents, then for the agent', () => {
    expect(states(unknownCluster('edge'), '2026-11-21T12:00:00Z')).toEqual([
      'shown done', 'introduced running agent', 'requested pending', 'approved pending', 'accepted pending', 'joined pending', 'available pending',
    ]);
    expect(states(arrived)).toEqual(['introduced done', 'requested done', 'approved running you', 'accepted running you', 'joined pending', 'available pending']);
    expect(states({ ...arrived, accepted: true })).toEqual(['introduced done', 'requested done', 'approved running you', 'accepted done', 'joined pending', 'available pending']);
    expect(states({ ...arrived, certificate: 'issued', requests: [request({ state: 'issued' })] })).toEqual(['introduced done', 'requested done', 'approved done', 'accepted running you', 'joined pending', 'available pending']);
    const both = { ...arrived, accepted: true, certificate: 'issued' as const, requests: [] };
    expect(states(both).slice(1)).toEqual(['requested done', 'approved done', 'accepted done', 'joined running agent', 'available pending']);
    expect(states({ ...both, joined: true }).slice(-2)).toEqual(['joined done', 'available running agent']);
    expect(states({ ...both, joined: true, available: 'True' }).slice(-2)).toEqual(['joined done', 'available done']);
  });
  it('fails with a reason', () => {
    const failures = (row: WaitingRow) => stagesOf(row).flatMap((stage) => (stage.failure ? [`${stage.name} ${stage.failure}`] : []));
    expect(failures({ ...arrived, denied: true, certificate: 'denied' })).toEqual(['approved refused', 'accepted denied']);
    expect(failures(cluster({ accepted: true, joined: true, available: 'False', certificate: 'issued' }))).toEqual(['available unavailable']);
    expect(failures(cluster({ accepted: true, joined: true, available: 'Unknown', certificate: 'issued' }))).toEqual(['available lost']);
  });
});

it('says what the hub would refuse', () => {
  expect([isName('edge-7'), isName('Edge'), isName('-a'), isName('a'.repeat(64))]).toEqual([true, false, false, false]);
  expect([isHttps('https://a:6443'), isHttps('http://a'), isHttps('a')]).toEqual([true, false, false]);
  expect(parseLabels('env=lab, tier=edge')).toEqual({ env: 'lab', tier: 'edge' });
  expect(parseLabels('env')).toBeNull();
  expect([ruleProblem('identity', ''), ruleProblem('token-label', 'env'), ruleProblem('cluster-name', 'a/*'), ruleProblem('cluster-name', 'edge-*')]).toEqual([true, true, true, false]);
});
