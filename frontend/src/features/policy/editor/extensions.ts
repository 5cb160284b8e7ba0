/** What makes CodeMirror the YAML side of the editor. */
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, historyKeymap } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { bracketMatching, indentUnit } from '@codemirror/language';
import { lintGutter, lintKeymap } from '@codemirror/lint';
import type { Extension } from '@codemirror/state';
import { drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, hoverTooltip, keymap, lineNumbers } from '@codemirror/view';
import { getNonce } from 'get-nonce';
import { completer, hover, type Knowledge } from './completion';
import { newline } from './indent';
import { look } from './look';

/** Tab leaves the editor, as it leaves every field: Enter keeps the indentation, and completion indents by itself. */
export function extensions(known: Knowledge, label: string): Extension {
  return [
    EditorView.cspNonce.of(getNonce() ?? ''),
    EditorView.contentAttributes.of({ 'aria-label': label, spellcheck: 'false', autocorrect: 'off', autocapitalize: 'off' }),
    lineNumbers(), lintGutter(), highlightActiveLine(), highlightActiveLineGutter(), drawSelection(), bracketMatching(), closeBrackets(),
    indentUnit.of('  '),
    yaml(), look,
    autocompletion({ override: [completer(known)], icons: false }),
    hoverTooltip(hover(known)),
    keymap.of([{ key: 'Enter', run: newline }, ...closeBracketsKeymap, ...completionKeymap, ...lintKeymap, ...historyKeymap, ...defaultKeymap]),
  ];
}
