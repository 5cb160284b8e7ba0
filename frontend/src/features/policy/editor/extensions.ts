/** What makes CodeMirror the YAML side of the editor of policies. */
import { autocompletion } from '@codemirror/autocomplete';
import type { Extension } from '@codemirror/state';
import { hoverTooltip } from '@codemirror/view';
import { yamlExtensions } from '@/shared/yaml/extensions';
import { completer, hover, type Knowledge } from './completion';

export function extensions(known: Knowledge, label: string): Extension {
  return [autocompletion({ override: [completer(known)], icons: false }), hoverTooltip(hover(known), { hideOnChange: true }), yamlExtensions(label)];
}
