import { expect, test } from "bun:test";
import { endToEnd } from "#hub/platform/cluster/relay-headers.ts";
import {
  passedOnBy,
  RELAY_HEADER,
  RELAY_PROOF_HEADER,
  relayMark,
} from "#hub/platform/cluster/relay-mark.ts";
import { loadHubConfig } from "#hub/platform/config.ts";

const hub = (secret: string | null, hub_id = "hub-a") => ({
  hub_id,
  config: loadHubConfig(secret === null ? {} : { WORKER_SECRET: secret }, {}, "hub"),
});

test("what belongs to one connection is not passed on, nor what the connection names as its own (rules/cluster#calls-are-passed-on)", () => {
  const given = new Headers({
    connection: "keep-alive, X-Own, Upgrade, not a name",
    "keep-alive": "timeout=5",
    "transfer-encoding": "chunked",
    te: "trailers",
    upgrade: "h2c",
    expect: "100-continue",
    "proxy-authorization": "Basic eA==",
    "x-own": "1",
    host: "fleet.example",
    authorization: "Bearer t",
    "x-forwarded-proto": "https",
    "content-length": "5",
  });
  expect(Object.fromEntries(endToEnd(given, "content-length"))).toEqual({
    host: "fleet.example",
    authorization: "Bearer t",
    "x-forwarded-proto": "https",
  });
  expect(given.get("content-length")).toBe("5");
});

test("cookies that an answer sets stay apart (rules/cluster#calls-are-passed-on)", () => {
  const given = new Headers([
    ["set-cookie", "a=1"],
    ["set-cookie", "b=2"],
  ]);
  expect(endToEnd(given).getSetCookie()).toEqual(["a=1", "b=2"]);
});

test("the mark of a passed-on call proves the shared secret without showing it (rules/cluster#calls-are-passed-on)", () => {
  const mark = relayMark(hub("s3cret"));
  expect(JSON.stringify(mark)).not.toContain("s3cret");
  expect(passedOnBy(hub("s3cret", "hub-b"), new Headers(mark))).toBe("hub-a");
  expect(passedOnBy(hub("s3cret"), new Headers({ accept: "*/*" }))).toBeNull();
  const forged: Record<string, string>[] = [
    { [RELAY_HEADER]: "hub-a" },
    { [RELAY_HEADER]: "hub-a", [RELAY_PROOF_HEADER]: "" },
    { [RELAY_HEADER]: "hub-a", [RELAY_PROOF_HEADER]: "s3cret" },
    { [RELAY_HEADER]: "hub-c", [RELAY_PROOF_HEADER]: mark[RELAY_PROOF_HEADER] ?? "" },
    { [RELAY_PROOF_HEADER]: mark[RELAY_PROOF_HEADER] ?? "" },
    relayMark(hub("other")),
    relayMark(hub(null)),
  ];
  for (const headers of forged)
    expect(() => passedOnBy(hub("s3cret", "hub-b"), new Headers(headers))).toThrow(
      "bad relay mark",
    );
  expect(passedOnBy(hub(null, "hub-b"), new Headers(relayMark(hub(null))))).toBe("hub-a");
});
