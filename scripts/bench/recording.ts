import { readStat, TICK_MS } from "#shared/kit/proc.ts";
import type { Recording } from "#shared/recording/record.ts";
import { type FleetProcesses, processesOf, startFleet } from "#test/support/rigs/fleet-process.ts";
import { type Bench, type Figure, statsOf } from "./harness.ts";

/** What a recording costs while a session stands open: with it and without it in turn, on one lane. */

const page = (body: string) =>
  `<!doctype html><meta charset=utf-8><title>page</title><link rel=icon href=data:,><style>body { font: 16px sans-serif }</style>${body}`;
const TEXT = `<h1>Text</h1>${`<p>${"The quick brown fox jumps over the lazy dog. ".repeat(12)}</p>`.repeat(12)}`;

const PAGES = {
  still: { words: "a text page that stands still", body: TEXT, target: "–" },
  clock: {
    words: "a clock on a text page, once a second",
    body: `<h2 id=clock>-</h2>${TEXT}<script>setInterval(() => { clock.textContent = new Date().toLocaleTimeString(); }, 1000);</script>`,
    target: "≤ 1 %",
  },
  moving: {
    words: "a page that moves all the time",
    body: `<style>@keyframes go { to { transform: translate(1000px, 400px) rotate(360deg) } }
      #box { width: 400px; height: 300px; background: linear-gradient(45deg, red, blue, lime); animation: go 3s linear infinite alternate }</style>
      <div id=box></div>`,
    target: "≤ 5 %",
  },
} as const;
type PageName = keyof typeof PAGES;
const NAMES = Object.keys(PAGES) as PageName[];

const PARTS = ["worker", "Xvnc", "hub", "Chromium"] as const;
type Part = (typeof PARTS)[number];
type Cpu = Record<Part, number>;

/** Milliseconds of CPU time until now. What a process is to the fleet its command line says. */
function cpuOf(fleet: FleetProcesses): Cpu {
  const cpu: Cpu = { worker: 0, Xvnc: 0, hub: 0, Chromium: 0 };
  for (const { pid, command } of processesOf(fleet.dir)) {
    const part: Part =
      pid === fleet.worker.pid
        ? "worker"
        : pid === fleet.hub.pid
          ? "hub"
          : /Xvnc|Xtigervnc/.test(command)
            ? "Xvnc"
            : "Chromium";
    cpu[part] += (readStat(pid)?.ticks ?? 0) * TICK_MS;
  }
  return cpu;
}

interface Turn {
  /** Percent of a core. */
  cpu: Cpu;
  /** From the first picture on, and after what opening the page costs. */
  mb_first_minute: number;
  mb_a_minute: number;
}

/** What opening the page costs is over, and the first picture is recorded. */
const SETTLE_MS = 5_000;

async function measure(
  fleet: FleetProcesses,
  url: string,
  record: "off" | "screen",
  ms: number,
): Promise<Turn> {
  await fleet.lanesWarm();
  const answer = await fetch(`${fleet.url}/sessions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ url, record, idle_ttl_s: 600 }),
  });
  if (answer.status !== 201) throw new Error(`POST /sessions: ${await answer.text()}`);
  const { session_id } = (await answer.json()) as { session_id: string };
  const session = `${fleet.url}/sessions/${session_id}`;
  const bytes = async () => {
    if (record === "off") return 0;
    return ((await (await fetch(`${session}/recording`)).json()) as Recording).bytes;
  };
  await Bun.sleep(Math.min(SETTLE_MS, ms));
  const [stored, before, since] = [await bytes(), cpuOf(fleet), performance.now()];
  await Bun.sleep(ms);
  const after = cpuOf(fleet);
  const took = performance.now() - since;
  const all = (await bytes()) / 1e6;
  const mb = all - stored / 1e6;
  await fetch(session, { method: "DELETE" });
  const percent = (part: Part) => (100 * (after[part] - before[part])) / took;
  const cpu = Object.fromEntries(PARTS.map((part) => [part, percent(part)])) as Cpu;
  const mb_first_minute = all - Math.max(0, took + SETTLE_MS - 60_000) * (mb / took);
  return { cpu, mb_first_minute, mb_a_minute: (mb * 60_000) / took };
}

const signed = (value: number) => `${value >= 0 ? "+" : ""}${value.toFixed(2)}`;
const medianOf = (turns: Turn[], of: (turn: Turn) => number) => statsOf(turns.map(of)).median;

function figuresOf(name: PageName, off: Turn[], on: Turn[]): Figure[] {
  const { words, target } = PAGES[name];
  const more = (part: Part) =>
    medianOf(on, ({ cpu }) => cpu[part]) - medianOf(off, ({ cpu }) => cpu[part]);
  const whole = more("worker") + more("Xvnc");
  const parts = PARTS.map((part) => `${part} ${signed(more(part))}`).join(", ");
  const without = PARTS.map((p) => `${p} ${medianOf(off, ({ cpu }) => cpu[p]).toFixed(2)}`);
  return [
    {
      bench: "recording",
      metric: `CPU of worker and Xvnc, ${words}`,
      value: `${signed(whole)} % of a core (${parts}; n=${on.length})`,
      reference: `record: off: ${without.join(", ")} %`,
      target,
      raw: { off, on },
    },
    {
      bench: "recording",
      metric: `stored, ${words}`,
      value: `${medianOf(on, (turn) => turn.mb_first_minute).toFixed(2)} MB in the first minute, ${medianOf(on, (turn) => turn.mb_a_minute).toFixed(2)} MB/min after it`,
      target: name === "moving" ? "–" : "≤ 0.5 MB/min",
    },
  ];
}

export const recording: Bench = async ({ runs, tiny }) => {
  const site = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: ({ url }) => {
      const name = NAMES.find((one) => new URL(url).pathname === `/${one}`) ?? "still";
      return new Response(page(PAGES[name].body), { headers: { "content-type": "text/html" } });
    },
  });
  const fleet = await startFleet({ lanes: 1, env: { SVC_DRAIN_TIMEOUT_S: "1" } });
  const ms = tiny ? 1_000 : 55_000;
  try {
    const figures: Figure[] = [];
    for (const name of NAMES) {
      const [off, on]: [Turn[], Turn[]] = [[], []];
      // Alternated, so that a noisy moment hits both.
      for (let run = 0; run < runs; run += 1) {
        off.push(await measure(fleet, `${site.url}${name}`, "off", ms));
        on.push(await measure(fleet, `${site.url}${name}`, "screen", ms));
      }
      figures.push(...figuresOf(name, off, on));
    }
    return figures;
  } finally {
    await fleet.stop();
    await site.stop(true);
  }
};
