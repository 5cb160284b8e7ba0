/**
 * The one document behind form and YAML. It is CodeMirror's state: the editor's keys and the form's fields both become
 * transactions of it, so that both share one history. Whoever shows it watches it.
 */
import { history, isolateHistory, redo, redoDepth, undo, undoDepth } from '@codemirror/commands';
import { Annotation, EditorState, type Extension, type Transaction, type TransactionSpec } from '@codemirror/state';
import { changeBetween } from '../document/change';
import { parse, type Parsed } from '../document/parse';
import { type Path, samePath } from '../document/path';
import { reconcile } from '../document/reconcile';

/** What a watcher sees. A new snapshot is made whenever something in it changes. */
export interface Snapshot {
  text: string;
  parsed: Parsed;
  /** The last text that could be read as one document; the form shows it while the text cannot. */
  sound: Parsed;
  canUndo: boolean;
  canRedo: boolean;
}

/** Marks transactions that the form made, of which the editor shows the place. */
export const fromForm = Annotation.define<Path>();

export class Draft {
  private state: EditorState;
  private snapshot: Snapshot;
  private watchers = new Set<() => void>();
  /** Where the form made the last change, if it was the form that made it. */
  private field: Path | undefined;
  private view: ((transaction: Transaction) => void) | undefined;

  constructor(text: string, extensions: Extension = []) {
    this.state = EditorState.create({ doc: text, extensions: [history(), EditorState.lineSeparator.of('\n'), extensions] });
    const parsed = parse(this.state.doc.toString());
    this.snapshot = { text: parsed.text, parsed, sound: parsed, canUndo: false, canRedo: false };
  }

  watch = (watcher: () => void): (() => void) => {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  };

  get = (): Snapshot => this.snapshot;

  getState(): EditorState {
    return this.state;
  }

  /** The editor that shows the state; it is told of every transaction. */
  show(view: (transaction: Transaction) => void): () => void {
    this.view = view;
    return () => { if (this.view === view) this.view = undefined; };
  }

  dispatch = (transaction: Transaction): void => {
    this.state = transaction.state;
    if (transaction.docChanged) this.field = undefined;
    this.view?.(transaction);
    if (!transaction.docChanged && !transaction.reconfigured) return;
    const { text, parsed: before, sound } = this.snapshot;
    const parsed = transaction.docChanged ? parse(this.state.doc.toString()) : before;
    this.snapshot = {
      text: transaction.docChanged ? parsed.text : text,
      parsed,
      sound: parsed.faults.length === 0 ? parsed : sound,
      canUndo: undoDepth(this.state) > 0,
      canRedo: redoDepth(this.state) > 0,
    };
    this.watchers.forEach((watcher) => watcher());
  };

  change(spec: TransactionSpec): void {
    this.dispatch(this.state.update(spec));
  }

  /** Makes the document say the value at the path; undefined takes the path away. Nothing happens to a text with faults. */
  set(path: Path, value: unknown): void {
    const { parsed } = this.snapshot;
    if (parsed.faults.length > 0) return;
    const change = changeBetween(parsed.text, reconcile(parsed.text, path, value));
    if (!change) return;
    // One word typed into one field is one step of the history, as it is in the editor; another field is another step.
    const goesOn = this.field !== undefined && samePath(this.field, path);
    this.change({ changes: change, annotations: [fromForm.of(path), ...(goesOn ? [] : [isolateHistory.of('before')])], userEvent: 'input.type.form' });
    this.field = path;
  }

  /** Replaces the whole text in one step, as a merge does. */
  replace(text: string): void {
    const change = changeBetween(this.snapshot.text, text.replaceAll('\r\n', '\n'));
    if (change) this.change({ changes: change, annotations: isolateHistory.of('full'), userEvent: 'input.replace' });
  }

  undo = (): void => { undo({ state: this.state, dispatch: this.dispatch }); };
  redo = (): void => { redo({ state: this.state, dispatch: this.dispatch }); };
}
