/** What a new workload may begin with: small manifests that run as they are once name and image are right. */
import { valueAt } from '@/shared/yaml/value';
import type { Path } from '@/shared/yaml/path';

export const startKeys = ['Deployment', 'StatefulSet', 'Job', 'ConfigMap', 'Service', 'Namespace'] as const;
export type StartKey = typeof startKeys[number];

const pod = (indent: string, more = '') => `template:
  metadata:
    labels:
      app: my-app
  spec:
    containers:
    - name: my-app
      image: nginx:1.27
${more}`.replace(/^(?=.)/gm, indent);

const scaled = (kind: string, more = '') => `apiVersion: apps/v1
kind: ${kind}
metadata:
  name: my-app
  namespace: default
spec:
  replicas: 2
${more}  selector:
    matchLabels:
      app: my-app
${pod('  ')}`;

export const starts: Record<StartKey, string> = {
  Deployment: scaled('Deployment'),
  StatefulSet: scaled('StatefulSet', '  serviceName: my-app\n'),
  Job: `apiVersion: batch/v1
kind: Job
metadata:
  name: my-app
  namespace: default
spec:
  backoffLimit: 3
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: my-app
        image: busybox:1.37
        command: [sh, -c, echo done]
`,
  ConfigMap: `apiVersion: v1
kind: ConfigMap
metadata:
  name: my-app
  namespace: default
data:
  greeting: hello
`,
  Service: `apiVersion: v1
kind: Service
metadata:
  name: my-app
  namespace: default
spec:
  selector:
    app: my-app
  ports:
  - port: 80
    targetPort: 80
`,
  Namespace: `apiVersion: v1
kind: Namespace
metadata:
  name: my-team
`,
};

export function startOf(text: string | null): StartKey {
  return startKeys.find((key) => key === text) ?? 'Deployment';
}

/** Where a name stands besides metadata.name: what was named after the old name is named after the new one. */
const namesakes: readonly Path[] = [
  ['spec', 'selector', 'matchLabels', 'app'], ['spec', 'template', 'metadata', 'labels', 'app'], ['spec', 'template', 'spec', 'containers', 0, 'name'],
  ['spec', 'serviceName'], ['spec', 'selector', 'app'],
];

/** The values to set for another name. An empty name takes nobody along: what follows it would have no name to come back by. */
export function renamed(value: unknown, name: string): [Path, unknown][] {
  const before = valueAt(value, ['metadata', 'name']);
  const along = name && before ? namesakes.filter((path) => valueAt(value, path) === before) : [];
  return [[['metadata', 'name'], name], ...along.map((path): [Path, unknown] => [path, name])];
}

