/** The sole wording of errors: by code, else by status; in English the hub's own sentence is taken where it is more exact. */
import { ApiError } from '@/api/client';
import { en, type ErrorWords, type Wording } from '@/api/errors.en';
import { type Say, saidWords, sayer } from '@/api/said';
import { dictionary, type Language, useLanguage, useWords } from '@/shared/hooks/useWords';
import type { Explained } from '@/shared/ui/Notice';

export const errorWords = dictionary<ErrorWords>(en, () => import('@/api/errors.zh'));

/** A failure that the hub recorded (a stage, a preflight check, a decoded text). */
export interface Failure {
  code?: string;
  cause?: string;
  fix?: string;
}

/** What the hub says is exact ("expired at 13:58"); ours is general, and serves where the hub's has no words in the user's language. */
function merge({ language, say }: Reader, wording: Wording, code: string, cause?: string, fix?: string): Explained {
  const own = language === 'en';
  return {
    what: wording.what,
    why: (own ? cause || wording.why : say(cause) ?? wording.why ?? cause) || undefined,
    fix: (own ? fix || wording.fix : say(fix) ?? wording.fix ?? fix) || undefined,
    // Only these can be looked up; the others are names for programs.
    code: code.startsWith('MU-') ? code : undefined,
  };
}

/** Who reads, and how the hub's sentences are said to them. */
interface Reader {
  language: Language;
  say: Say;
}

export function explainError(words: ErrorWords, reader: Reader, error: unknown): Explained {
  if (!(error instanceof ApiError)) return { ...words.unexpected, why: error instanceof Error ? error.message : undefined };
  if (error.status === 0) return words.offline;
  const known = words.byCode[error.code];
  const wording = known ?? words.byStatus[error.status] ?? words.unexpected;
  const fields = error.fields.map((field) => `${field.field}: ${reader.say(field.message) ?? field.message}`).join('; ');
  // Without a wording of its own the hub's sentence is all that says what this is about, in either language.
  const detail = error.detail || fields;
  const explained = merge(reader, known ? wording : { ...wording, why: detail || wording.why, fix: error.fix || wording.fix }, known ? error.code : '', detail, error.fix);
  return { ...explained, requestId: error.status >= 500 ? error.requestId || undefined : undefined };
}

export function explainFailure(words: ErrorWords, reader: Reader, failure: Failure): Explained {
  const code = failure.code ?? '';
  const wording = words.byCode[code] ?? { what: reader.say(failure.cause) ?? (failure.cause || words.unexpected.what) };
  const cause = words.byCode[code] ? failure.cause : undefined;
  return merge(reader, wording, code, cause, failure.fix);
}

/** Both explanations in the language chosen. */
export function useExplain() {
  const words = useWords(errorWords);
  const { language } = useLanguage();
  const reader = { language, say: sayer(useWords(saidWords)) };
  return {
    error: (error: unknown) => explainError(words, reader, error),
    failure: (failure: Failure) => explainFailure(words, reader, failure),
  };
}
