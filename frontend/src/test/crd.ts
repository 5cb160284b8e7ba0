/** The schemas of the policies as the hub serves them, read from the repository's CRDs. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

export function policySchemaOf(plural: string): Record<string, unknown> {
  const file = `${import.meta.dirname}/../../../deploy/crds/policy.karmada.io_${plural}.yaml`;
  const crd = parse(readFileSync(file, 'utf8')) as { spec: { versions: { schema: { openAPIV3Schema: Record<string, unknown> } }[] } };
  return crd.spec.versions[0]?.schema.openAPIV3Schema ?? {};
}
