/** What makes CodeMirror an editor of YAML manifests; what completes and explains is added by whoever knows the kind. */
import { closeBrackets, closeBracketsKeymap, closeCompletion, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, historyKeymap } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { bracketMatching, indentUnit } from '@codemirror/language';
import { lintGutter, lintKeymap } from '@codemirror/lint';
import type { Extension } from '@codemirror/state';
import { drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers } from '@codemirror/view';
import { getNonce } from 'get-nonce';
import { newline } from './indent';
import { look } from './look';

/**
 * Who leaves the editor is done with what it offers. CodeMirror closes a list that is open; one that was still being put together would open
 * after the focus has gone, and stay.
 */
const leaves = EditorView.domEventHandlers({
  blur: (_event, view) => {
    // Where the focus went is known when the event is over.
    setTimeout(() => { if (!view.dom.contains(document.activeElement)) closeCompletion(view); });
  },
});

/** Tab leaves the editor, as it leaves every field: Enter keeps the indentation, and completion indents by itself. */
export function yamlExtensions(label: string): Extension {
  return [
    EditorView.cspNonce.of(getNonce() ?? ''),
    EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0', spellcheck: 'false', autocorrect: 'off', autocapitalize: 'off' }),
    lineNumbers(), lintGutter(), highlightActiveLine(), highlightActiveLineGutter(), drawSelection(), bracketMatching(), closeBrackets(), leaves,
    indentUnit.of('  '),
    yaml(), look,
    keymap.of([{ key: 'Enter', run: newline }, ...closeBracketsKeymap, ...completionKeymap, ...lintKeymap, ...historyKeymap, ...defaultKeymap]),
  ];
}
