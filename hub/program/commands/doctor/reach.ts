import { randomBytes } from "node:crypto";
import { lookup } from "node:dns/promises";
import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { errorMessage } from "#shared/kit/errors.ts";
import { hubTls } from "#shared/protocol/trust.ts";
import { codeOf } from "./write.ts";

/** Finds out why an HTTP address cannot be reached, and what it answers to a WebSocket: the client reports neither. */

const PROBE_MS = 5_000;

export interface Reached {
  found: string;
  advice: string;
}

interface Place {
  host: string;
  port: number;
  tls: boolean;
}

const placeOf = (url: string): Place => {
  const { hostname, port, protocol } = new URL(url);
  const tls = /^(https|wss):$/.test(protocol);
  return {
    host: hostname.replace(/^\[|\]$/g, ""),
    port: Number(port || (tls ? 443 : 80)),
    tls,
  };
};

/** An open connection, after the TLS handshake. @throws the system's error */
function connect({ host, port, tls }: Place): Promise<Socket> {
  const opened = Promise.withResolvers<Socket>();
  const name = isIP(host) ? {} : { servername: host };
  const socket = tls
    ? connectTls({ host, port, ...name, ...hubTls().tls })
    : connectTcp({ host, port });
  socket.setTimeout(PROBE_MS, () =>
    opened.reject(Object.assign(new Error("no answer"), { code: "ETIMEDOUT" })),
  );
  socket.once(tls ? "secureConnect" : "connect", () => opened.resolve(socket));
  socket.once("error", opened.reject);
  return opened.promise.catch((err) => {
    socket.on("error", () => {});
    socket.destroy();
    throw err;
  });
}

/** What keeps this machine from reaching `url`; null if it can connect. `variable` holds the URL. */
export async function whyUnreachable(url: string, variable: string): Promise<Reached | null> {
  const place = placeOf(url);
  const at = `${place.host}:${place.port}`;
  const named = await lookup(place.host).catch(() => null);
  if (named === null)
    return {
      found: `${place.host} does not resolve`,
      advice: `use a name in ${variable} that this machine's DNS or /etc/hosts knows`,
    };
  try {
    (await connect(place)).destroy();
    return null;
  } catch (err) {
    return adviceOnConnection(err, at, place.tls, variable);
  }
}

function adviceOnConnection(err: unknown, at: string, tls: boolean, variable: string): Reached {
  const code = codeOf(err);
  if (code === "ECONNREFUSED" || code === "ConnectionRefused")
    return {
      found: `nothing listens at ${at}`,
      advice: `start the hub there (systemctl status flotilla-hub), or set ${variable} to the address where it listens`,
    };
  if (/ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EHOSTDOWN/.test(code))
    return {
      found: `${at} does not answer (${code})`,
      advice: "is that machine up, and does a firewall let this port through?",
    };
  if (tls && /CERT|SELF_SIGNED|UNABLE_TO|ALTNAME/.test(code))
    return {
      found: `${at}: its certificate is not trusted (${code})`,
      advice: /ALTNAME/.test(code)
        ? `the certificate must be for the name in ${variable}`
        : /EXPIRED/.test(code)
          ? "renew the certificate there"
          : "SVC_TLS_CA (--tls-ca) must name the PEM file of the authority that signed it",
    };
  if (tls)
    return {
      found: `${at} does not speak TLS (${errorMessage(err)})`,
      advice: `begin ${variable} with http:// or ws:// if the hub has no certificate`,
    };
  return {
    found: `${at}: ${errorMessage(err)}`,
    advice: `set ${variable} to an address that answers`,
  };
}

/** The status with which `url` answers a WebSocket handshake; 0 if the answer is not HTTP. */
export async function upgradeStatus(url: string): Promise<number> {
  const { host, pathname } = new URL(url);
  const socket = await connect(placeOf(url));
  const answered = Promise.withResolvers<number>();
  let text = "";
  socket.setTimeout(PROBE_MS, () => answered.reject(new Error("no answer to a WebSocket")));
  socket.on("error", answered.reject);
  socket.on("close", () => answered.resolve(0));
  socket.on("data", (chunk: Buffer) => {
    text += chunk.toString("latin1");
    if (!text.includes("\n")) return;
    answered.resolve(Number(/^HTTP\/1\.[01] (\d{3})/.exec(text)?.[1] ?? 0));
  });
  const key = randomBytes(16).toString("base64");
  socket.write(
    `${[
      `GET ${pathname} HTTP/1.1`,
      `Host: ${host}`,
      "Connection: Upgrade",
      "Upgrade: websocket",
      "Sec-WebSocket-Version: 13",
      `Sec-WebSocket-Key: ${key}`,
    ].join("\r\n")}\r\n\r\n`,
  );
  return answered.promise.finally(() => {
    socket.on("error", () => {});
    socket.destroy();
  });
}

/** What an answer other than 101 to a WebSocket means, given that the hub answers plain calls. */
export function adviceOnUpgrade(status: number): Reached {
  const found =
    status === 0
      ? "the answer to a WebSocket is not HTTP"
      : `the answer to a WebSocket is ${status}`;
  if (status === 401 || status === 403)
    return {
      found,
      advice: "a router in front of the hub asks for a login: it must let /workers/ through",
    };
  if (status === 502 || status === 503 || status === 504)
    return {
      found,
      advice: "the router has no hub to send it to: check its list of hubs, and whether they run",
    };
  if (status === 404)
    return {
      found,
      advice: "the router does not send /workers/ to the hubs (see scripts/router/nginx.conf)",
    };
  return {
    found,
    advice:
      "a router in between must let WebSockets through: Upgrade and Connection (see scripts/router/nginx.conf)",
  };
}
