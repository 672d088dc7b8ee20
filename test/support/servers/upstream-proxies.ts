import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";

/** A proxy that is none of the fleet's. */
export interface UpstreamProxy {
  port: number;
  /** `host:port` of every tunnel that was asked for, in order. */
  asked: string[];
  /** First lines of the requests that it was to carry without a tunnel, each with the Host that came. */
  carried: string[];
  /** What came as user name and password, in order. */
  logins: string[];
  stop(): void;
}

export interface UpstreamOptions {
  login?: { username: string; password: string };
  /** Where names lead; a name that is not here does not resolve. */
  names?: Record<string, string>;
  /** Ports that it makes tunnels to; all by default. */
  ports?: number[];
  tls?: { key: string; cert: string };
}

const listen = async (server: Server): Promise<number> => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const at = server.address();
  return at && typeof at === "object" ? at.port : 0;
};

function serve(options: UpstreamOptions, onSocket: (socket: Socket) => void): [Server, () => void] {
  const sockets = new Set<Socket>();
  const accept = (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    onSocket(socket);
  };
  const server = options.tls ? createTlsServer(options.tls, accept) : createServer(accept);
  server.on("tlsClientError", () => {});
  const stop = () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  return [server, stop];
}

/** Joins both once the server answers; `failed` is told why it does not. */
function join(
  client: Socket,
  address: string,
  port: number,
  granted: Uint8Array | string,
  failed: (code: string) => void,
): void {
  const server = connect(port, address);
  let stands = false;
  server.on("connect", () => {
    stands = true;
    client.write(granted);
    server.pipe(client);
    client.pipe(server);
  });
  server.on("error", (err: NodeJS.ErrnoException) => {
    if (stands) client.destroy();
    else failed(err.code ?? "");
  });
  client.on("close", () => server.destroy());
}

const addressOf = (host: string, { names = {} }: UpstreamOptions): string | null =>
  /^[\d.]+$/.test(host) ? host : (names[host] ?? null);

/**
 * HTTP, and HTTPS with `tls`: CONNECT, and one plain request for each connection. It tells causes in Proxy-Status
 * (RFC 9209).
 */
export async function startHttpUpstream(options: UpstreamOptions = {}): Promise<UpstreamProxy> {
  const asked: string[] = [];
  const carried: string[] = [];
  const logins: string[] = [];
  const [server, stop] = serve(options, (client) => {
    let held = "";
    const onData = (chunk: Buffer) => {
      held += chunk.toString("latin1");
      const end = held.indexOf("\r\n\r\n");
      if (end < 0) return;
      client.off("data", onData);
      client.pause();
      const say = (status: string, cause = "") => {
        const told = cause && `Proxy-Status: fixture; error=${cause}\r\n`;
        client.end(`HTTP/1.1 ${status}\r\n${told}Content-Length: 0\r\n\r\n`);
      };
      const [, place = ""] = /^CONNECT (\S+) HTTP/.exec(held) ?? [];
      const sent = /proxy-authorization: Basic (\S+)/i.exec(held)?.[1];
      if (sent) logins.push(Buffer.from(sent, "base64").toString());
      const { login, ports } = options;
      if (login && logins.at(-1) !== `${login.username}:${login.password}`)
        return say(sent ? "401 Unauthorized" : "407 Proxy Authentication Required");
      const [, method = "", authority = "", path = ""] =
        /^([A-Z]+) http:\/\/([^/ ]+)(\S*) HTTP/.exec(held) ?? [];
      if (method !== "") {
        const [first = "", ...rest] = held.split("\r\n");
        carried.push(`${first}, ${rest.find((line) => /^host:/i.test(line))}`);
        const [host = "", port = "80"] = authority.split(":");
        const address = addressOf(host, options);
        if (address === null) return say("503 Service Unavailable", "dns_error");
        const own = rest.filter((line) => !/^proxy-/i.test(line));
        const request = [`${method} ${path || "/"} HTTP/1.1`, ...own].join("\r\n");
        const origin = connect(Number(port), address, () => origin.write(request, "latin1"));
        origin.on("error", () => say("502 Bad Gateway"));
        origin.pipe(client);
        client.on("close", () => origin.destroy());
        return void client.pipe(origin);
      }
      asked.push(place);
      const at = place.lastIndexOf(":");
      const [host, port] = [place.slice(0, at), Number(place.slice(at + 1))];
      if (ports && !ports.includes(port)) return say("403 Forbidden");
      const address = addressOf(host, options);
      if (address === null) return say("502 Bad Gateway", "dns_error");
      join(client, address, port, "HTTP/1.1 200 Connection established\r\n\r\n", (code) =>
        say(
          "502 Bad Gateway",
          code === "ECONNREFUSED" ? "connection_refused" : "proxy_internal_error",
        ),
      );
    };
    client.on("data", onData);
  });
  return { port: await listen(server), asked, carried, logins, stop };
}

/** SOCKS5 (RFC 1928), with a password where `login` says so (RFC 1929). */
export async function startSocksUpstream(options: UpstreamOptions = {}): Promise<UpstreamProxy> {
  const asked: string[] = [];
  const logins: string[] = [];
  const reply = (code: number) => Uint8Array.of(5, code, 0, 1, 0, 0, 0, 0, 0, 0);
  const [server, stop] = serve(options, (client) => {
    let step: "greeting" | "login" | "request" = "greeting";
    const onData = (chunk: Buffer) => {
      if (step === "greeting") {
        const method = options.login ? 2 : 0;
        if (!chunk.subarray(2).includes(method)) return client.end(Buffer.of(5, 0xff));
        step = options.login ? "login" : "request";
        return client.write(Buffer.of(5, method));
      }
      if (step === "login") {
        const user_length = chunk[1] ?? 0;
        const user = chunk.toString("utf8", 2, 2 + user_length);
        const password = chunk.toString("utf8", 3 + user_length);
        logins.push(`${user}:${password}`);
        const good = user === options.login?.username && password === options.login.password;
        step = "request";
        return good ? client.write(Buffer.of(1, 0)) : client.end(Buffer.of(1, 1));
      }
      client.off("data", onData);
      client.pause();
      const is_name = chunk[3] === 3;
      const host = is_name
        ? chunk.toString("latin1", 5, 5 + (chunk[4] ?? 0))
        : [...chunk.subarray(4, 8)].join(".");
      const port = chunk.readUInt16BE(chunk.length - 2);
      asked.push(`${host}:${port}`);
      const address = addressOf(host, options);
      if (address === null) return client.end(reply(4));
      if (options.ports && !options.ports.includes(port)) return client.end(reply(2));
      join(client, address, port, reply(0), (code) =>
        client.end(reply(code === "ECONNREFUSED" ? 5 : 1)),
      );
    };
    client.on("data", onData);
  });
  return { port: await listen(server), asked, carried: [], logins, stop };
}
