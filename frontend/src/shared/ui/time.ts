/** Times as people read them: a compact age as kubectl prints it, the exact time on demand. */
import type { Language } from '@/shared/hooks/useWords';
import type { UIWords } from './words.en';

const locale: Record<Language, string> = { en: 'en-GB', zh: 'zh-CN' };

/** "12s", "5m", "3h", "12d": the largest unit that fits, never negative. */
export function compactAge(words: UIWords, milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1_000));
  if (seconds < 120) return words.second(seconds);
  if (seconds < 120 * 60) return words.minute(Math.floor(seconds / 60));
  if (seconds < 48 * 3_600) return words.hour(Math.floor(seconds / 3_600));
  return words.day(Math.floor(seconds / 86_400));
}

/** "23:59:12" for what is still to come, with days in front when there are any. */
export function countdown(words: UIWords, milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1_000));
  const two = (n: number) => String(n).padStart(2, '0');
  const clock = `${two(Math.floor(seconds / 3_600) % 24)}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
  return seconds >= 86_400 ? `${words.day(Math.floor(seconds / 86_400))} ${clock}` : clock;
}

export function absolute(language: Language, at: string | number): string {
  return new Intl.DateTimeFormat(locale[language], { dateStyle: 'medium', timeStyle: 'medium' }).format(new Date(at));
}

export function clock(language: Language, at: string | number): string {
  return new Intl.DateTimeFormat(locale[language], { hour: '2-digit', minute: '2-digit', second: '2-digit' }).format(new Date(at));
}

export function count(language: Language, n: number): string {
  return new Intl.NumberFormat(locale[language]).format(n);
}
