/** A component without its styles looks right only on pages where another one happened to bring them. */
import { expect, it } from 'vitest';

const sources = import.meta.glob<string>('/src/**/*.tsx', { eager: true, query: '?raw', import: 'default' });

/** What app/mantine.css.ts brings along for every page, or has no look of its own. */
const everywhere = ['ActionIcon', 'Button', 'Input', 'MantineProvider', 'PasswordInput', 'Textarea', 'TextInput', 'UnstyledButton'];

const needs: Record<string, readonly string[]> = {
  Autocomplete: ['Combobox', 'Popover', 'ScrollArea'],
  Checkbox: ['Checkbox', 'InlineInput'],
  Drawer: ['ModalBase', 'Overlay', 'Paper'],
  Menu: ['Menu', 'Popover'],
  Modal: ['Modal', 'ModalBase', 'Overlay', 'Paper'],
  NativeSelect: ['Combobox'],
  NumberInput: ['NumberInput'],
  TagsInput: ['Combobox', 'Pill', 'PillsInput', 'Popover', 'ScrollArea'],
  Tooltip: ['Tooltip'],
};

it.each(Object.entries(sources).filter(([path, text]) => !path.includes('.test.') && text.includes("from '@mantine/core'")))('%s imports the styles of what it shows', (_, text) => {
  const names = [...text.matchAll(/import \{([^}]*)\} from '@mantine\/core'/g)].flatMap(([, list = '']) => list.split(',').map((name) => name.trim())).filter((name) => /^[A-Z]/.test(name));
  const lacking = names.filter((name) => !everywhere.includes(name)).flatMap((name) => (needs[name] ?? [`(add ${name} to this test)`]).filter((style) => !text.includes(`import '@mantine/core/styles/${style}.layer.css'`)));
  expect(lacking).toEqual([]);
});
