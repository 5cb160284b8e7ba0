import { expect, it } from 'vitest';
import { isLoopback } from './useLoopback';

it.each([
  ['127.0.0.1:6443', true], ['localhost:6443', true], ['[::1]:6443', true], ['127.8.0.1', true],
  ['10.77.0.1:6443', false], ['hub.example:6443', false], ['localhost.example:6443', false], ['[2001:db8::1]:6443', false], ['127.0.0.1.example:6443', false],
])('%s is this machine alone: %s', (address, want) => {
  expect(isLoopback(address)).toBe(want);
});
