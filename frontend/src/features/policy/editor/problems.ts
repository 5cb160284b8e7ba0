/** What a policy's schema finds wrong with a draft, in words. */
import type { Parsed } from '@/shared/yaml/parse';
import { samePath } from '@/shared/yaml/path';
import { type EditorProblem, problemAt } from '@/shared/yaml/problems';
import { type Fault, faultsOf, type Schema } from '@/shared/yaml/schema';
import { emptyChoices } from '../form/choice';
import type { EditorWords } from './words.en';

export function schemaProblems(parsed: Parsed, schema: Schema | undefined, words: EditorWords): EditorProblem[] {
  if (!schema || parsed.faults.length > 0) return [];
  return faultsOf(schema, parsed.value).map((fault) => problemAt(parsed, fault.path, sentence(fault, words.faults), fault.what === 'unknown'));
}

/** Choices of clusters that were emptied, or begun and left: nobody who says "chosen" means "every". What was saved so before stays as it is. */
export function choiceProblems(parsed: Parsed, saved: unknown, words: EditorWords): EditorProblem[] {
  const before = emptyChoices(saved);
  return emptyChoices(parsed.value).filter((path) => !before.some((held) => samePath(held, path))).map((path) => problemAt(parsed, [...path, 'clusterNames'], words.faults.noCluster));
}

function sentence(fault: Fault, words: EditorWords['faults']): string {
  switch (fault.what) {
    case 'unknown': return fault.near ? words.near(fault.key, fault.near) : words.unknown(fault.key);
    case 'missing': return words.missing(fault.key);
    case 'type': return words.type(fault.wanted);
    case 'enum': return words.enum(fault.allowed.join(', '));
    case 'least': return words.least(fault.bound);
    case 'most': return words.most(fault.bound);
    case 'items': return words.items(fault.bound);
  }
}
