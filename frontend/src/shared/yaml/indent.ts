/** Enter as one writes manifests: the next key stands below this one, what a key holds is two deeper, items stand below items. */
import { EditorSelection, type StateCommand } from '@codemirror/state';

/** How far the line after this one is indented; `before` is the line up to the cursor. */
export function indentAfter(before: string): number {
  const [, blanks = '', dashes = '', content = ''] = /^( *)((?:- +)*)(.*)$/.exec(before) ?? [];
  const bare = content.replace(/(^|\s)#.*$/, '').trimEnd();
  const column = blanks.length + dashes.length;
  if (/:$/.test(bare) || /:\s+[|>][+-]?\d?$/.test(bare)) return column + 2;
  return /^("[^"]*"|'[^']*'|[^\s"'{[][^:]*):(\s|$)/.test(bare) ? column : blanks.length;
}

export const newline: StateCommand = ({ state, dispatch }) => {
  if (state.readOnly) return false;
  const changes = state.changeByRange(({ from, to }) => {
    const line = state.doc.lineAt(from);
    const insert = `\n${' '.repeat(indentAfter(line.text.slice(0, from - line.from)))}`;
    return { changes: { from, to, insert }, range: EditorSelection.cursor(from + insert.length) };
  });
  dispatch(state.update(changes, { scrollIntoView: true, userEvent: 'input' }));
  return true;
};
