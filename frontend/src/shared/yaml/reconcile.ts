/** Makes a text say a value at a path by the fewest single edits: what stays the same keeps its lines and comments. */
import { insert, put, remove } from './edit';
import { parse } from './parse';
import type { Path } from './path';
import { equal, isObject, valueAt } from './value';

export function reconcile(text: string, path: Path, next: unknown): string {
  const now = valueAt(parse(text).value, path);
  if (equal(now, next)) return text;
  if (next === undefined) return remove(text, path);
  if (isObject(now) && isObject(next) && Object.keys(now).length > 0) {
    // What comes is put before what goes is taken, so that no collection is empty in between.
    const edited = Object.keys(next).filter((key) => !equal(now[key], next[key])).reduce((held, key) => reconcile(held, [...path, key], next[key]), text);
    return Object.keys(now).filter((key) => !(key in next)).reduce((held, key) => remove(held, [...path, key]), edited);
  }
  if (Array.isArray(now) && Array.isArray(next) && now.length > 0) return reconcileList(text, path, now, next);
  return put(text, path, next);
}

/** Items that begin and end both lists stay; of those between, one is changed into another in place as far as they pair up. */
function reconcileList(text: string, path: Path, now: unknown[], next: unknown[]): string {
  const shorter = Math.min(now.length, next.length);
  let head = 0;
  while (head < shorter && equal(now[head], next[head])) head++;
  let tail = 0;
  while (tail < shorter - head && equal(now[now.length - 1 - tail], next[next.length - 1 - tail])) tail++;
  const old = now.length - head - tail;
  const fresh = next.length - head - tail;
  // Items that left a list of plain values one by one: take them out, do not shift the others.
  const kept = next.slice(head, next.length - tail);
  if (fresh < old && kept.every((item) => now.slice(head, now.length - tail).some((other) => equal(other, item))) && isSubsequence(kept, now.slice(head, now.length - tail))) {
    return removeOthers(text, path, now, head, tail, kept);
  }
  let edited = text;
  for (let index = head; index < head + Math.min(old, fresh); index++) edited = reconcile(edited, [...path, index], next[index]);
  for (let index = head + old; index < head + fresh; index++) edited = insert(edited, path, index, next[index]);
  for (let index = head + old - 1; index >= head + fresh; index--) edited = remove(edited, [...path, index]);
  return edited;
}

function isSubsequence(part: unknown[], whole: unknown[]): boolean {
  let at = 0;
  for (const item of whole) if (at < part.length && equal(item, part[at])) at++;
  return at === part.length;
}

function removeOthers(text: string, path: Path, now: unknown[], head: number, tail: number, kept: unknown[]): string {
  const gone: number[] = [];
  let at = 0;
  for (let index = head; index < now.length - tail; index++) {
    if (at < kept.length && equal(now[index], kept[at])) at++;
    else gone.push(index);
  }
  return gone.reverse().reduce((held, index) => remove(held, [...path, index]), text);
}
