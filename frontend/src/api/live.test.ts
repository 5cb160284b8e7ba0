import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Live, type LiveSink } from '@/api/live';

class FakeSocket {
  sent: Record<string, unknown>[] = [];
  onopen: (() => void) | null = null;
  onmessage: ((message: { data: string }) => void) | null = null;
  onclose: ((close: { code: number }) => void) | null = null;
  closed = false;

  send(text: string) { this.sent.push(JSON.parse(text) as Record<string, unknown>); }
  close() { this.closed = true; }
  say(message: object) { this.onmessage?.({ data: JSON.stringify(message) }); }
}

function setUp() {
  const sockets: FakeSocket[] = [];
  const sink = { event: vi.fn(), begin: vi.fn(), resync: vi.fn(), ready: vi.fn(), ended: vi.fn() } satisfies LiveSink;
  let tickets = 0;
  const live = new Live({
    ticket: () => Promise.resolve(`ticket-${++tickets}`),
    url: () => 'wss://hub/live',
    connect: () => {
      const socket = new FakeSocket();
      sockets.push(socket);
      return socket as unknown as WebSocket;
    },
  });
  const newest = () => sockets[sockets.length - 1] as FakeSocket;
  const connect = async () => {
    await vi.advanceTimersByTimeAsync(0);
    newest().onopen?.();
    newest().say({ type: 'ready', epoch: 'e1' });
  };
  return { live, sink, sockets, newest, connect };
}

beforeEach(() => { vi.useFakeTimers(); });
afterEach(() => { vi.useRealTimers(); });

describe('the live socket', () => {
  it('sends the ticket first and subscribes once it is let in', async () => {
    const { live, sink, newest, connect } = setUp();
    live.start(sink);
    live.follow('clusters');
    await connect();
    expect(newest().sent).toEqual([{ type: 'auth', ticket: 'ticket-1' }, { type: 'subscribe', topic: 'clusters' }]);
    expect(live.getStatus()).toBe('live');
    expect(sink.ready).toHaveBeenCalledTimes(1);
  });

  it('begins a topic without taking the hub’s first resync for a loss', async () => {
    const { live, sink, newest, connect } = setUp();
    live.start(sink);
    live.follow('clusters');
    await connect();
    newest().say({ type: 'subscribed', topic: 'clusters', epoch: 'e1', seq: 7 });
    newest().say({ type: 'resync', topic: 'clusters', epoch: 'e1', seq: 7 });
    expect(sink.begin).toHaveBeenCalledExactlyOnceWith('clusters', 'e1', 7);
    expect(sink.resync).not.toHaveBeenCalled();
  });

  it('resumes after a loss from the last sequence number', async () => {
    const { live, sink, newest, connect } = setUp();
    live.start(sink);
    live.follow('clusters');
    await connect();
    newest().say({ type: 'subscribed', topic: 'clusters', epoch: 'e1', seq: 7 });
    newest().say({ type: 'event', topic: 'clusters', seq: 8, op: 'upsert', key: 'a', row: { name: 'a' } });
    newest().onclose?.({ code: 1006 });
    expect(live.getStatus()).toBe('lost');
    await vi.advanceTimersByTimeAsync(600);
    await connect();
    expect(newest().sent).toEqual([{ type: 'auth', ticket: 'ticket-2' }, { type: 'subscribe', topic: 'clusters', epoch: 'e1', seq: 8 }]);
    newest().say({ type: 'subscribed', topic: 'clusters', epoch: 'e1', seq: 9 });
    newest().say({ type: 'event', topic: 'clusters', seq: 9, op: 'delete', key: 'a' });
    expect(sink.resync).not.toHaveBeenCalled();
    expect(sink.event).toHaveBeenCalledTimes(2);
  });

  it('asks for a resync when the hub started anew or holds too little', async () => {
    const { live, sink, newest, connect } = setUp();
    live.start(sink);
    live.follow('clusters');
    await connect();
    newest().say({ type: 'subscribed', topic: 'clusters', epoch: 'e1', seq: 7 });
    newest().onclose?.({ code: 1006 });
    await vi.advanceTimersByTimeAsync(600);
    await connect();
    newest().say({ type: 'subscribed', topic: 'clusters', epoch: 'e2', seq: 0 });
    newest().say({ type: 'resync', topic: 'clusters', epoch: 'e2' });
    expect(sink.resync).toHaveBeenCalledTimes(1);
    newest().say({ type: 'resync', topic: 'clusters', epoch: 'e2', seq: 600 });
    expect(sink.resync).toHaveBeenCalledTimes(2);
  });

  it('waits longer after each failure, and not at all when woken', async () => {
    const { live, sink, sockets } = setUp();
    live.start(sink);
    await vi.advanceTimersByTimeAsync(0);
    for (let failure = 0; failure < 6; failure++) {
      sockets.at(-1)?.onclose?.({ code: 1006 });
      await vi.advanceTimersByTimeAsync(15_000);
    }
    const before = sockets.length;
    sockets.at(-1)?.onclose?.({ code: 1006 });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(sockets.length).toBe(before);
    live.wake();
    await vi.advanceTimersByTimeAsync(0);
    expect(sockets.length).toBe(before + 1);
  });

  it('takes silence for a loss and answers pings', async () => {
    const { live, sink, newest, connect } = setUp();
    live.start(sink);
    await connect();
    await vi.advanceTimersByTimeAsync(20_000);
    newest().say({ type: 'ping', at: 'now' });
    expect(newest().sent.at(-1)).toEqual({ type: 'pong' });
    await vi.advanceTimersByTimeAsync(20_000);
    expect(live.getStatus()).toBe('live');
    const first = newest();
    await vi.advanceTimersByTimeAsync(6_000);
    expect(first.closed).toBe(true);
  });

  it('ends for good when the session ends', async () => {
    const { live, sink, sockets, newest, connect } = setUp();
    live.start(sink);
    await connect();
    newest().onclose?.({ code: 4401 });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(sink.ended).toHaveBeenCalledTimes(1);
    expect(sockets.length).toBe(1);
  });

  it('goes on when another session took the place of the one that ended', async () => {
    const { live, sink, sockets, newest, connect } = setUp();
    live.start(sink);
    await connect();
    newest().onclose?.({ code: 4401 });
    live.again();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(sockets.length).toBe(2);
  });

  it('keeps a topic over a page change and drops it after', async () => {
    const { live, sink, newest, connect } = setUp();
    live.start(sink);
    await connect();
    const leave = live.follow('tokens');
    leave();
    const leaveAgain = live.follow('tokens');
    await vi.advanceTimersByTimeAsync(30_000 - 12_000);
    newest().say({ type: 'ping' });
    expect(newest().sent.filter((message) => message['type'] !== 'pong')).toEqual([{ type: 'auth', ticket: 'ticket-1' }, { type: 'subscribe', topic: 'tokens' }]);
    leaveAgain();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(newest().sent.at(-1)).toEqual({ type: 'unsubscribe', topic: 'tokens' });
  });
});
