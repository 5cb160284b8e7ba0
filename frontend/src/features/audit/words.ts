import type { Dictionary } from '@/shared/hooks/useWords';
import { en, type AuditWords } from './words.en';

export const auditWords: Dictionary<AuditWords> = { en, zh: () => import('./words.zh').then((part) => part.zh) };
