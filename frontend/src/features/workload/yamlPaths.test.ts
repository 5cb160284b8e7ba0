import { expect, it } from 'vitest';
import { pointersOf, within } from './yamlPaths';

const manifest = `apiVersion: apps/v1
kind: Deployment
metadata:
  annotations:
    example.com/owner: "team: a"
    'odd''key': x
  labels: {}
spec:
  template:
    spec:
      containers:
      - args:
        - --level=debug
        - --listen=:80
        image: nginx
        name: web
      - name: side
        command:
          - sh
          - -c
          - |
            echo hello: there
            - not an item

            exit
      restartPolicy: Always`;

it('knows where each line stands', () => {
  expect(pointersOf(manifest.split('\n'))).toEqual([
    '/apiVersion', '/kind', '/metadata', '/metadata/annotations', '/metadata/annotations/example.com~1owner', "/metadata/annotations/odd'key", '/metadata/labels',
    '/spec', '/spec/template', '/spec/template/spec', '/spec/template/spec/containers',
    '/spec/template/spec/containers/0/args', '/spec/template/spec/containers/0/args/0', '/spec/template/spec/containers/0/args/1',
    '/spec/template/spec/containers/0/image', '/spec/template/spec/containers/0/name',
    '/spec/template/spec/containers/1/name', '/spec/template/spec/containers/1/command',
    '/spec/template/spec/containers/1/command/0', '/spec/template/spec/containers/1/command/1',
    ...Array.from({ length: 5 }, () => '/spec/template/spec/containers/1/command/2'),
    '/spec/template/spec/restartPolicy',
  ]);
});

it('takes values that hold colons for values', () => {
  expect(pointersOf(['data:', '  url: http://a:80/x', '  json: |-', '    {"a": 1}', '  "quoted\\tkey": 1', '  list:', '  - plain', '  - a: 1', '    b: 2', '  last: x'])).toEqual([
    '/data', '/data/url', '/data/json', '/data/json', '/data/quoted\tkey', '/data/list', '/data/list/0', '/data/list/1/a', '/data/list/1/b', '/data/last',
  ]);
});

it.each([['/a/b', '/a', true], ['/a', '/a', true], ['/ab', '/a', false], ['/a', '/a/b', false], ['/a', '', true]])('%s within %s: %s', (pointer, above, is) => {
  expect(within(pointer, above)).toBe(is);
});
