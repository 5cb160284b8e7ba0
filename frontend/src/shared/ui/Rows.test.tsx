import { expect, it, vi } from 'vitest';
import { click, render } from '@/test/render';
import { type Column, Rows } from './Rows';

interface Row { name: string; well: boolean }
const columns: Column<Row>[] = [
  { key: 'name', label: 'Name', hint: 'As it was given', sortable: true, card: 'title', cell: (row) => row.name },
  { key: 'age', label: 'Age', hint: 'Since it joined', cell: () => '2d' },
];
const rows = [{ name: 'a', well: true }, { name: 'b', well: false }];
const show = (onSort?: (sort: string) => void) => render(
  <Rows caption="Things" columns={columns} rows={rows} rowKey={(row) => row.name} note={(row) => (row.well ? null : 'because')} sort="name" onSort={onSort} />,
);

it('opens the reason under rows that are not well, without a click', async () => {
  const place = await show();
  const lines = [...place.querySelectorAll('tbody tr')].map((line) => line.textContent);
  expect(lines).toEqual(['a2d', 'b2d', 'because']);
});

it('turns the order round, and says which it is', async () => {
  const onSort = vi.fn();
  const place = await show(onSort);
  const head = place.querySelector('th');
  expect(head?.getAttribute('aria-sort')).toBe('ascending');
  expect(head?.querySelector('button')?.title).toMatch(/^As it was given\. .*Name/);
  expect(head?.nextElementSibling?.getAttribute('title')).toBe('Since it joined');
  await click(head?.querySelector('button'));
  expect(onSort).toHaveBeenCalledWith('-name');
});

it.each([[300, 200, '0'], [200, 200, null]])('lets the keyboard scroll a table of %i px in a place of %i px', async (content, room, tabIndex) => {
  vi.stubGlobal('ResizeObserver', class {
    constructor(private readonly told: () => void) {}
    observe() { this.told(); }
    disconnect() { /* nothing is kept */ }
  });
  vi.spyOn(HTMLElement.prototype, 'scrollWidth', 'get').mockReturnValue(content);
  vi.spyOn(HTMLElement.prototype, 'clientWidth', 'get').mockReturnValue(room);
  const place = await show();
  expect(place.querySelector('table')?.parentElement?.getAttribute('tabindex')).toBe(tabIndex);
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

it('shows a dash where there is nothing to say, and marks the names that may be long', async () => {
  const place = await render(<Rows caption="Things" columns={[{ key: 'name', label: 'Name', breaks: true, cell: (row: Row) => row.name }, { key: 'region', label: 'Region', cell: () => null }]} rows={rows.slice(0, 1)} rowKey={(row) => row.name} />);
  const cells = [...place.querySelectorAll('td')];
  expect(cells.map((cell) => cell.textContent)).toEqual(['a', '–']);
  expect(cells.map((cell) => cell.hasAttribute('data-breaks'))).toEqual([true, false]);
});
