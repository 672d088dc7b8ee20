import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { secretIn } from "#shared/protocol/vnc-auth.ts";
import { startFleet, superviseProcess, until } from "#test/support/rigs/fleet-process.ts";
import { freePort } from "#test/support/servers/ports.ts";
import { type Bench, type Figure, showMs, statsOf } from "./harness.ts";
import { cpuSeconds } from "./process-cpu.ts";
import { connectRfb, PIXELS, type RfbClient } from "./rfb-client.ts";

/** A way from a viewer to the lane's VNC server. */
interface Way {
  name: string;
  url: string;
  /** What its VNC server asks for, where the hub does not answer it. */
  secret: string | null;
  /** Whose CPU it costs, beside the VNC server and the viewer. */
  pids: () => number[];
}

const SCREEN = { width: 1920, height: 1080 };
/** Half a megabyte a second at ten updates: a busy desktop. */
const WATCHED = { width: 160, height: 90 };
const UPDATES_PER_S = 10;
const PIXEL = { width: 1, height: 1 };
const MB = 1024 * 1024;

/** A page whose upper part changes its colour at every key; noise below, which compresses badly. */
const FLASH = `<!doctype html><body style="margin: 0; background: #fff"><canvas width="1920" height="500"
  style="position: fixed; bottom: 0; left: 0"></canvas><script>
  const context = document.querySelector("canvas").getContext("2d");
  const noise = context.createImageData(1920, 500);
  for (let at = 0; at < noise.data.length; at += 1) noise.data[at] = at % 4 === 3 ? 255 : Math.random() * 256;
  context.putImageData(noise, 0, 0);
  let dark = false;
  addEventListener("keydown", () => {
    dark = !dark;
    document.body.style.background = dark ? "#000" : "#fff";
  });
</script>`;

export const viewer: Bench = async ({ runs, tiny }) => {
  const fleet = await startFleet({ lanes: 1 });
  const flash = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => new Response(FLASH, { headers: { "Content-Type": "text/html" } }),
  });
  const helpers: { stop(): Promise<unknown> }[] = [flash];
  let opened: string | null = null;
  try {
    await fleet.lanesWarm(60_000);
    const answer = await fetch(`${fleet.url}/sessions`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ url: flash.url.href, idle_ttl_s: 3_600 }),
    });
    const { session_id } = (await answer.json()) as { session_id: string };
    opened = `${fleet.url}/sessions/${session_id}`;
    const secret = secretBelow(fleet.dir);
    const straight = await helper(
      helpers,
      { target: fleet.ports.vnc, secret },
      (listen, target) => [
        process.execPath,
        join(import.meta.dir, "straight-bridge.ts"),
        String(listen),
        String(target),
      ],
    );
    const ways: Way[] = [
      {
        name: "hub",
        url: `${fleet.url.replace("http", "ws")}/sessions/${session_id}/novnc/websockify`,
        secret: null,
        pids: () => [fleet.hub.pid],
      },
      { name: "straight bridge (Bun)", ...straight },
    ];
    const websockify = Bun.which("websockify");
    if (websockify)
      ways.push({
        name: "websockify",
        ...(await helper(helpers, { target: fleet.ports.vnc, secret }, (listen, target) => [
          websockify,
          `127.0.0.1:${listen}`,
          `127.0.0.1:${target}`,
        ])),
      });
    return [
      ...(await throughput(
        "compressed screens",
        PIXELS.zrle,
        ways,
        tiny ? 1 : runs,
        tiny ? 3 : 60,
      )),
      ...(await throughput("raw screens", PIXELS.raw, ways, tiny ? 1 : runs, tiny ? 5 : 20)),
      ...(await latency(ways, tiny ? 5 : runs * 30)),
      ...(await presses(ways, tiny ? 2 : runs * 5)),
      ...(await manyViewers(ways[0] as Way, tiny ? [1] : [1, 10, 100], tiny ? 1 : 5)),
    ];
  } finally {
    for (const one of helpers) await one.stop();
    // A worker that stops waits for its open sessions as it does for jobs.
    if (opened) await fetch(opened, { method: "DELETE" });
    await fleet.stop();
  }
};

/** Of the one lane whose files lie below `dir`. */
function secretBelow(dir: string): string {
  const files = readdirSync(dir, { recursive: true, withFileTypes: true });
  const file = files.find(({ name }) => /^vnc-[0-9]+$/.test(name));
  if (!file) throw new Error("the lane has no file with its password");
  return secretIn(readFileSync(join(file.parentPath, file.name)));
}

async function helper(
  helpers: { stop(): Promise<unknown> }[],
  { target, secret }: { target: number; secret: string },
  argv: (listen: number, target: number) => string[],
): Promise<Omit<Way, "name">> {
  const port = freePort();
  const process = superviseProcess("bridge", argv(port, target), {});
  helpers.push(process);
  await until("the bridge", 10_000, () =>
    fetch(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    ),
  );
  return { url: `ws://127.0.0.1:${port}/websockify`, secret, pids: () => [process.pid] };
}

const cpuOf = (pids: number[]) => pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0);

/** Whole screens, one after the other, on each way in turn. */
async function throughput(
  metric: string,
  encoding: (typeof PIXELS)[keyof typeof PIXELS],
  ways: Way[],
  runs: number,
  screens: number,
): Promise<Figure[]> {
  const rates = ways.map((): number[] => []);
  const cpu = ways.map((): number[] => []);
  for (let run = 0; run < runs; run += 1)
    for (const [i, way] of ways.entries()) {
      const client = await connectRfb(way.url, encoding, way.secret);
      await client.update(SCREEN);
      const [bytes, used, start] = [client.bytes(), cpuOf(way.pids()), performance.now()];
      for (let n = 0; n < screens; n += 1) await client.update(SCREEN);
      const megabytes = (client.bytes() - bytes) / MB;
      rates[i]?.push(megabytes / ((performance.now() - start) / 1_000));
      cpu[i]?.push((1_000 * (cpuOf(way.pids()) - used)) / (megabytes / 1_024));
      client.close();
    }
  const [ours, ...others] = rates.map(statsOf);
  const [ourCpu, ...otherCpu] = cpu.map(statsOf);
  return others.map((reference, i) => ({
    bench: "viewer",
    metric: `${metric}, one viewer`,
    value: `${ours?.median.toFixed(0)} MB/s, ${ourCpu?.median.toFixed(0)} ms CPU of the hub per GB`,
    reference: `${ways[i + 1]?.name}: ${reference.median.toFixed(0)} MB/s, ${otherCpu[i]?.median.toFixed(0)} ms per GB`,
    ratio: (ours?.median ?? 0) / reference.median,
    target: "≥ 0.95 at no more CPU",
    raw: { rates, cpu },
  }));
}

/** One pixel there and back, each way in turn. */
async function latency(ways: Way[], samples: number): Promise<Figure[]> {
  const clients = await Promise.all(ways.map((way) => connectRfb(way.url, PIXELS.raw, way.secret)));
  const times = ways.map((): number[] => []);
  for (let n = 0; n < samples + 5; n += 1)
    for (const [i, client] of clients.entries()) {
      const start = performance.now();
      await client.update(PIXEL);
      if (n >= 5) times[i]?.push(performance.now() - start);
    }
  for (const client of clients) client.close();
  return compare("one pixel, asked for and seen", ways, times, "≤ +3 ms");
}

/** A key is pressed in the lane until the screen changes. */
async function presses(ways: Way[], samples: number): Promise<Figure[]> {
  const clients = await Promise.all(ways.map((way) => connectRfb(way.url, PIXELS.raw, way.secret)));
  const times = ways.map((): number[] => []);
  const SPACE = 0x20;
  for (let n = 0; n < samples + 1; n += 1)
    for (const [i, client] of clients.entries()) {
      await client.update(SCREEN);
      const start = performance.now();
      const changed = client.update({ ...SCREEN, incremental: true });
      client.key(SPACE);
      await changed;
      if (n > 0) times[i]?.push(performance.now() - start);
      await settle(client);
    }
  for (const client of clients) client.close();
  return compare("press → first update", ways, times, "≤ +3 ms");
}

/** The rest of what a key has changed. */
async function settle(client: RfbClient): Promise<void> {
  await Bun.sleep(60);
  await client.update(SCREEN);
}

function compare(metric: string, ways: Way[], times: number[][], target: string): Figure[] {
  const [ours, ...others] = times.map(statsOf);
  return others.map((reference, i) => ({
    bench: "viewer",
    metric,
    value: `${ours ? showMs(ours) : "–"}, ${((ours?.median ?? 0) - reference.median).toFixed(2)} ms more`,
    reference: `${ways[i + 1]?.name}: ${showMs(reference)}`,
    target,
    raw: times,
  }));
}

/** Many viewers of one lane, each with ten updates a second. */
async function manyViewers(way: Way, counts: number[], seconds: number): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const count of counts) {
    const clients = await Promise.all(
      Array.from({ length: count }, () => connectRfb(way.url, PIXELS.raw, way.secret)),
    );
    const bytes = () => clients.reduce((sum, c) => sum + c.bytes(), 0);
    const [used, before, start] = [cpuOf(way.pids()), bytes(), performance.now()];
    const watch = async (client: RfbClient) => {
      for (let n = 0; n < seconds * UPDATES_PER_S; n += 1) {
        const due = start + (n * 1_000) / UPDATES_PER_S;
        await Bun.sleep(Math.max(0, due - performance.now()));
        await client.update(WATCHED);
      }
    };
    await Promise.all(clients.map(watch));
    const elapsed = (performance.now() - start) / 1_000;
    const cores = (cpuOf(way.pids()) - used) / elapsed;
    for (const client of clients) client.close();
    figures.push({
      bench: "viewer",
      metric: `${count} viewers, ${UPDATES_PER_S} updates a second each`,
      value: `${cores.toFixed(2)} cores of the hub, ${((bytes() - before) / MB / elapsed).toFixed(1)} MB/s`,
      target: count === 100 ? "≤ 1 core" : "–",
    });
  }
  return figures;
}
