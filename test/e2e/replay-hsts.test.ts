import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Job } from "#shared/protocol/schema/job.ts";
import type { Session } from "#shared/protocol/schema/session.ts";
import { answerRecord } from "#test/support/models/made-warc.ts";
import { type FleetProcesses, startFleet } from "#test/support/rigs/fleet-process.ts";

/**
 * Pages of hosts that a browser opens over HTTPS alone and without letting anybody pass a certificate that is wrong
 * (HSTS, RFC 6797), in a worker that ignores no certificate (rules/replay#what-is-answered).
 */

const LONG = 180_000;
/** Told by its header; by Chromium's own list, with all of `.dev`; and that with keys that Chromium knows. */
const [TOLD, PRELOADED, PINNED] = ["hsts.test", "flotilla-replay.dev", "www.google.com"] as const;
let fleet: FleetProcesses;
let session: Session;

const json = async <T>(
  method: string,
  path: string,
  body?: string | Uint8Array<ArrayBuffer>,
): Promise<T> => {
  const type = typeof body === "string" ? "application/json" : "application/octet-stream";
  const headers = { "content-type": type };
  const signal = AbortSignal.timeout(70_000);
  const answer = await fetch(fleet.url + path, { method, headers, signal, ...(body && { body }) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${answer.status} ${text}`);
  return JSON.parse(text) as T;
};
const act = <T>(action: string, args: object) =>
  json<T>("POST", `/sessions/${session.session_id}/${action}`, JSON.stringify(args));
const seen = async () => {
  const code = "[location.href, isSecureContext, document.title].join(' ')";
  return (await act<{ result: string }>("evaluate", { code })).result;
};

const page = (host: string) =>
  answerRecord(
    `https://${host}/`,
    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nStrict-Transport-Security: max-age=31536000; includeSubDomains; preload",
    `<!doctype html><title>${host}</title>`,
  );

beforeAll(async () => {
  fleet = await startFleet({ lanes: 1, headless: true, env: { SVC_DRAIN_TIMEOUT_S: "1" } });
  await fleet.lanesWarm(60_000);
  const of_api = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nAccess-Control-Allow-Origin: *";
  const warc = Buffer.concat([
    page(TOLD),
    answerRecord(`https://api.${TOLD}/data`, of_api, "from the capture"),
    page(PRELOADED),
    page(PINNED),
  ]);
  const { job_id } = await json<Job>("POST", "/jobs/import", new Uint8Array(warc));
  const wanted = { replay: job_id, url: `https://${TOLD}/`, headless: true };
  session = await json<Session>("POST", "/sessions", JSON.stringify(wanted));
}, LONG);
afterAll(async () => {
  expect(await fleet.stop()).toEqual([]);
}, LONG);

test(
  "a host that asks for HSTS is shown, again once the browser knows, and from an address without TLS",
  async () => {
    await act("navigate", { url: `https://${TOLD}/` });
    expect(await seen()).toBe(`https://${TOLD}/ true ${TOLD}`);
    await act("navigate", { url: `http://${TOLD}/` });
    expect(await seen()).toBe(`https://${TOLD}/ true ${TOLD}`);
    const code = `fetch("https://api.${TOLD}/data").then((r) => r.text())`;
    expect(await act<object>("evaluate", { code })).toMatchObject({ result: "from the capture" });
  },
  LONG,
);

test(
  "hosts of Chromium's own list are shown, with pinned keys as well, and from an address without TLS",
  async () => {
    for (const host of [PRELOADED, PINNED])
      for (const scheme of ["https", "http"]) {
        await act("navigate", { url: `${scheme}://${host}/` });
        expect(await seen()).toBe(`https://${host}/ true ${host}`);
      }
  },
  LONG,
);
