/**
 * The one document behind form and YAML. It is CodeMirror's state: the editor's keys and the form's fields both become
 * transactions of it, so that both share one history. Whoever shows it watches it.
 */
import { history, isolateHistory, redo, redoDepth, undo, undoDepth } from '@codemirror/commands';
import { EditorState, type Extension, type Transaction, type TransactionSpec } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { changeBetween } from './change';
import { parse, type Parsed, rangeOf } from './parse';
import { type Path, samePath } from './path';
import { reconcile } from './reconcile';
import { valueAt } from './value';
import { light, lights } from './marks';

/** What a watcher sees. A new snapshot is made whenever something in it changes. */
export interface Snapshot {
  text: string;
  parsed: Parsed;
  /** The last text that could be read as one document; the form shows it while the text cannot. */
  sound: Parsed;
  canUndo: boolean;
  canRedo: boolean;
}

export class Draft {
  private state: EditorState;
  private snapshot: Snapshot;
  private watchers = new Set<() => void>();
  /** Where the form made the last change, if it was the form that made it. */
  private field: Path | undefined;
  private focus: (() => void) | undefined;
  private view: ((transaction: Transaction) => void) | undefined;

  constructor(text: string, extensions: Extension = []) {
    this.state = EditorState.create({ doc: text, extensions: [history(), EditorState.lineSeparator.of('\n'), lights, extensions] });
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
  show(view: (transaction: Transaction) => void, focus: () => void): () => void {
    this.view = view;
    this.focus = focus;
    return () => {
      if (this.view !== view) return;
      this.view = undefined;
      this.focus = undefined;
    };
  }

  dispatch = (transaction: Transaction): void => {
    this.state = transaction.state;
    if (transaction.docChanged) this.field = undefined;
    this.view?.(transaction);
    if (!transaction.docChanged) return;
    const { sound } = this.snapshot;
    const parsed = parse(this.state.doc.toString());
    this.snapshot = {
      text: parsed.text,
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
    this.setAll([[path, value]]);
  }

  /** Several values in one step of the history; the first path is the field that they come from. */
  setAll(values: readonly (readonly [path: Path, value: unknown])[]): void {
    const { parsed } = this.snapshot;
    const path = values[0]?.[0];
    if (parsed.faults.length > 0 || !path) return;
    const change = changeBetween(parsed.text, values.reduce((text, [at, value]) => reconcile(text, at, value), parsed.text));
    if (!change) return;
    // One word typed into one field is one step of the history, as it is in the editor; another field is another step.
    const goesOn = this.field !== undefined && samePath(this.field, path);
    // No user event: what is typed into the form is nothing that the editor should complete.
    this.change({ changes: change, annotations: goesOn ? [] : [isolateHistory.of('before')] });
    this.field = path;
    this.lightUp(path);
  }

  /** Takes the path away, and with it the parents that would be left empty, up to the section of the document or a list's item. */
  clear(path: Path): void {
    const { value } = this.snapshot.parsed;
    let gone = path;
    for (let above = path.slice(0, -1); above.length > 1 && typeof above.at(-1) === 'string'; above = above.slice(0, -1)) {
      const held = valueAt(value, above);
      if (held === undefined || Object.keys(held as object).length > 1) break;
      gone = above;
    }
    this.set(gone, undefined);
  }

  /** Replaces the whole text in one step, as a merge does. */
  replace(text: string): void {
    const change = changeBetween(this.snapshot.text, text.replaceAll('\r\n', '\n'));
    if (change) this.change({ changes: change, annotations: isolateHistory.of('full'), userEvent: 'input.replace' });
  }

  /** Lights the lines of a path and brings them into sight; where the path is not written, those of its nearest parent. */
  lightUp(path: Path | undefined): void {
    const { parsed } = this.snapshot;
    const range = path && path.length > 0 ? rangeOf(parsed, path) : undefined;
    const lit = range && range.to > range.from ? { from: range.from, to: range.exact ? range.to : range.from } : null;
    this.change({ effects: lit ? [light.of(lit), EditorView.scrollIntoView(lit.from, { y: 'nearest', yMargin: 40 })] : light.of(null) });
  }

  /** Puts the cursor there. */
  goTo(offset: number): void {
    this.change({ selection: { anchor: Math.min(offset, this.state.doc.length) }, effects: EditorView.scrollIntoView(Math.min(offset, this.state.doc.length), { y: 'center' }) });
    this.focus?.();
  }

  undo = (): void => { undo({ state: this.state, dispatch: this.dispatch }); };
  redo = (): void => { redo({ state: this.state, dispatch: this.dispatch }); };
}
