/**
 * The sole WebSocket. One socket a page carries all topics; each event holds the changed row and a sequence number.
 *
 *   stopped ──start──▶ connecting ──ready──▶ live ──no message for 25 s, close──▶ lost ──backoff──▶ connecting
 *                                                └──close 4401──▶ ended ──again──▶ (backoff)
 *
 * After a loss every topic is subscribed again from the last sequence number seen; the hub sends what was missed, or
 * "resync", after which the rows are fetched anew.
 */
export interface LiveEvent {
  topic: string;
  seq: number;
  op: 'upsert' | 'delete';
  key: string;
  row: unknown;
}

export type LiveStatus = 'stopped' | 'connecting' | 'live' | 'lost' | 'ended';

/** What the owner of the cache wants to know. */
export interface LiveSink {
  /** A row changed. */
  event: (event: LiveEvent) => void;
  /** The topic is followed from here on; older data may lack changes. */
  begin: (topic: string, epoch: string, seq: number) => void;
  /** Changes were lost: fetch again. */
  resync: (topic: string) => void;
  /** The link stands, for the first time or again. */
  ready: () => void;
  /** The hub ended the session that the socket was opened with; `again` goes on if there is another. */
  ended: () => void;
}

export interface LiveOptions {
  ticket: () => Promise<string>;
  url: () => string;
  connect?: (url: string) => WebSocket;
}

interface Topic {
  refs: number;
  epoch: string;
  seq: number;
  following: boolean;
  /** When the topic began anew, on the counter's scale, and at which sequence number. */
  begun: { at: number; seq: number };
  recent: { at: number; event: LiveEvent }[];
}

interface ServerMessage {
  type: 'ready' | 'subscribed' | 'event' | 'resync' | 'ping' | 'denied';
  topic?: string;
  epoch?: string;
  seq?: number;
  op?: 'upsert' | 'delete';
  key?: string;
  row?: unknown;
}

const silence = 25_000;
const linger = 10_000;
const firstWait = 500;
const longestWait = 15_000;
const kept = 1_000;

export class Live {
  private topics = new Map<string, Topic>();
  private socket: WebSocket | undefined;
  private status: LiveStatus = 'stopped';
  private watchers = new Set<() => void>();
  private sink: LiveSink | undefined;
  private failures = 0;
  private attempt = 0;
  private counter = 0;
  private retry: ReturnType<typeof setTimeout> | undefined;
  private watchdog: ReturnType<typeof setTimeout> | undefined;
  private heardAt = 0;
  private readonly options: LiveOptions;

  constructor(options: LiveOptions) {
    this.options = options;
  }

  /** Opens the socket and keeps it open until stop. */
  start(sink: LiveSink): void {
    this.sink = sink;
    if (this.status === 'stopped' || this.status === 'ended') void this.open();
  }

  /** Goes on after the end of a session when there is a new one, as after a change of password. */
  again(): void {
    if (this.status === 'ended') this.backOff();
  }

  stop(): void {
    this.attempt++;
    clearTimeout(this.retry);
    clearTimeout(this.watchdog);
    this.socket?.close();
    this.socket = undefined;
    this.topics.clear();
    this.set('stopped');
  }

  /** Tries at once instead of waiting, for when the network or the tab came back. */
  wake(): void {
    if (this.status !== 'lost') return;
    clearTimeout(this.retry);
    void this.open();
  }

  /** Follows a topic until the returned function is called; several followers share one subscription. */
  follow(name: string): () => void {
    const topic = this.topics.get(name) ?? { refs: 0, epoch: '', seq: 0, following: false, begun: { at: 0, seq: 0 }, recent: [] };
    this.topics.set(name, topic);
    topic.refs++;
    if (topic.refs === 1 && !topic.following) this.subscribe(name, topic);
    return () => {
      topic.refs--;
      // A page change gives one topic up and takes it again at once: wait before telling the hub.
      setTimeout(() => this.drop(name, topic), linger);
    };
  }

  /** A point in the stream of events, for replay. */
  mark(): number {
    return this.counter;
  }

  /** The topic's events that arrived after the mark: what an answer requested at the mark may not hold yet. */
  since(name: string, mark: number): LiveEvent[] {
    return (this.topics.get(name)?.recent ?? []).filter((entry) => entry.at > mark).map((entry) => entry.event);
  }

  /** The sequence number at which the topic began after the mark; undefined when it was followed all the time, or not at all. */
  begunSince(name: string, mark: number): number | undefined {
    const begun = this.topics.get(name)?.begun;
    return begun && begun.at > mark ? begun.seq : undefined;
  }

  getStatus = (): LiveStatus => this.status;

  /** When the last message came, in milliseconds since the epoch; 0 before the first. */
  getHeardAt = (): number => this.heardAt;

  watch = (watcher: () => void): (() => void) => {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  };

  private set(status: LiveStatus): void {
    if (this.status === status) return;
    this.status = status;
    this.watchers.forEach((watcher) => watcher());
  }

  private async open(): Promise<void> {
    const attempt = ++this.attempt;
    this.set('connecting');
    try {
      const ticket = await this.options.ticket();
      if (attempt !== this.attempt) return;
      const connect = this.options.connect ?? ((url: string) => new WebSocket(url));
      const socket = connect(this.options.url());
      this.socket = socket;
      socket.onopen = () => socket.send(JSON.stringify({ type: 'auth', ticket }));
      socket.onmessage = (message) => this.receive(JSON.parse(String(message.data)) as ServerMessage);
      socket.onclose = (close) => this.lost(attempt, close.code);
      this.listen(attempt);
    } catch {
      this.lost(attempt, 0);
    }
  }

  private lost(attempt: number, code: number): void {
    if (attempt !== this.attempt) return;
    this.attempt++;
    clearTimeout(this.watchdog);
    this.socket?.close();
    this.socket = undefined;
    this.topics.forEach((topic) => { topic.following = false; });
    if (code === 4401) {
      this.set('ended');
      this.sink?.ended();
      return;
    }
    this.backOff();
  }

  private backOff(): void {
    this.set('lost');
    const wait = Math.min(longestWait, firstWait * 2 ** this.failures++);
    this.retry = setTimeout(() => void this.open(), wait * (0.5 + Math.random() / 2));
  }

  private listen(attempt: number): void {
    clearTimeout(this.watchdog);
    this.watchdog = setTimeout(() => this.lost(attempt, 0), silence);
  }

  private receive(message: ServerMessage): void {
    this.heardAt = Date.now();
    this.listen(this.attempt);
    if (message.type === 'ready') {
      this.failures = 0;
      this.set('live');
      this.sink?.ready();
      this.topics.forEach((topic, name) => this.subscribe(name, topic));
      return;
    }
    if (message.type === 'ping') {
      // The hub drops readers that it has not heard from for a minute.
      this.socket?.send(JSON.stringify({ type: 'pong' }));
      return;
    }
    const name = message.topic ?? '';
    const topic = this.topics.get(name);
    if (!topic) return;
    switch (message.type) {
      case 'subscribed': return this.begun(name, topic, message);
      case 'event': return this.changed(name, topic, message);
      case 'resync': return this.resynced(name, topic, message);
      case 'denied': topic.following = false;
    }
  }

  private begun(name: string, topic: Topic, message: ServerMessage): void {
    const epoch = message.epoch ?? '';
    if (topic.epoch === epoch) return; // resumed: what was missed follows
    const first = topic.epoch === '';
    topic.epoch = epoch;
    topic.seq = message.seq ?? 0;
    topic.begun = { at: ++this.counter, seq: topic.seq };
    if (first) this.sink?.begin(name, epoch, topic.seq);
    else this.sink?.resync(name);
  }

  private resynced(name: string, topic: Topic, message: ServerMessage): void {
    const epoch = message.epoch ?? '';
    const seq = message.seq ?? 0;
    // A topic that begins where the hub stands lost nothing; "subscribed" has said so.
    if (epoch === topic.epoch && seq === topic.seq) return;
    topic.epoch = epoch;
    topic.seq = seq;
    this.sink?.resync(name);
  }

  private changed(name: string, topic: Topic, message: ServerMessage): void {
    topic.seq = message.seq ?? topic.seq;
    const event: LiveEvent = { topic: name, seq: topic.seq, op: message.op ?? 'upsert', key: message.key ?? '', row: message.row };
    topic.recent.push({ at: ++this.counter, event });
    if (topic.recent.length > kept) topic.recent.shift();
    this.sink?.event(event);
  }

  private subscribe(name: string, topic: Topic): void {
    if (this.status !== 'live' || topic.refs === 0) return;
    topic.following = true;
    const from = topic.epoch ? { epoch: topic.epoch, seq: topic.seq } : {};
    this.socket?.send(JSON.stringify({ type: 'subscribe', topic: name, ...from }));
  }

  private drop(name: string, topic: Topic): void {
    if (topic.refs > 0 || this.topics.get(name) !== topic) return;
    this.topics.delete(name);
    if (topic.following && this.status === 'live') this.socket?.send(JSON.stringify({ type: 'unsubscribe', topic: name }));
  }
}
