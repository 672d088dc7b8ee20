import { openHubSocket } from "#shared/protocol/trust.ts";

/** A socket of a task, and where its events come from. */
export interface EventsOf {
  address: string;
  headers: Record<string, string>;
  hub?: WebSocket;
}

/** Codes that only stand for how a socket ended, and that none may send (RFC 6455, 7.4.1). */
const UNSENDABLE = new Set([1004, 1005, 1006, 1015]);
const BROKEN = 1011;

/** Passes the events of a job on to a task, message by message. The task has nothing to say on this socket. */
export const jobEvents: Bun.WebSocketHandler<EventsOf> = {
  open: (task) => {
    const { address, headers } = task.data;
    const hub = openHubSocket(address.replace(/^http/, "ws"), headers);
    task.data.hub = hub;
    hub.onmessage = ({ data }) => void task.send(data);
    hub.onclose = ({ code, reason }) =>
      task.close(UNSENDABLE.has(code) ? BROKEN : code, reason.slice(0, 100));
  },
  message: () => {},
  close: ({ data }) => data.hub?.close(),
};
