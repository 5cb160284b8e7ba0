import { expect, it } from 'vitest';
import { aboutCluster, remedyOf, reworded, sentence } from '@/api/facts';
import { en } from '@/api/facts.en';
import { zh } from '@/api/facts.zh';
import { fill } from '@/shared/reword';

const places = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map((match) => match[1]).sort();

it.each(Object.keys(en.facts))('%s says the same in both languages', (code) => {
  expect(places(zh.facts[code] ?? '')).toEqual(places(en.facts[code] ?? ''));
});

it('says a known sentence in the reader’s language', () => {
  const fact = { text: 'edge-7: 0 of 2 replicas are ready.', code: 'health.unready', params: { cluster: 'edge-7', ready: 0, wanted: '2' } };
  expect(sentence(zh, fact)).toBe('edge-7：2 个副本中有 0 个就绪。');
  expect(sentence(en, fact)).toBe(fact.text);
});

it('keeps the hub’s text when it knows no better', () => {
  expect(sentence(zh, { text: 'Something new.', code: 'brand.new', params: {} })).toBe('Something new.');
  expect(sentence(zh, { text: 'No params.', code: 'health.unready' })).toBe('No params.');
  expect(sentence(zh, { text: 'No code.' })).toBe('No code.');
});

it('knows a sentence by its English text, the most exact one first', () => {
  for (const [code, text] of Object.entries(en.facts)) {
    const params = Object.fromEntries(places(text).map((name) => [name, `<${name}>`]));
    expect(reworded(zh, fill(text, params) ?? ''), code).toBe(fill(zh.facts[code], params));
  }
  expect(reworded(zh, 'edge-7: admission webhook "x" denied the request: no (really).')).toBe('edge-7：未能应用，admission webhook "x" denied the request: no (really).');
  expect(reworded(zh, 'Free text')).toBe('Free text');
  expect(reworded(en, 'edge-7: the object has not been applied yet.')).toBe('edge-7: the object has not been applied yet.');
});

it('does not name a cluster twice, and leaves what a member said as it is', () => {
  expect(aboutCluster(en, 'edge-7: sending is suspended.', 'edge-7')).toBe('Sending is suspended.');
  expect(aboutCluster(en, 'edge-7: deployments.apps "a" is forbidden', 'edge-7')).toBe('deployments.apps "a" is forbidden');
  expect(aboutCluster(zh, 'edge-7: sending is suspended.', 'edge-7')).toBe('下发已暂停。');
  expect(aboutCluster(en, 'edge-70: sending is suspended.', 'edge-7')).toBe('edge-70: sending is suspended.');
});

it.each([
  ['edge-7: deployments.apps "a" is forbidden: ValidatingAdmissionPolicy \'x\' denied request: no', 'denied'],
  ['edge-7: pods "a" is forbidden: exceeded quota: team', 'quota'],
  ['edge-7: Internal error occurred: failed calling webhook "x": context deadline exceeded', 'webhook'],
  ['edge-7: deployments.apps is forbidden: User "x" cannot create resource "deployments"', 'rights'],
  ['edge-7: Deployment.apps "a" is invalid: spec.replicas: Invalid value: -1', 'invalid'],
  ['edge-7: etcdserver: request is too large', 'large'],
  ['edge-7: the object takes 614400 bytes, and 512000 are the limit of a ManifestWork: split it', 'large'],
  ['edge-7: something odd', 'other'],
  ['edge-7: an object of this name exists there that the hub does not manage.', 'conflict'],
  ['edge-7 is not ready: it does not answer', 'member'],
  ['edge-7: how the object is cannot be told: webhook a: it did not answer within 3s', 'hook'],
  ['edge-7: how the object is cannot be told: customization w: correct the script', 'script'],
  ['edge-7: how the object is cannot be told: webhook a: it did not answer\ncustomization w: correct the script', 'interpreter'],
  ['The hub cannot propagate it as it is now (GetReplicasFailed): customization w, InterpretReplica of v1 A b/c: line 1: correct the script', 'stuck-script'],
  ['The hub cannot propagate it as it is now (GetComponentsFailed): webhook a, InterpretComponent of v1 A b/c: it did not answer within 3s', 'stuck-hook'],
  ['The hub cannot propagate it as it is now (ApplyPolicyFailed): write claim: configmaps "a" is forbidden: ValidatingAdmissionPolicy \'x\' denied request: no', 'stuck-denied'],
  ['The hub cannot propagate it as it is now (ApplyPolicyFailed): PropagationPolicy a/b waits for OverridePolicy a/c: create it', 'stuck-needs'],
  ['The hub cannot propagate it as it is now (ApplyPolicyFailed): create binding a: etcdserver: no space', 'stuck-other'],
  ['What it needs cannot be sent along now (GetDependenciesFailed): customization w, InterpretDependency of v1 A b/c: line 1: correct the script', 'stuck-script'],
  ['What it needs cannot be sent along now (GetDependenciesFailed): webhook a, InterpretDependency of v1 A b/c: it did not answer within 3s', 'stuck-hook'],
  ['What it needs cannot be sent along now (SyncScheduleResultToDependenciesFailed): send v1 Secret b/c along: etcdserver: no space', 'stuck-other'],
  ['edge-7: the Work cannot be made: override by OverridePolicy a/p, spec.overrideRules[0].overriders.plaintext[0]: cannot remove /x: it is not there: use add', 'stuck-override'],
  ['edge-7: the latest change cannot be sent: set replicas of Deployment a/b: customization w, ReviseReplica of v1 A b/c: line 1: correct the script', 'stuck-script'],
  ['edge-7: the Work cannot be made: create work a/b: etcdserver: request is too large', 'large'],
])('says what to do about %s', (text, key) => {
  expect(remedyOf(en, { text })).toBe(en.remedies[key]);
  expect(remedyOf(zh, { text })).toBe(zh.remedies[key]);
});

it('has nothing to advise where all is well', () => {
  expect(remedyOf(en, { text: 'All clusters have it (3).' })).toBeUndefined();
  expect(remedyOf(en, { text: 'x', code: 'health.unready' })).toBeUndefined();
});

it('has every remedy in both languages', () => expect(Object.keys(zh.remedies)).toEqual(Object.keys(en.remedies)));
