/**
 * The one document behind form and YAML. It is CodeMirror's state: the editor's keys and the form's fields both become
 * transactions of it, so that both share one history. Whoever shows it watches it.
 */
import { history, isolateHistory, redo, redoDepth, undo, undoDepth } from '@codemirror/commands';
import { Annotation, EditorState, type Extension, type Transaction, type TransactionSpec } from '@codemirror/state';
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

/** Marks the changes that fields of the form make. */
const byForm = Annotation.define<boolean>();

/** Who has typed nothing for so long, in milliseconds, begins something new. */
const thought = 2_000;

/** How long a step of the history may take to type; the editor wants some end of it. */
const longest = 3_600_000;

export class Draft {
  private state: EditorState;
  private snapshot: Snapshot;
  private watchers = new Set<() => void>();
  /** Where the form made the last change, if it was the form that made it. */
  private field: Path | undefined;
  /** When the document changed last. */
  private changedAt = 0;
  private focus: (() => void) | undefined;
  private view: ((transaction: Transaction) => void) | undefined;

  constructor(text: string, extensions: Extension = []) {
    this.state = EditorState.create({ doc: text, extensions: [history({ newGroupDelay: longest, joinToEvent: (next, adjacent) => this.goesOn(next, adjacent) }), EditorState.lineSeparator.of('\n'), lights, extensions] });
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
    if (transaction.docChanged) {
      this.field = undefined;
      this.changedAt = Date.now();
    }
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

  /**
   * Whether a change belongs to the step of the history before it. What is typed into one field is one step, however long
   * that takes; in the text a step ends with the line, at another place, and where one stops to think.
   */
  private goesOn(next: Transaction, adjacent: boolean): boolean {
    if (next.annotation(byForm)) return true; // set() has parted the fields from each other
    if (this.field) return false; // the form made the step before
    let newline = false;
    next.changes.iterChanges((_from, _to, _at, _end, inserted) => { newline ||= inserted.lines > 1; });
    return adjacent && !newline && Date.now() - this.changedAt < thought;
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
    this.change({ changes: change, annotations: goesOn ? [byForm.of(true)] : [byForm.of(true), isolateHistory.of('before')] });
    this.field = path;
    this.lightUp(path);
  }

  /** Takes the path away, and with it the parents that would be left empty, up to the section of the document, a list's item or what is to be kept. */
  clear(path: Path, keep: Path = []): void {
    const { value } = this.snapshot.parsed;
    let gone = path;
    for (let above = path.slice(0, -1); above.length > Math.max(1, keep.length) && typeof above.at(-1) === 'string'; above = above.slice(0, -1)) {
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
