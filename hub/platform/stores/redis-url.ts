import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { ConfigError } from "#shared/kit/env.ts";
import { errorMessage } from "#shared/kit/errors.ts";

const SCHEMES = /^(redis|rediss|valkey|valkeys|redis\+tls|(redis|valkey)(\+tls)?\+unix):$/;
const PROBE_DEADLINE_MS = 1_500;
const PORT = 6379;

/** @throws ConfigError naming SVC_REDIS_URL for anything that is not a URL of Redis. */
export function readRedisUrl(given: string): string {
  const url = URL.canParse(given.trim()) ? new URL(given.trim()) : null;
  if (url && SCHEMES.test(url.protocol) && (url.hostname !== "" || url.pathname.length > 1))
    return url.href;
  throw new ConfigError("SVC_REDIS_URL: must be redis://[user:password@]host[:port][/database]");
}

const isSocket = (url: string): boolean => new URL(url).protocol.includes("unix");

/** Its place, without user and password. */
export const placeOf = (url: string): string =>
  isSocket(url) ? new URL(url).pathname : new URL(url).host;

/**
 * Why Redis at `url` cannot be used. The client reports every refusal as a closed connection, so the server is asked
 * once more for its own words, which name a wrong password and never show it.
 */
export async function whyNot(url: string, err: unknown): Promise<string> {
  return (await judgeRedis(url, err)).words;
}

/** What Redis answers to a client that it does not know, or that lacks rights. */
const REFUSES = /^-?(WRONGPASS|NOAUTH|NOPERM|ERR)\b/;

/** The same, and whether the server refuses what the URL says, rather than being away. */
export async function judgeRedis(
  url: string,
  err: unknown,
): Promise<{ words: string; refused: boolean }> {
  const { protocol, hostname, port, pathname, username, password } = new URL(url);
  const secret = decodeURIComponent(password);
  const user = decodeURIComponent(username);
  const commands = [
    ...(secret === "" ? [] : [["AUTH", ...(user === "" ? [] : [user]), secret]]),
    ["SELECT", isSocket(url) ? "0" : pathname.slice(1) || "0"],
    ["PING"],
  ];
  const at = isSocket(url)
    ? { path: pathname }
    : { host: hostname.replace(/^\[|\]$/g, ""), port: Number(port || PORT) };
  const tls = /^(rediss|valkeys|redis\+tls)/.test(protocol);
  try {
    const refusal = await firstRefusal(tls ? connectTls(at) : connectTcp(at), commands);
    const words = refusal ?? errorMessage(err);
    return { words, refused: REFUSES.test(words) };
  } catch (failure) {
    return { words: errorMessage(failure), refused: false };
  }
}

/** The first error the server answers to the commands with; null when it answers them all. */
function firstRefusal(socket: Socket, commands: readonly string[][]): Promise<string | null> {
  const asked = Promise.withResolvers<string | null>();
  let text = "";
  socket.setTimeout(PROBE_DEADLINE_MS, () => asked.reject(new Error("it does not answer")));
  socket.on("error", asked.reject);
  socket.on("close", () => asked.reject(new Error("it closed the connection")));
  socket.on("data", (chunk: Buffer) => {
    text += chunk.toString();
    const lines = text.split("\r\n").slice(0, -1);
    const refused = lines.find((line) => line.startsWith("-"));
    if (refused) asked.resolve(refused.slice(1));
    else if (lines.length >= commands.length) asked.resolve(null);
  });
  for (const words of commands)
    socket.write(
      `*${words.length}\r\n${words.map((w) => `$${Buffer.byteLength(w)}\r\n${w}\r\n`).join("")}`,
    );
  return asked.promise.finally(() => {
    socket.on("error", () => {});
    socket.destroy();
  });
}
