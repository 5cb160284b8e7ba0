import { expect, it } from 'vitest';
import { sayer } from '@/api/said';
import { zh } from '@/api/said.chinese';

const say = sayer(zh);
const holes = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map((match) => match[1]).sort();

it('has the same values in both languages', () => {
  for (const [english, chinese] of Object.entries(zh)) expect(holes(chinese).filter((hole) => !holes(english).includes(hole)), english).toEqual([]);
});

it('says sentences with the values in them, and those that stand in one another', () => {
  expect(say('there is no cluster edge-7')).toBe('没有集群 edge-7');
  expect(say('cluster lyon: the member holds what the Work says')).toBe('集群 lyon：成员集群中的对象与 Work 一致');
  expect(say('the agent has to take the objects of 2 works out of the member: a, b')).toBe('代理需要先把 2 个 Work 的对象从成员集群中移除：a, b');
  expect(say('something unheard of')).toBeUndefined();
  expect(say('There is no bootstrap secret agent/bootstrap\nThe agent has no credentials yet: there is no hub kubeconfig secret agent/hub')).toBe('没有引导 Secret agent/bootstrap\n代理还没有凭据：没有中心 kubeconfig 的 Secret agent/hub');
  expect(say('The managed cluster cannot be reached (no answer in time); its clean-up is given up at 2026-11-23T10:00:00Z. Then stay there: namespace agents')).toBe(
    '无法访问受管集群（没有及时应答）；将于 2026-11-23T10:00:00Z 放弃清理，届时以下内容会留在那里：namespace agents',
  );
  expect(sayer({})('there is no cluster edge-7')).toBeUndefined();
});
