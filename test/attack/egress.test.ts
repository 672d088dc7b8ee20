import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { hostname } from "node:os";
import { type AttackList, attempting } from "#test/support/rigs/attempts.ts";
import { type JobLane, openJobLane } from "#test/support/rigs/lane-jobs.ts";
import { type SiteServer, startServer } from "#test/support/servers/site/server.ts";
import { isMarked } from "#worker/egress/port-marks.ts";
import {
  METADATA,
  NEIGHBOUR_SPELLINGS,
  PAGE_TO_HUB,
  PAGE_TO_METADATA,
  PAGE_TO_NEIGHBOUR,
  SPELLINGS,
} from "./lists/egress.ts";
import {
  MAIN_WAYS,
  PAGE_WAYS,
  PAGE_WAYS_HELP,
  SERVICE_WORKER,
  TRY_ALL,
  WAYS_THAT_TELL,
} from "./lists/page-ways.ts";

const SLOW_MS = 240_000;

/** Something that a lane must not reach: every connection to it, and every datagram, is a breach. */
interface Target {
  port: number;
  connections(): number;
  datagrams(): number;
  forget(): void;
  stop(): void;
}

/** @param answers like a web server that lets everybody read what it says */
async function startTarget(): Promise<Target> {
  let connections = 0;
  let datagrams = 0;
  const server: Server = createServer((socket) => {
    connections += 1;
    socket.on("error", () => {});
    socket.once("data", () =>
      socket.end(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nAccess-Control-Allow-Origin: *\r\n" +
          "Content-Length: 6\r\nConnection: close\r\n\r\nsecret",
      ),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const at = server.address();
  const port = at && typeof at === "object" ? at.port : 0;
  const udp = createSocket("udp4", () => {
    datagrams += 1;
  });
  udp.bind(port, "127.0.0.1");
  await once(udp, "listening");
  return {
    port,
    connections: () => connections,
    datagrams: () => datagrams,
    forget: () => {
      connections = 0;
      datagrams = 0;
    },
    stop: () => {
      server.close();
      udp.close();
    },
  };
}

/** Names as a hostile DNS gives them. */
const NAMES: Record<string, string[]> = {
  "rebound.test": ["127.0.0.1"],
  "six.test": ["::1"],
  "mapped.test": ["::ffff:127.0.0.1"],
  "zero.test": ["0.0.0.0"],
  "translated.test": ["64:ff9b::7f00:1"],
  "metadata.test": ["169.254.169.254"],
  "alibaba.test": ["100.100.100.200"],
  "ec2.test": ["fd00:ec2::254"],
  "link.test": ["fe80::1"],
};
const ask = async (host: string): Promise<string[]> => {
  const found = host === hostname() ? ["127.0.0.1"] : NAMES[host];
  if (!found) throw new Error(`${host} does not exist`);
  return found;
};

const page = (
  places: readonly string[],
  only: readonly string[] = Object.keys(PAGE_WAYS),
) => `<!doctype html><title>trying</title><body><script type=module>
  ${PAGE_WAYS_HELP}
  for (const name of Object.keys(ways)) if (!${JSON.stringify(only)}.includes(name)) delete ways[name];
  const places = ${JSON.stringify(places)};
  fetch("/until-done").catch(() => {});
  ${TRY_ALL}
  document.title = [...said].filter((answer) => / open/.test(answer)).sort().join() || "nothing answered";
  await fetch("/done");
</script>`;

let site: SiteServer;
let lane: JobLane;
/** They stand where the hub is, the control plane, a viewer bridge, and a VNC port: the lanes have no displays. */
let targets: Record<"hub" | "control" | "bridge" | "vnc", Target>;
/** A server of this machine that is nobody's: it may be captured. */
let neighbour: Target;

beforeAll(async () => {
  const [hub, control, bridge, vnc] = await Promise.all([
    ...[startTarget(), startTarget(), startTarget(), startTarget()],
  ]);
  if (!hub || !control || !bridge || !vnc) throw new Error("no targets");
  targets = { hub, control, bridge, vnc };
  neighbour = await startTarget();
  site = await startServer("127.0.0.1");
  site.on("/redirect", (_req, res, url) => {
    res.writeHead(302, { location: url.searchParams.get("to") ?? "/" });
    res.end();
  });
  // The job goes on for as long as its page tries.
  let over = () => {};
  site.on("/until-done", async (_req, res) => {
    let tries = true;
    over = () => {
      tries = false;
    };
    res.once("close", over);
    while (tries) {
      res.write(".");
      await Bun.sleep(200);
    }
    res.end();
  });
  site.on("/done", (_req, res) => {
    over();
    res.end();
  });
  site.on("/sw.js", (_req, res) => {
    res.writeHead(200, { "content-type": "text/javascript" });
    res.end(SERVICE_WORKER);
  });
  lane = await openJobLane(
    {
      HUB_URL: `ws://127.0.0.1:${hub.port}`,
      SVC_CONTROL_URL: `http://localhost:${control.port}`,
      NOVNC_BASE_PORT: String(bridge.port),
      SVC_VNC_PORT_BASE: String(vnc.port),
    },
    ask,
  );
}, 300_000);
afterAll(async () => {
  await lane?.close();
  await site?.stop();
  for (const target of [...Object.values(targets ?? {}), neighbour]) target?.stop();
});

/** Of a page that said that nothing answered, of all that it tried. */
function refuse(list: AttackList): void {
  const tried = attempting(list);
  for (const attempt of list.attempts) tried.refused(attempt);
}

async function visit(path: string, html: string) {
  site.on(path, (_req, res) => {
    res.writeHead(200, { "content-type": "text/html" });
    res.end(html);
  });
  return lane.run({
    url: `${site.origin}${path}`,
    options: { wait_seconds: 60, max_wait_seconds: 180, idle_seconds: 1 },
  });
}

describe("a page of a lane cannot connect to what belongs to the fleet", () => {
  test(
    "these ways do connect, where they may",
    async () => {
      neighbour.forget();
      const { outcome } = await visit("/friendly", page([`127.0.0.1:${neighbour.port}`]));
      expect(outcome.status).toBe("completed");
      for (const way of WAYS_THAT_TELL) expect(outcome.title).toContain(`${way} open`);
      expect(neighbour.connections()).toBeGreaterThan(8);
      // What cannot be proxied is not sent at all.
      expect(neighbour.datagrams()).toBe(0);
    },
    SLOW_MS,
  );

  test(
    "the hub, by any spelling and in any way",
    async () => {
      const { hub } = targets;
      const { outcome, log } = await visit(
        "/hub",
        page(
          SPELLINGS.map((host) => `${host}:${hub.port}`),
          MAIN_WAYS,
        ),
      );
      expect({ title: outcome.title, status: outcome.status }).toEqual({
        title: "nothing answered",
        status: "completed",
      });
      expect([hub.connections(), hub.datagrams()]).toEqual([0, 0]);
      expect(log.join("\n")).toContain(`refused to connect to 127.0.0.1:${hub.port}: `);
      expect(outcome.capture?.reasons).toMatchObject({ protected: expect.any(Number) });
      refuse(PAGE_TO_HUB);
    },
    SLOW_MS,
  );

  test(
    "the control plane and the viewer bridges",
    async () => {
      const { control, bridge } = targets;
      const hosts = ["127.0.0.1", "localhost.", "[::ffff:127.0.0.1]", hostname(), "rebound.test"];
      const places = [control, bridge].flatMap(({ port }) =>
        hosts.map((host) => `${host}:${port}`),
      );
      const { outcome } = await visit("/others", page(places));
      expect(outcome).toMatchObject({ status: "completed", title: "nothing answered" });
      expect([control, bridge].map((target) => target.connections())).toEqual([0, 0]);
    },
    SLOW_MS,
  );

  test(
    "its own debugging port, its VNC port and its gate",
    async () => {
      let own: string[] = [];
      site.on("/ports", (_req, res) => void res.end(JSON.stringify(own)));
      const html = page([]).replace(
        "const places = [];",
        'const places = await (await fetch("/ports")).json();',
      );
      site.on("/own", (_req, res) => {
        res.writeHead(200, { "content-type": "text/html" });
        res.end(html);
      });
      const { outcome, log } = await lane.run({
        url: `${site.origin}/own`,
        options: { wait_seconds: 60, max_wait_seconds: 180, idle_seconds: 1 },
        onBrowser: ({ cdp_port, gate }) => {
          own = ["127.0.0.1", "localhost.", "rebound.test", "[::1]"].flatMap((host) =>
            [cdp_port, gate?.port ?? 0, targets.vnc.port].map((port) => `${host}:${port}`),
          );
        },
      });
      expect(outcome).toMatchObject({ status: "completed", title: "nothing answered" });
      expect(log.join("\n")).toContain("is a port of this worker's own lanes");
      expect(targets.vnc.connections()).toBe(0);
    },
    SLOW_MS,
  );

  test(
    "the ports of another worker's lanes on this machine, of which no hub tells (rules/egress#never-reachable)",
    async () => {
      const [vnc, bridge] = [await startTarget(), await startTarget()];
      const ports = { cdp: 0, vnc: vnc.port, bridge: bridge.port, gate: 0 };
      const other = await openJobLane({
        SVC_VNC_PORT_BASE: String(vnc.port),
        NOVNC_BASE_PORT: String(bridge.port),
      });
      try {
        await other.run({
          url: `${site.origin}/redirect`,
          onBrowser: ({ cdp_port, gate }) => {
            Object.assign(ports, { cdp: cdp_port, gate: gate?.port });
          },
        });
        const list = `http://127.0.0.1:${ports.cdp}/json/list`;
        expect((await fetch(list)).status).toBe(200);
        const places = Object.values(ports).flatMap((port) =>
          NEIGHBOUR_SPELLINGS.map((host) => `${host}:${port}`),
        );
        const { outcome } = await visit("/neighbour", page(places, MAIN_WAYS));
        expect(outcome).toMatchObject({ status: "completed", title: "nothing answered" });
        const there = await lane.run({ url: list });
        expect(there.outcome.error).toContain("a port of another worker's lanes on this machine");
        expect([vnc, bridge].map((target) => target.connections())).toEqual([0, 0]);
      } finally {
        await other.close();
        for (const target of [vnc, bridge]) target.stop();
      }
      expect(isMarked(ports.cdp)).toBe(false);
      refuse(PAGE_TO_NEIGHBOUR);
    },
    SLOW_MS,
  );

  test(
    "metadata and link-local addresses, named or not",
    async () => {
      const { outcome, log } = await visit(
        "/metadata",
        page(
          METADATA.map((host) => `${host}:80`),
          MAIN_WAYS,
        ),
      );
      expect(outcome).toMatchObject({ status: "completed", title: "nothing answered" });
      const told = log.filter((line) => line.includes("refused to connect to")).length;
      // Some spellings are one place.
      expect(told).toBeGreaterThanOrEqual(METADATA.length - 2);
      refuse(PAGE_TO_METADATA);
    },
    SLOW_MS,
  );

  const DOCUMENTS: Record<string, (url: string) => string> = {
    "a frame": (url) => `<iframe src="${url}"></iframe>`,
    "a redirect": (url) =>
      `<script>location = "/redirect?to=" + encodeURIComponent("${url}")</script>`,
    "a refresh": (url) => `<meta http-equiv=refresh content="0;url=${url}">`,
    "a form": (url) =>
      `<form method=post action="${url}"><input name=x></form><script>document.forms[0].submit()</script>`,
    "a window": (url) => `<script>open("${url}")</script>`,
  };
  test.each(Object.keys(DOCUMENTS))(
    "%s that leads to the hub by a name ends the job with the reason",
    async (kind) => {
      const { hub } = targets;
      const html = DOCUMENTS[kind]?.(`http://rebound.test:${hub.port}/ui`) ?? "";
      const { outcome } = await visit(`/${kind.replace(" ", "-")}`, html);
      expect(outcome.status).toBe("failed");
      expect(outcome.error).toContain("127.0.0.1");
      expect(outcome.error).toContain("is a hub of this fleet");
      expect(hub.connections()).toBe(0);
    },
    SLOW_MS,
  );

  test(
    "a job that narrows its way out is held to it",
    async () => {
      neighbour.forget();
      const run = (egress: object) =>
        lane.run({ url: `http://127.0.0.1:${neighbour.port}/`, options: { egress } });
      expect((await run({ mode: "public" })).outcome.error).toContain("is a loopback address");
      expect((await run({ deny: ["127.0.0.0/8"] })).outcome.error).toContain("is denied");
      expect(neighbour.connections()).toBe(0);
      const listed = { mode: "listed", allow: [`127.0.0.1:${neighbour.port}`] };
      expect((await run(listed)).outcome).toMatchObject({ status: "completed", http_status: 200 });
      // An exception of the job's own does not open what the worker refuses.
      const widened = await lane.run({
        url: `http://127.0.0.1:${targets.hub.port}/`,
        options: { egress: { mode: "open", allow: ["127.0.0.1", "*"] } },
      });
      expect(widened.outcome.error).toContain("is a hub of this fleet");
    },
    SLOW_MS,
  );

  test(
    "requests that hang do not stop a lane before there are 99 of them",
    async () => {
      let hanging = 0;
      const all = Promise.withResolvers<void>();
      site.on("/hang", async (_req, res) => {
        hanging += 1;
        if (hanging === 90) all.resolve();
        await all.promise;
        res.end("x");
      });
      // Six to a host is the browser's own limit, and 32 to a proxy what it begins with.
      const { outcome } = await visit(
        "/many",
        `<!doctype html><title>hung</title><script type=module>
          const hosts = Array.from({ length: 15 }, (_, i) => "h" + i + ".localhost:${site.port}");
          const asked = hosts.flatMap((host) => Array.from({ length: 6 }, (_, i) =>
            fetch("http://" + host + "/hang?" + i, { mode: "no-cors" })));
          await Promise.all(asked);
          document.title = asked.length + " answered";
        </script>`,
      );
      expect(outcome).toMatchObject({ status: "completed", title: "90 answered" });
    },
    SLOW_MS,
  );
});
