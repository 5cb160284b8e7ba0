/** The sole wording of errors: by code, else by status; in English the hub's own sentence is taken where it is more exact. */
import { ApiError } from '@/api/client';
import { en, type ErrorWords, type Wording } from '@/api/errors.en';
import { dictionary, type Language, useLanguage, useWords } from '@/shared/hooks/useWords';
import type { Explained } from '@/shared/ui/Notice';

export const errorWords = dictionary<ErrorWords>(en, () => import('@/api/errors.zh'));

/** A failure that the hub recorded (a stage, a preflight check, a decoded text). */
export interface Failure {
  code?: string;
  cause?: string;
  fix?: string;
}

/** What the hub says is exact ("expired at 13:58") but English; ours is general, in the user's language. */
function merge(language: Language, wording: Wording, code: string, cause?: string, fix?: string): Explained {
  const own = language === 'en';
  return {
    what: wording.what,
    why: (own ? cause || wording.why : wording.why ?? cause) || undefined,
    fix: (own ? fix || wording.fix : wording.fix ?? fix) || undefined,
    // Only these can be looked up; the others are names for programs.
    code: code.startsWith('MU-') ? code : undefined,
  };
}

export function explainError(words: ErrorWords, language: Language, error: unknown): Explained {
  if (!(error instanceof ApiError)) return { ...words.unexpected, why: error instanceof Error ? error.message : undefined };
  if (error.status === 0) return words.offline;
  const known = words.byCode[error.code];
  const wording = known ?? words.byStatus[error.status] ?? words.unexpected;
  const fields = error.fields.map((field) => `${field.field}: ${field.message}`).join('; ');
  // Without a wording of its own the hub's sentence is all that says what this is about, in either language.
  const explained = merge(known ? language : 'en', wording, known ? error.code : '', error.detail || fields, error.fix);
  return { ...explained, requestId: error.status >= 500 ? error.requestId || undefined : undefined };
}

export function explainFailure(words: ErrorWords, language: Language, failure: Failure): Explained {
  const code = failure.code ?? '';
  const wording = words.byCode[code] ?? { what: failure.cause || words.unexpected.what };
  const cause = wording.what === failure.cause ? undefined : failure.cause;
  return merge(language, wording, code, cause, failure.fix);
}

/** Both explanations in the language chosen. */
export function useExplain() {
  const words = useWords(errorWords);
  const { language } = useLanguage();
  return {
    error: (error: unknown) => explainError(words, language, error),
    failure: (failure: Failure) => explainFailure(words, language, failure),
  };
}
