import { expect, it, vi } from 'vitest';
import { render } from '@/test/render';
import { type Column, Rows } from './Rows';

vi.mock('@/shared/hooks/useNarrow', () => ({ useNarrow: () => true }));

interface Row { name: string; region: string; nodes: number }
const columns: Column<Row>[] = [
  { key: 'name', label: 'Name', card: 'title', cell: (row) => row.name },
  { key: 'region', label: 'Region', cell: (row) => row.region || null },
  { key: 'nodes', label: 'Nodes', cell: (row) => row.nodes },
];

it('leaves out the lines of a card that say nothing, and keeps a zero', async () => {
  const place = await render(<Rows caption="Things" columns={columns} rows={[{ name: 'a', region: '', nodes: 0 }, { name: 'b', region: 'eu', nodes: 2 }]} rowKey={(row) => row.name} />);
  const cards = [...place.querySelectorAll('li')].map((card) => [...card.querySelectorAll('dl > div')].map((line) => line.textContent));
  expect(cards).toEqual([['Nodes0'], ['Regioneu', 'Nodes2']]);
});
