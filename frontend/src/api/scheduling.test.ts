import { expect, it } from 'vitest';
import { leftOut, reasonOf } from '@/api/scheduling';
import { en } from '@/api/scheduling.en';
import { zh } from '@/api/scheduling.zh';

it('says in 中文 why a cluster was left out, with the names in the reason', () => {
  expect(reasonOf(zh, 'not meant by the cluster affinity')).toBe('不在集群亲和性范围内');
  expect(reasonOf(zh, 'the API batch/v1 Job is missing')).toBe('缺少 API batch/v1 Job');
  expect(reasonOf(zh, 'untolerated taint gpu=yes:NoSchedule')).toBe('不容忍污点 gpu=yes:NoSchedule');
  expect(reasonOf(zh, 'something new')).toBe('something new');
  expect(reasonOf(en, 'untolerated taint a')).toBe('untolerated taint a');
});

it('translates what a sentence of the hub takes from the scheduler, and no other parameter', () => {
  const said = { text: '…', params: { filter: 'ClusterAffinity', reason: 'not meant by the cluster affinity', count: '2' } };
  expect(leftOut(zh, said).params).toEqual({ filter: '策略没有选择它', reason: '不在集群亲和性范围内', count: '2' });
  expect(leftOut(zh, { params: { reason: 'NoClusterFit', message: '0/3 clusters are available: 2 not meant by the cluster affinity, 1 untolerated taint a:NoExecute.' } }).params)
    .toEqual({ reason: 'NoClusterFit', message: '3 个集群中有 0 个可用：2 个不在集群亲和性范围内，1 个不容忍污点 a:NoExecute。' });
  expect(leftOut(zh, { params: { message: 'cluster edge-7 went away' } }).params).toEqual({ message: 'cluster edge-7 went away' });
  expect(leftOut(zh, { params: { reason: 'x' } }).params).toEqual({ reason: 'x' });
});
