/** CodeMirror in the dashboard's colours: all of them are variables, so that light and dark need no second theme. */
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import type { Extension } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { tags } from '@lezer/highlight';

const style = HighlightStyle.define([
  { tag: tags.definition(tags.propertyName), color: 'var(--accent)' },
  { tag: tags.propertyName, color: 'var(--accent)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--ok)' },
  { tag: tags.comment, color: 'var(--dim)', fontStyle: 'italic' },
  { tag: [tags.number, tags.bool, tags.keyword, tags.null], color: 'var(--warn)' },
  { tag: [tags.punctuation, tags.separator, tags.squareBracket, tags.brace], color: 'var(--dim)' },
  { tag: tags.invalid, color: 'var(--bad)' },
]);

const theme = EditorView.theme({
  '&': { height: '100%', fontSize: '13px', backgroundColor: 'var(--page)', color: 'var(--text)' },
  // Above the gutter and the line in use, which would hide an outline.
  '&.cm-focused': { outline: 'none' },
  '&.cm-focused::after': { content: '""', position: 'absolute', inset: '0', zIndex: '250', border: '2px solid var(--accent)', pointerEvents: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mantine-font-family-monospace)', lineHeight: '20px', overflow: 'auto' },
  '.cm-content': { padding: '8px 0', caretColor: 'var(--text)' },
  '.cm-line': { padding: '0 12px 0 8px' },
  '.cm-gutters': { backgroundColor: 'var(--page)', color: 'var(--dim)', border: 'none', fontSize: '12px' },
  '.cm-lineNumbers .cm-gutterElement': { padding: '0 4px 0 8px', minWidth: '28px' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--sunk)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': { backgroundColor: 'color-mix(in srgb, var(--accent) 25%, transparent) !important' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-lit': { backgroundColor: 'var(--pick)', boxShadow: 'inset 2px 0 var(--accent)' },
  '.cm-tooltip': { border: '1px solid var(--line)', borderRadius: '6px', backgroundColor: 'var(--page)', color: 'var(--text)', boxShadow: '0 4px 16px rgb(0 0 0 / 16%)', overflow: 'hidden' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mantine-font-family-monospace)', maxHeight: '220px' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '2px 8px', lineHeight: '20px' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { backgroundColor: 'var(--pick)', color: 'var(--text)' },
  '.cm-completionDetail': { color: 'var(--dim)', fontStyle: 'normal' },
  '.cm-completionInfo': { maxWidth: '320px', padding: '8px 12px', whiteSpace: 'pre-wrap', fontSize: '12px', lineHeight: '16px' },
  '.cm-card': { maxWidth: '400px', maxHeight: '240px', overflow: 'auto', padding: '8px 12px', fontSize: '12px', lineHeight: '16px' },
  '.cm-card p': { margin: '4px 0 0', whiteSpace: 'pre-wrap' },
  '.cm-card-head': { fontFamily: 'var(--mantine-font-family-monospace)', color: 'var(--dim)', overflowWrap: 'anywhere' },
  '.cm-diagnostic': { padding: '4px 12px', fontSize: '12px', lineHeight: '16px', maxWidth: '400px' },
  '.cm-diagnostic-error': { borderLeft: '3px solid var(--bad)' },
  '.cm-diagnostic-warning': { borderLeft: '3px solid var(--warn)' },
  '.cm-lintRange-error': { backgroundImage: 'none', textDecoration: 'underline wavy var(--bad)', textUnderlineOffset: '3px' },
  '.cm-lintRange-warning': { backgroundImage: 'none', textDecoration: 'underline wavy var(--warn)', textUnderlineOffset: '3px' },
});

export const look: Extension = [theme, syntaxHighlighting(style)];
