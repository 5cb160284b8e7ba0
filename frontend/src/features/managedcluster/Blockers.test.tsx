import { expect, it } from 'vitest';
import { render } from '@/test/render';
import { Blockers, explainBlocker } from './Blockers';
import { en } from './words.en';
import { zh } from './words.zh';

const held = (code: 'agent' | 'works' | 'finalizer', names: string[]) => ({ code, names, what: `hub: ${code}`, why: 'hub: why', fix: 'hub: fix' });

it.each(['agent', 'works', 'finalizer'] as const)('words what holds a removal in both languages: %s', (code) => {
  for (const words of [en, zh]) {
    const told = explainBlocker(words, 'edge', held(code, ['web', 'api']));
    expect(`${told.what} ${told.why ?? ''}`).toContain('web, api');
    expect(told.fix).toContain('edge');
    expect(`${told.what}${told.why ?? ''}${told.fix ?? ''}`).not.toContain('hub:');
  }
  expect(explainBlocker(zh, 'edge', held(code, ['web'])).fix).toMatch(/\p{Script=Han}/u);
});

it('tells a code that it does not know in the hub’s words', async () => {
  const place = await render(<Blockers cluster="edge" blockers={[{ ...held('works', ['web']), code: 'moon' as 'works' }]} />);
  expect(place.textContent).toContain('hub: works');
});
