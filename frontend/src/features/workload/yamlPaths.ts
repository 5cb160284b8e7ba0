/** Where the lines of a manifest stand in it: the JSON pointer of each line of YAML in block style, as the hub writes it. */

interface Level {
  indent: number;
  item: boolean;
  token: string;
}

const key = /^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s"'[\]{}#&*!|>%@`-][^#]*?|-[^\s][^#]*?):(?:\s+(.*))?$/;
const block = /^[|>][-+0-9]*$/;

/** The pointer of every line; a line of a text over several lines has the pointer of the text. */
export function pointersOf(lines: readonly string[]): string[] {
  const levels: Level[] = [];
  let scalar = -1;
  return lines.map((line) => {
    let indent = line.length - line.trimStart().length;
    let rest = line.trim();
    if (scalar >= 0 && (rest === '' || indent > scalar)) return pointer(levels);
    scalar = -1;
    while (rest === '-' || rest.startsWith('- ')) {
      enterItem(levels, indent);
      const inner = rest.slice(1).trimStart();
      indent += rest.length - inner.length;
      rest = inner;
    }
    const match = key.exec(rest);
    if (match) {
      while (levels.length > 0 && (levels.at(-1)?.indent ?? 0) >= indent) levels.pop();
      levels.push({ indent, item: false, token: unquoted(match[1] ?? '') });
    }
    if (block.test(match ? match[2] ?? '' : rest)) scalar = levels.at(-1)?.indent ?? 0;
    return pointer(levels);
  });
}

/** An item may stand as far left as the key of its list. */
function enterItem(levels: Level[], indent: number): void {
  let index = 0;
  for (let top = levels.at(-1); top && (top.indent > indent || (top.indent === indent && top.item)); top = levels.at(-1)) {
    if (top.indent === indent) index = Number(top.token) + 1;
    levels.pop();
  }
  levels.push({ indent, item: true, token: String(index) });
}

function unquoted(text: string): string {
  if (text.startsWith('"')) {
    try {
      return String(JSON.parse(text));
    } catch {
      return text.slice(1, -1);
    }
  }
  return text.startsWith("'") ? text.slice(1, -1).replaceAll("''", "'") : text;
}

function pointer(levels: readonly Level[]): string {
  return levels.map((level) => `/${level.token.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** Whether the pointer is the other one or lies below it. */
export function within(pointer: string, above: string): boolean {
  return pointer === above || pointer.startsWith(`${above}/`);
}
