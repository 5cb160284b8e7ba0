import { act, useState } from 'react';
import { describe, expect, it, vi } from 'vitest';
import { click, render, type } from '@/test/render';
import { LabelEditor } from './LabelEditor';
import { TaintEditor } from './TaintEditor';

const saving = { may: true, saving: false, error: undefined, onDiscard: () => undefined };
const input = (place: Element, name: string) => place.querySelector<HTMLInputElement>(`input[aria-label="${name}"]`) as HTMLInputElement;
const button = (place: Element, name: string) => [...place.querySelectorAll('button')].find((one) => one.textContent === name || one.getAttribute('aria-label') === name);
const chips = (place: Element) => [...place.querySelectorAll('li code')].map((chip) => chip.textContent);

describe('LabelEditor', () => {
  it('saves against what was there when the first label was changed, whatever came since', async () => {
    const onSave = vi.fn();
    let later: () => void = () => undefined;
    function Page() {
      const [seen, set] = useState('1');
      later = () => set('2');
      return <LabelEditor {...saving} title="Labels" none="No labels" labels={seen === '1' ? { a: '1' } : { a: '1', b: '2' }} seen={seen} onSave={onSave} />;
    }
    const place = await render(<Page />);
    await type(input(place, 'New label'), 'env=prod');
    await click(button(place, 'Add label'));
    await act(async () => later());
    expect(chips(place)).toEqual(['a=1', 'env=prod']);
    await click(button(place, 'Save'));
    expect(onSave.mock.calls[0]?.slice(0, 2)).toEqual([{ a: '1', env: 'prod' }, '1']);
    await act(async () => (onSave.mock.calls[0]?.[2] as () => void)());
    expect(chips(place)).toEqual(['a=1', 'b=2']);
  });

  it('says how a label is written, and takes none that is not', async () => {
    const place = await render(<LabelEditor {...saving} title="Labels" none="No labels" labels={{}} seen="" onSave={() => undefined} />);
    await type(input(place, 'New label'), 'prod');
    await click(button(place, 'Add label'));
    expect(place.textContent).toContain('Write it as key=value');
    expect(place.textContent).toContain('No labels');
  });

  it('shows who may not change anything the labels and nothing else', async () => {
    const place = await render(<LabelEditor {...saving} may={false} title="Labels" none="" labels={{ a: '1' }} seen="" onSave={() => undefined} />);
    expect(chips(place)).toEqual(['a=1']);
    expect(place.querySelectorAll('button, input')).toHaveLength(0);
  });
});

describe('TaintEditor', () => {
  const blank = { key: '', value: '', effect: 'NoSchedule' };
  const taints = [{ key: 'hub.dev/own', value: '', effect: 'NoSchedule' }, { key: 'gpu', value: 'yes', effect: 'NoSchedule' }];

  it('keeps the hub’s taints, and puts a taint in the place of one that it cannot stand beside', async () => {
    const onSave = vi.fn();
    const place = await render(
      <TaintEditor
        {...saving} title="Taints" none="" taints={taints} effects={['NoSchedule', 'NoExecute']} blank={blank} seen="7"
        byHub={(taint) => taint.key.startsWith('hub.dev/')} same={(a, b) => a.key === b.key} onSave={onSave}
      />,
    );
    expect(button(place, 'Remove taint hub.dev/own:NoSchedule')).toBeUndefined();
    await type(input(place, 'Key'), ' gpu ');
    await type(input(place, 'Value'), 'no');
    await click(button(place, 'Add taint'));
    expect(chips(place)).toEqual(['hub.dev/own:NoSchedule', 'gpu=no:NoSchedule']);
    await click(button(place, 'Save'));
    expect(onSave.mock.calls[0]?.slice(0, 2)).toEqual([[taints[0], { key: 'gpu', value: 'no', effect: 'NoSchedule' }], '7']);
  });
});
