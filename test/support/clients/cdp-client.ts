/** A client of a lane's browser that sends what it likes, unlike any library. */
export interface RawCdp {
  /** The answer, be it an error; null when there is none in time. */
  send(method: string, params?: object, session_id?: string): Promise<CdpAnswer | null>;
  /** These bytes as they are; the next answer whose id is `id`, or that has none. */
  raw(text: string, id?: number): Promise<CdpAnswer | null>;
  /** Events of this name so far. */
  events(method: string): CdpAnswer[];
  readonly closed: Promise<void>;
  close(): void;
}

// biome-ignore lint/suspicious/noExplicitAny: answers of every shape
export type CdpAnswer = any;

const ANSWER_MS = 120_000;

/** @param url of a WebSocket @throws when it is refused */
export async function dialCdp(url: string): Promise<RawCdp> {
  const socket = new WebSocket(url);
  const waiting = new Map<number | null, (answer: CdpAnswer | null) => void>();
  const told: CdpAnswer[] = [];
  let last = 0;
  const closed = new Promise<void>((resolve) => socket.addEventListener("close", () => resolve()));
  void closed.then(() => {
    for (const done of waiting.values()) done(null);
  });
  socket.addEventListener("message", ({ data }) => {
    const answer = JSON.parse(String(data));
    const key = answer.id ?? null;
    if (answer.method !== undefined) told.push(answer);
    else waiting.get(key)?.(answer);
  });
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener("open", () => resolve());
    socket.addEventListener("close", ({ code }) => reject(new Error(`refused: ${code}`)));
  });
  const raw = async (text: string, id?: number): Promise<CdpAnswer | null> => {
    const key = id ?? null;
    const { promise, resolve } = Promise.withResolvers<CdpAnswer | null>();
    const timer = setTimeout(() => resolve(null), ANSWER_MS);
    waiting.set(key, resolve);
    socket.send(text);
    const answer = await Promise.race([promise, closed.then(() => null)]);
    clearTimeout(timer);
    waiting.delete(key);
    return answer;
  };
  return {
    raw,
    send: (method, params = {}, session_id) => {
      last += 1;
      const command = { id: last, method, params, ...(session_id && { sessionId: session_id }) };
      return raw(JSON.stringify(command), last);
    },
    events: (method) => told.filter((event) => event.method === method),
    closed,
    close: () => socket.close(),
  };
}
