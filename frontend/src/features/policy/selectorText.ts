import type { SelectorText } from './types';

/** "Deployment/nginx" or "Deployment app=nginx", as kubectl would be asked for them. */
export function selectorText(selector: SelectorText): string {
  const scope = selector.namespace ? `${selector.namespace}/` : '';
  if (selector.name) return `${selector.kind} ${scope}${selector.name}`;
  return [selector.kind, scope && `${scope}*`, selector.labelSelector].filter(Boolean).join(' ');
}
