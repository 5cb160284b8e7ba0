import type { Dictionary } from '@/shared/hooks/useWords';
import { type ClusterWords, en } from './words.en';

export const clusterWords: Dictionary<ClusterWords> = { en, zh: () => import('./words.zh').then((part) => part.zh) };
