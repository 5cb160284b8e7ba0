import '@mantine/core/styles/Combobox.layer.css';
import { NativeSelect } from '@mantine/core';
import { useWords } from '@/shared/hooks/useWords';
import type { Path } from '@/shared/yaml/path';
import { isObject, valueAt } from '@/shared/yaml/value';
import { Item } from './Block';
import { useForm } from './context';
import { overriderOf, sorts, type Sort } from './overriders';
import { OverriderFields } from './OverriderFields';
import { formWords } from './words';

/** What one rule changes: entries of seven sorts, in the order in which they are applied. */
export function OverriderList({ path, rule }: { path: Path; rule: number }) {
  const words = useWords(formWords);
  const { draft, value, disabled } = useForm();
  const held = valueAt(value, path);
  const lists = isObject(held) ? held : {};
  const listOf = (sort: Sort): unknown[] => (Array.isArray(lists[sort]) ? lists[sort] : []);
  const remove = (sort: Sort, index: number) => {
    const list = listOf(sort);
    // The rule needs its overriders, be they empty.
    draft.set([...path, sort], list.length > 1 ? list.toSpliced(index, 1) : undefined);
  };
  return (
    <>
      {sorts.flatMap((sort) => listOf(sort).map((_, index) => (
        <Item key={`${sort}-${index}`} path={[...path, sort, index]} title={words.sorts[sort]} remove={words.removeChange(words.sorts[sort], index + 1)} onRemove={() => remove(sort, index)}>
          <OverriderFields sort={sort} path={[...path, sort, index]} />
        </Item>
      )))}
      <NativeSelect
        aria-label={words.addTo(rule)} disabled={disabled} value=""
        onChange={(event) => { const sort = sorts.find((one) => one === event.target.value); if (sort) draft.set([...path, sort], [...listOf(sort), overriderOf(sort)]); }}
        data={[{ value: '', label: words.add }, ...sorts.map((sort) => ({ value: sort, label: words.sorts[sort] }))]}
      />
    </>
  );
}
