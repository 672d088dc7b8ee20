import { connect } from "node:net";
import { ProxyOption } from "#shared/protocol/proxy.ts";
import { openGate } from "#worker/egress/gate.ts";
import { createJudge } from "#worker/egress/judge.ts";
import { socks5 } from "#worker/egress/socks.ts";
import { upstreamOf } from "#worker/egress/upstream-of.ts";

/**
 * A process of its own, because which authorities are trusted is said at its start (NODE_EXTRA_CA_CERTS): `PROXY HOST PORT`.
 * Says what the server says through a gate with this proxy, or why there was no connection.
 */
const [server = "", host = "", port = "0"] = process.argv.slice(2);
const resolve = async (name: string) => {
  if (name === "localhost" || name === "proxy.test") return ["127.0.0.1"];
  throw new Error("ENOTFOUND");
};
const gate = openGate({
  speaks: socks5,
  resolve,
  judge: createJudge({ navigation_block: [], own_ports: [] }),
  upstream: upstreamOf(ProxyOption.parse(server), { trusted: true }),
});
const name = Buffer.from(host);
const to = Number(port);
const socket = connect(gate.port, "127.0.0.1");
socket.write(
  Buffer.concat([Buffer.of(5, 1, 0, 5, 1, 0, 3, name.length), name, Buffer.of(to >> 8, to & 255)]),
);
let got: Buffer = Buffer.alloc(0);
socket.on("data", (chunk: Buffer) => {
  got = Buffer.concat([got, chunk]);
});
socket.on("error", () => {});
socket.on("close", () => {
  const failed = gate.failureOf(`http://${host}:${port}/`);
  console.log(failed ? `${failed.failure}: ${failed.message}` : got.toString("utf8", 12));
  process.exit(0);
});
