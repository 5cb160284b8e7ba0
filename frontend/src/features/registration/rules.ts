/** What the forms check before the hub does. */

const name = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

/** The hub's rule for cluster names: a DNS label of at most 48 characters. */
export function isClusterName(text: string): boolean {
  return text.length <= 48 && name.test(text);
}

/** A context's name as a cluster name, as near as the rule allows; empty when nothing of it is left. */
export function clusterNameFrom(context: string): string {
  return context.toLowerCase().replace(/[^a-z0-9-]+/g, '-').slice(0, 48).replace(/^-+|-+$/g, '');
}

/** "a=b, c=d" as a map; undefined when it does not read so. */
export function parseLabels(text: string): Record<string, string> | undefined {
  const labels: Record<string, string> = {};
  for (const part of splitList(text)) {
    const match = /^([^=\s]+)=(\S*)$/.exec(part);
    if (!match?.[1]) return undefined;
    labels[match[1]] = match[2] ?? '';
  }
  return labels;
}

export function splitList(text: string): string[] {
  return text.split(',').map((part) => part.trim()).filter(Boolean);
}
