/** A sentence cut where it names what it leads to: before, the name, after. Without the name in it the name is empty. */
export function cutAt(text: string, names: readonly (string | undefined)[]): [before: string, name: string, after: string] {
  for (const name of names) {
    const at = name ? text.indexOf(name) : -1;
    if (name && at >= 0) return [text.slice(0, at), name, text.slice(at + name.length)];
  }
  return [text, '', ''];
}
