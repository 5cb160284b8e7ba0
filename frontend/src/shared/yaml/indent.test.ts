import { EditorState } from '@codemirror/state';
import { expect, it } from 'vitest';
import { indentAfter, newline } from './indent';

it.each([
  ['', 0], ['spec:', 2], ['  placement:  # where', 4], ['      - cluster2 # far', 6], ['  - apiVersion: apps/v1', 4], ['    kind: Deployment', 4], ['  - targetCluster:', 6], ['  text: |', 4],
  ['# a comment: here', 0], ['  "quoted key":', 4], ['  - - nested', 2], ['  flow: {a: 1}', 2], ['  - https://example.com', 2],
])('%j is followed by %i blanks', (before, blanks) => {
  expect(indentAfter(before)).toBe(blanks);
});

it('breaks a line where the cursor stands', () => {
  let state = EditorState.create({ doc: 'spec:\n  a: 1 b', selection: { anchor: 12 } });
  newline({ state, dispatch: (transaction) => { state = transaction.state; } });
  expect(state.doc.toString()).toBe('spec:\n  a: 1\n   b');
});
