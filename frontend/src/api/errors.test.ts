import { describe, expect, it } from 'vitest';
import { ApiError } from '@/api/client';
import { explainError, explainFailure } from '@/api/errors';
import { en } from '@/api/errors.en';
import { zh } from '@/api/errors.zh';
import { sayer } from '@/api/said';
import { zh as said } from '@/api/said.chinese';

const english = { language: 'en' as const, say: sayer({}) };
const chinese = { language: 'zh' as const, say: sayer(said) };

const registrationCodes = [...Array.from({ length: 13 }, (_, i) => `MU-${101 + i}`), ...Array.from({ length: 13 }, (_, i) => `MU-${201 + i}`)];

describe('wording of errors', () => {
  it.each(registrationCodes)('has a cause and a fix for %s in both languages', (code) => {
    for (const words of [en, zh]) {
      expect(words.byCode[code]?.what).toBeTruthy();
      expect(words.byCode[code]?.fix).toBeTruthy();
    }
    expect(zh.byCode[code]?.what).toMatch(/\p{Script=Han}/u);
  });

  it('prefers the hub’s own sentence in English and ours in 中文', () => {
    const error = new ApiError(409, { code: 'MU-106', detail: 'This cluster is registered as edge-7.', fix: 'Use edge-7.' });
    expect(explainError(en, english, error)).toEqual({ what: en.byCode['MU-106']?.what, why: 'This cluster is registered as edge-7.', fix: 'Use edge-7.', code: 'MU-106', requestId: undefined });
    expect(explainError(zh, chinese, error)).toMatchObject({ what: zh.byCode['MU-106']?.what, why: zh.byCode['MU-106']?.why });
  });

  it('keeps the hub’s sentence where there is no wording of ours, in either language', () => {
    const error = new ApiError(400, { code: 'invalid', detail: 'something unheard of', fields: [{ field: 'limit', message: 'out of range' }] });
    expect(explainError(zh, chinese, error)).toMatchObject({ what: zh.byStatus[400]?.what, why: 'something unheard of', code: undefined });
  });

  it('says the hub’s exact sentence in 中文 where it is known', () => {
    const error = new ApiError(404, { code: 'not-found', detail: 'there is no cluster edge-7', fix: 'try again in a moment' });
    expect(explainError(zh, chinese, error)).toMatchObject({ why: '没有集群 edge-7', fix: '请稍后重试' });
    expect(explainError(zh, chinese, new ApiError(400, { fields: [{ field: 'limit', message: 'out of range' }] })).why).toBe('limit: 超出范围');
  });

  it('names the refused fields when nothing else says what is wrong', () => {
    expect(explainError(en, english, new ApiError(400, { fields: [{ field: 'limit', message: 'out of range' }] })).why).toBe('limit: out of range');
  });

  it('shows the request id of what broke in the hub, and of nothing else', () => {
    expect(explainError(en, english, new ApiError(500, { code: 'internal', requestId: 'r1' })).requestId).toBe('r1');
    expect(explainError(en, english, new ApiError(404, { code: 'not-found', requestId: 'r1' })).requestId).toBeUndefined();
  });

  it('words a hub that does not answer', () => {
    expect(explainError(zh, chinese, new ApiError(0, {}))).toBe(zh.offline);
  });

  it('words a failed stage, known or not', () => {
    expect(explainFailure(en, english, { code: 'MU-103', cause: 'The token expired at 13:58.' })).toMatchObject({ code: 'MU-103', what: 'The token has expired', why: 'The token expired at 13:58.', fix: en.byCode['MU-103']?.fix });
    expect(explainFailure(zh, chinese, { code: 'MU-999', cause: 'Something new.', fix: 'Look.' })).toEqual({ code: 'MU-999', what: 'Something new.', why: undefined, fix: 'Look.' });
  });
});

it('says of a proxy’s answer that the hub gave none', () => {
  expect(explainError(en, english, new ApiError(502, { title: 'Bad Gateway' })).what).toBe('The hub does not answer');
});
