/** Values of any type as one line of text: what reads as JSON is JSON, all else is a text. */
export function read(text: string): { ok: true; value: unknown } | { ok: false } {
  const trimmed = text.trim();
  if (/^[[{"]/.test(trimmed)) {
    try {
      return { ok: true, value: JSON.parse(trimmed) };
    } catch {
      return { ok: false };
    }
  }
  if (trimmed === 'null') return { ok: true, value: null };
  if (trimmed === 'true' || trimmed === 'false') return { ok: true, value: trimmed === 'true' };
  // A version such as 1.20 would lose its nought as a number: only what comes back the same is one.
  if (trimmed !== '' && String(Number(trimmed)) === trimmed && Number.isFinite(Number(trimmed))) return { ok: true, value: Number(trimmed) };
  return { ok: true, value: text };
}

/** The text that reads as the value. */
export function write(value: unknown): string {
  if (value === undefined) return '';
  if (typeof value !== 'string') return JSON.stringify(value);
  const back = read(value);
  return back.ok && back.value === value ? value : JSON.stringify(value);
}
