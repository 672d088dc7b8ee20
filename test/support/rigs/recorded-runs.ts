import type { Recording } from "#shared/recording/record.ts";
import { type Judged, judgeRecording, type Served } from "../models/recording-judge.ts";
import { type FleetProcesses, until } from "./fleet-process.ts";

/** Runs of a real fleet that are recorded, for tests and the soak that judge their recordings. */

/** A job goes on while its page asks for something: long enough for pictures. */
const WORKING = `const began = Date.now();
const ask = () => Date.now() - began < 1500 && fetch("/tick").then(() => setTimeout(ask, 100));
ask();`;

const html = (body: string, script = "") =>
  new Response(
    `<!doctype html><title>recorded</title><link rel=icon href=data:,>${body}<script>${WORKING}${script}</script>`,
    { headers: { "content-type": "text/html" } },
  );
const CLOCK = "setInterval(() => { document.querySelector('h1').textContent = Date.now(); }, 200);";
/** All of the picture changes and compresses badly: parts of 8 MiB and chunks of 2 MB come soon. */
const NOISE = `const c = document.querySelector("canvas").getContext("2d");
const p = c.createImageData(1800, 900);
setInterval(() => {
  for (let i = 0; i < p.data.length; i += 4) {
    const v = Math.random() * 0xffffff;
    p.data[i] = v; p.data[i + 1] = v >> 8; p.data[i + 2] = v >> 16; p.data[i + 3] = 255;
  }
  c.putImageData(p, 0, 0);
}, 400);`;

/** `/text` stands still, `/moving` changes five times a second, `/noise` is the worst for a recorder, `/busy` logs and fails. */
export function serveRecordedPages() {
  return Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: ({ url }) => {
      const { pathname } = new URL(url);
      if (pathname === "/tick") return new Response("tick");
      if (pathname === "/moving")
        return html("<h1>-</h1><input id=word><a href=/text>on</a>", CLOCK);
      if (pathname === "/noise") return html("<canvas width=1800 height=900></canvas>", NOISE);
      if (pathname === "/busy")
        return html(
          "<h1>busy</h1>",
          `for (let i = 0; i < 300; i += 1) console.log("line " + i);
          fetch("http://127.0.0.1:9/").catch(() => {}); open("/text"); setTimeout(() => { throw new Error("on purpose") }, 50);`,
        );
      return html(`<h1>text</h1><p>${"word ".repeat(400)}</p><input id=word>`);
    },
  });
}

export interface RecordedRun {
  /** `/jobs/{id}` or `/sessions/{sid}`. */
  path: string;
  /** The words of the log. */
  kind: string;
}

const HEADERS = { "content-type": "application/json" };
const CALL_MS = 60_000;

const call = (fleet: FleetProcesses, method: string, path: string, body?: object) =>
  fetch(fleet.url + path, {
    method,
    signal: AbortSignal.timeout(CALL_MS),
    ...(body && { headers: HEADERS, body: JSON.stringify(body) }),
  });

const JOB_KINDS = ["moving", "text", "busy", "headless", "events", "moving"] as const;

/** A job of one of the kinds in turn, until it has ended; null where the hub was not there to take it. */
export async function runJob(
  fleet: FleetProcesses,
  site: string,
  n: number,
): Promise<RecordedRun | null> {
  const kind = JOB_KINDS[n % JOB_KINDS.length] ?? "text";
  const page = kind === "headless" || kind === "events" ? "moving" : kind;
  const options = {
    idle_seconds: 0.2,
    max_wait_seconds: 30,
    final_state: false,
    headless: kind === "headless",
    record: kind === "events" ? "events" : "screen",
  };
  const job = await fleet.submit(`${site}${page}?n=${n}`, options).catch((err) => {
    if (/^POST .jobs: 4/.test(String(err.message))) throw err;
    return null;
  });
  if (!job?.job_id) return null;
  await fleet.finished(job.job_id, 300_000);
  return { path: `/jobs/${job.job_id}`, kind: `job ${kind}` };
}

/** A session of one of the kinds in turn, until it was closed or lost; null where none was opened. */
export async function runSession(
  fleet: FleetProcesses,
  site: string,
  n: number,
): Promise<RecordedRun | null> {
  const noise = n % 10 === 4;
  const headless = n % 4 === 1;
  const page = noise ? "noise" : "moving";
  const opened = await openSession(fleet, site + page, { headless, idle_ttl_s: 60 });
  if (!opened) return null;
  const act = (action: string, body: object = {}) =>
    call(fleet, "POST", `${opened.path}/${action}`, { timeout_s: 10, ...body })
      .then((answer) => answer.text())
      .catch(() => "");
  if (noise) await Bun.sleep(25_000);
  else {
    await act("fill", { selector: "#word", text: "typed" });
    await act("evaluate", { code: "document.title" });
    await Bun.sleep(n % 10 === 7 ? 22_000 : 1_500);
    if (n % 3 === 0) await act("navigate", { url: `${site}text` });
    await act("scroll", { amount: 200 });
  }
  await call(fleet, "DELETE", opened.path).catch(() => null);
  return {
    path: opened.path,
    kind: `session ${noise ? "noise" : headless ? "headless" : "moving"}`,
  };
}

export async function openSession(
  fleet: FleetProcesses,
  url: string,
  options: object = {},
): Promise<RecordedRun | null> {
  const answer = await call(fleet, "POST", "/sessions", { url, ...options }).catch(() => null);
  if (answer && answer.status >= 400 && answer.status < 500)
    throw new Error(`POST /sessions: ${answer.status} ${await answer.text()}`);
  if (answer?.status !== 201) return null;
  const { session_id } = (await answer.json()) as { session_id: string };
  return { path: `/sessions/${session_id}`, kind: "session moving" };
}

async function served(fleet: FleetProcesses, { path }: RecordedRun): Promise<Served> {
  const recording = `${fleet.url}${path}/recording`;
  const events: Served["events"] = [];
  const record = (await (await fetch(recording)).json()) as Recording;
  const data = await fetch(`${recording}/data`);
  if (!data.ok) throw new Error(`HTTP ${data.status} of ${path}/recording/data`);
  const bytes = Buffer.from(await data.arrayBuffer());
  for (let more = true; more; ) {
    const after = events.at(-1)?.at_ms ?? -1;
    const page = (await (await fetch(`${recording}/events?after_ms=${after}`)).json()) as {
      items: Served["events"];
      more: boolean;
    };
    events.push(...page.items);
    more = page.more;
  }
  return { record, bytes, events };
}

/** The chunk is what the range of its place gives. */
async function rangeFaults(fleet: FleetProcesses, run: RecordedRun, { record, bytes }: Served) {
  const last = record.chunks.at(-1);
  if (!last) return [];
  const [from, to] = [last.offset, last.offset + last.length];
  const answer = await fetch(`${fleet.url}${run.path}/recording/data`, {
    headers: { range: `bytes=${from}-${to - 1}` },
  });
  const same = Buffer.from(await answer.arrayBuffer()).equals(bytes.subarray(from, to));
  return answer.status === 206 && same ? [] : [`its last chunk is not what the range gives`];
}

export interface JudgedRun extends RecordedRun, Judged {
  state: Recording["state"];
  bytes: number;
}

/** Waits until the recording has ended, then judges it. @throws where it does not end in time, or there is none. */
export async function judgeRun(
  fleet: FleetProcesses,
  run: RecordedRun,
  { ms = 60_000, live_is_lost = false } = {},
): Promise<JudgedRun> {
  await until(`the end of the recording of ${run.path}`, ms, async () => {
    const answer = await fetch(`${fleet.url}${run.path}/recording`).catch(() => null);
    if (answer?.status !== 200) return false;
    return live_is_lost || ((await answer.json()) as Recording).state !== "live";
  });
  const all = await served(fleet, run);
  const judged = await judgeRecording(all, { live_is_lost });
  judged.faults.push(...(await rangeFaults(fleet, run, all)));
  return { ...run, ...judged, state: all.record.state, bytes: all.bytes.length };
}
