/** What the save button does, as commands: a server-side apply by the dashboard's own field manager. */
import type { PolicyAt } from '@/app/paths';
import { apiVersion } from '../kinds';

const manager = 'muster-dashboard';

/** A text as a here-document, whose end no line of it may be. */
function heredoc(text: string): string {
  const lines = text.split('\n');
  let end = 'EOF';
  while (lines.includes(end)) end += '_';
  return `<<'${end}'\n${text.endsWith('\n') ? text : `${text}\n`}${end}\n`;
}

export function kubectlCommand(yaml: string): string {
  return `kubectl apply --server-side --field-manager=${manager} -f - ${heredoc(yaml)}`;
}

export function curlCommand(yaml: string, { resource, namespace, name }: PolicyAt): string {
  const path = ['apis', apiVersion, ...(namespace ? ['namespaces', namespace] : []), resource, name || 'NAME'].join('/');
  return `kubectl proxy --port=8001 &\ncurl --retry 5 --retry-connrefused --fail-with-body -X PATCH \\\n  'http://127.0.0.1:8001/${path}?fieldManager=${manager}' \\\n  -H 'Content-Type: application/apply-patch+yaml' --data-binary @- ${heredoc(yaml)}`;
}
