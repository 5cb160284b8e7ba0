/** Sentences that come as text only: each is found by its template, "there is no cluster {0}", and said by another one. */

interface Pattern {
  match: RegExp;
  names: string[];
  into: string;
}


/** Fills in what stands in braces; undefined when something is lacking. */
export function fill(sentence: string | undefined, params: Record<string, string | number> = {}): string | undefined {
  let whole = true;
  const text = sentence?.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name];
    if (value === undefined) whole = false;
    return String(value);
  });
  return whole ? text : undefined;
}

/** The templates as patterns, those with the most words of their own first. */
function patternsOf(words: Record<string, string>): Pattern[] {
  const own = (text: string) => text.replace(/\{\w+\}/g, '').length;
  return Object.entries(words).toSorted(([a], [b]) => own(b) - own(a)).map(([template, into]) => ({
    into,
    names: [...template.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? ''),
    match: new RegExp(`^${template.split(/\{\w+\}/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('(.+?)')}$`, 's'),
  }));
}

/**
 * Says sentences by a dictionary from template to template; what it does not know is undefined. `deepest` is how many
 * may stand in one another, as a reason does in a message in an event.
 */
export function reworder(words: Record<string, string>, deepest = 1): (text: string | undefined) => string | undefined {
  let patterns: Pattern[] | undefined;
  const say = (text: string | undefined, depth: number): string | undefined => {
    if (!text) return undefined;
    const plain = words[text];
    if (plain !== undefined) return plain;
    for (const { match, names, into } of patterns ??= patternsOf(words)) {
      const found = names.length > 0 && match.exec(text);
      if (found) return fill(into, Object.fromEntries(names.map((name, i) => [name, (depth < deepest ? say(found[i + 1], depth + 1) : undefined) ?? found[i + 1] ?? ''])));
    }
    return undefined;
  };
  return (text) => say(text, 1);
}
