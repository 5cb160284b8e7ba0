import { expect, it } from 'vitest';
import { click, render } from '@/test/render';
import { diff } from './diff';
import { DiffView } from './DiffView';
import type { OverrideChange } from './types';

const far = Array.from({ length: 10 }, (_, i) => `key${i}: 1`).join('\n');
const image: OverrideChange = { path: '/image', line: 11, rule: 0, overrider: 'imageOverrider', policy: { kind: 'OverridePolicy', resource: 'overridepolicies', namespace: 'shop', name: 'tags' } };
const replicas: OverrideChange = { path: '/replicas', line: 12, rule: 0, overrider: 'replicas', policy: { kind: 'ClusterPropagationPolicy', resource: 'clusterpropagationpolicies', name: 'spread' } };
const lines = diff({ yaml: `${far}\nimage: a\nreplicas: 4\n`, changes: [] }, { yaml: `${far}\nimage: b\nreplicas: 1\nnew: x\n`, changes: [image, replicas] });

it('names on every changed line the rule, with the way to its policy', async () => {
  const place = await render(<DiffView label="Changes" lines={lines} />);
  const changed = [...place.querySelectorAll('[data-op]:not([data-op="same"])')];
  expect(changed.map((line) => [line.getAttribute('data-op'), line.querySelector('a')?.getAttribute('href'), line.lastElementChild?.textContent?.trim()])).toEqual([
    ['del', '/policies/overridepolicies/shop/tags', 'shop/tags · rule 1 imageOverrider'],
    ['del', '/policies/clusterpropagationpolicies/-/spread', 'spread replicas by scheduling'],
    ['add', '/policies/overridepolicies/shop/tags', 'shop/tags · rule 1 imageOverrider'],
    ['add', '/policies/clusterpropagationpolicies/-/spread', 'spread replicas by scheduling'],
    ['add', undefined, 'no override'],
  ]);
  expect(changed[0]?.textContent).toContain('removed: image: a');
});

it('unfolds what is far from any change', async () => {
  const place = await render(<DiffView label="Changes" lines={lines} />);
  expect(place.textContent).not.toContain('key0');
  await click(place.querySelector('button'));
  expect(place.textContent).toContain('key0: 1');
  expect(place.querySelector('button')).toBeNull();
});
