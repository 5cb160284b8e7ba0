/** The sole place that calls fetch: JSON in and out, the CSRF header on what changes something, problems as ApiError. */
import type { Problem } from '@/api/model';

const base = '/api/v1';
const csrfHeader = 'X-CSRF-Token';

let csrf = '';
const endListeners = new Set<() => void>();

/** ApiError is an answer of the hub that is not 2xx, or (status 0) no answer at all. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly fix: string;
  readonly requestId: string;
  readonly fields: { field: string; message: string }[];

  constructor(status: number, problem: Partial<Problem>) {
    super(problem.detail || problem.title || `HTTP ${status}`);
    this.name = 'ApiError';
    this.status = status;
    this.code = problem.code ?? '';
    this.detail = problem.detail ?? '';
    this.fix = problem.fix ?? '';
    this.requestId = problem.requestId ?? '';
    this.fields = problem.fields ?? [];
  }
}

/** The token that the session's answer carried; it is kept in memory only. */
export function setCsrf(token: string): void {
  csrf = token;
}

/** Calls back when the hub answers 401 to a request that carried a session. */
export function onSessionEnd(listener: () => void): () => void {
  endListeners.add(listener);
  return () => endListeners.delete(listener);
}

export type Params = Record<string, string | number | boolean | undefined>;

/** Appends the parameters that are set. */
export function withParams(path: string, params?: Params): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(params ?? {})) {
    if (value !== undefined && value !== '' && value !== false) search.set(key, String(value));
  }
  const text = search.toString();
  return text ? `${path}?${text}` : path;
}

export function get<T>(path: string, params?: Params, signal?: AbortSignal): Promise<T> {
  return call<T>('GET', withParams(path, params), undefined, signal);
}

export function post<T>(path: string, body: unknown = {}, signal?: AbortSignal): Promise<T> {
  return call<T>('POST', path, body, signal);
}

export function put<T>(path: string, body: unknown, params?: Params, signal?: AbortSignal): Promise<T> {
  return call<T>('PUT', withParams(path, params), body, signal);
}

export function patch<T>(path: string, body: unknown): Promise<T> {
  return call<T>('PATCH', path, body);
}

export function del<T>(path: string, body?: unknown): Promise<T> {
  return call<T>('DELETE', path, body ?? {});
}

async function call<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const headers: Record<string, string> = { Accept: 'application/json' };
  if (method !== 'GET') {
    headers['Content-Type'] = 'application/json';
    if (csrf) headers[csrfHeader] = csrf;
  }
  let answer: Response;
  try {
    answer = await fetch(base + path, {
      method, headers, signal: signal ?? null, credentials: 'same-origin', cache: 'no-store',
      body: body === undefined ? null : JSON.stringify(body),
    });
  } catch (cause) {
    if (signal?.aborted) throw cause;
    throw new ApiError(0, { code: 'offline' });
  }
  const text = await answer.text();
  if (answer.ok) return (text ? JSON.parse(text) : undefined) as T;
  const error = new ApiError(answer.status, problemOf(text, answer.statusText));
  if (answer.status === 401 && csrf) {
    csrf = '';
    endListeners.forEach((listener) => listener());
  }
  throw error;
}

function problemOf(text: string, title: string): Partial<Problem> {
  try {
    return JSON.parse(text) as Problem;
  } catch {
    return { title };
  }
}
