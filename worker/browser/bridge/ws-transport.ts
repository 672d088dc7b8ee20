import type { CdpTransport } from "../cdp/transport.ts";

/**
 * CDP over a WebSocket of the debugging port, separate from the lane's own pipe: nobody records what is attached
 * here.
 */
export function webSocketTransport(url: string): CdpTransport {
  const socket = new WebSocket(url);
  let early: string[] | null = [];
  const transport: CdpTransport = {
    send: (message) => {
      if (early) early.push(message);
      else socket.send(message);
    },
    onMessage: () => {},
    onClose: () => {},
    close: () => socket.close(),
  };
  socket.onopen = () => {
    for (const message of early ?? []) socket.send(message);
    early = null;
  };
  socket.onmessage = (event) => {
    const text = String(event.data);
    transport.onBytes?.(text.length);
    transport.onMessage(text);
  };
  // The close event that follows reports a failed dial.
  socket.onerror = () => {};
  socket.onclose = () => {
    early = [];
    transport.onClose();
  };
  return transport;
}
