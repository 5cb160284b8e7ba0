/** The lines that belong to the field at hand, lit in the editor. */
import { type Extension, StateEffect, StateField } from '@codemirror/state';
import { Decoration, type DecorationSet, EditorView } from '@codemirror/view';

export const light = StateEffect.define<{ from: number; to: number } | null>({
  map: (range, changes) => range && { from: changes.mapPos(range.from), to: changes.mapPos(range.to, 1) },
});

const line = Decoration.line({ class: 'cm-lit' });

export const lights: Extension = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update: (held, transaction) => {
    let next = held.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (!effect.is(light)) continue;
      if (!effect.value) {
        next = Decoration.none;
        continue;
      }
      const { doc } = transaction.state;
      const first = doc.lineAt(Math.min(effect.value.from, doc.length)).number;
      const last = doc.lineAt(Math.min(effect.value.to, doc.length)).number;
      next = Decoration.set(Array.from({ length: last - first + 1 }, (_, index) => line.range(doc.line(first + index).from)));
    }
    return next;
  },
  provide: (field) => EditorView.decorations.from(field),
});
