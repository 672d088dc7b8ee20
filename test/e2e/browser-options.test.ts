import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { RunExtras } from "#shared/protocol/link/messages.ts";
import { type BrowserOptions, PERMISSIONS } from "#shared/protocol/schema/browser-options.ts";
import { JobOptions } from "#shared/protocol/schema/job.ts";
import {
  callsOf,
  laneWarm,
  type SessionRig,
  startSessionRig,
} from "#test/support/rigs/session-rig.ts";
import { assignment } from "#test/support/rigs/worker-rig.ts";
import {
  type PersonSite,
  type Place,
  type SeenPerson,
  type SeenPlaces,
  startPersonSite,
} from "#test/support/servers/site/seen-person.ts";
import { type SiteServer, startServer } from "#test/support/servers/site/server.ts";

/** What pages see of the browser, in every frame, window and worker (rules/browser-options#where-they-hold). */

const SLOW_MS = 180_000;
const WINDOWS =
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/149.0.0.0 Safari/537.36";
const PERSON: BrowserOptions = {
  user_agent: WINDOWS,
  locale: "de-DE",
  timezone: "Asia/Tokyo",
  color_scheme: "dark",
};

const FACTS = `[navigator.userAgent, navigator.platform,
  Intl.DateTimeFormat().resolvedOptions().timeZone, navigator.languages.join(),
  matchMedia("(prefers-color-scheme: dark)").matches]`;

let site: PersonSite;
let still: SiteServer;
beforeAll(async () => {
  [site, still] = await Promise.all([startPersonSite(), startServer("127.0.0.1")]);
  const page = (place: string, more = "") => `<!doctype html><title>still</title>
<script>document.title = "ran"; new Image().src = "/ran?${place}";</script>
<noscript><img src="/quiet?${place}"></noscript>${more}`;
  for (const [path, text] of [
    ["/", page("top", `<iframe src="/frame"></iframe>`)],
    ["/frame", page("frame")],
  ] as const)
    still.on(path, (_req, res) => {
      res.writeHead(200, { "content-type": "text/html" });
      res.end(text);
    });
});
afterAll(async () => {
  await Promise.all([site.stop(), still.stop()]);
});

const places = (seen: SeenPlaces): [Place, SeenPerson][] =>
  Object.entries(seen).filter(([place]) => place !== "blank_popup") as [Place, SeenPerson][];
/** The same of every place. */
const each = <T>(seen: SeenPlaces, value: T | ((place: Place) => T)) =>
  Object.fromEntries(
    places(seen).map(([place]) => [place, value instanceof Function ? value(place) : value]),
  );
const read = (seen: SeenPlaces, what: (one: SeenPerson) => unknown) =>
  Object.fromEntries(places(seen).map(([place, one]) => [place, what(one)]));

/** Paths that were asked for without this value. */
const othersThan = (value: string, sent: Record<string, (string | undefined)[]>): string[] =>
  Object.keys(sent).filter((path) => sent[path]?.some((one) => one !== value));

function expectPerson(seen: SeenPlaces): void {
  expect(places(seen)).toHaveLength(7);
  expect(read(seen, (one) => [one.user_agent, one.sent["user-agent"], one.platform])).toEqual(
    each(seen, [WINDOWS, WINDOWS, "Win32"]),
  );
  expect(read(seen, ({ hints }) => [hints?.platform, hints?.mobile])).toEqual(
    each(seen, ["Windows", false]),
  );
  const brands = read(seen, ({ hints }) =>
    hints?.brands.map(({ brand, version }) => `${brand} ${version}`).sort(),
  );
  expect(brands).toEqual(
    each(seen, ["Chromium 149", "Google Chrome 149", expect.stringMatching(/^Not.A.Brand \d+$/)]),
  );
  expect(read(seen, (one) => [one.languages, one.sent["accept-language"], one.number])).toEqual(
    each(seen, ["de-DE,de", "de-DE,de;q=0.9", "1.234,5"]),
  );
  expect(read(seen, ({ timezone, offset }) => [timezone, offset])).toEqual(
    each(seen, ["Asia/Tokyo", -540]),
  );
  // Workers have no media.
  expect(read(seen, ({ dark }) => dark)).toEqual(
    each(seen, (place) => (place.endsWith("worker") ? null : true)),
  );
  // Of every document and script; that of a service worker is asked for by Chromium itself.
  expect(othersThan(WINDOWS, site.sent("user-agent"))).toEqual(["/service.js"]);
  expect(othersThan("de-DE,de;q=0.9", site.sent("accept-language"))).toEqual(["/service.js"]);
  expect(site.asked()).toMatchObject({
    "user-agent": WINDOWS,
    "accept-language": "de-DE,de;q=0.9",
    "sec-ch-ua": expect.stringContaining('"Google Chrome";v="149"'),
    "sec-ch-ua-platform": '"Windows"',
  });
}

describe.each([
  ["headless", "1"],
  ["headful", "0"],
])("on a %s lane", (_, headless_lanes) => {
  let rig: SessionRig;
  beforeAll(async () => {
    rig = await startSessionRig({ SVC_HEADLESS_LANES: headless_lanes });
  }, SLOW_MS);
  afterAll(() => rig.close(), SLOW_MS);

  const visit = async (browser_options: BrowserOptions | null): Promise<SeenPlaces> => {
    const told = site.told();
    const session = await rig.open({ url: site.url, browser_options });
    const seen = await told;
    await session.close();
    return seen;
  };

  test(
    "every place of a session sees its options, and the next session's see none of them",
    async () => {
      const before = await visit(null);
      expectPerson(await visit(PERSON));
      const after = await visit(null);
      const facts = ({ user_agent, platform, languages, timezone, dark }: SeenPerson) => [
        user_agent,
        platform,
        languages,
        timezone,
        dark,
      ];
      expect(read(after, facts)).toEqual(read(before, facts));
      expect(read(after, ({ languages }) => languages)).toEqual(each(after, "en-US,en"));
    },
    SLOW_MS,
  );

  test(
    "one option leaves the others as they are",
    async () => {
      const [before, seen] = [await visit(null), await visit({ locale: "fr-FR" })];
      expect(read(seen, ({ languages }) => languages)).toEqual(each(seen, "fr-FR,fr"));
      const rest = ({ user_agent, platform, hints, timezone }: SeenPerson) => [
        user_agent,
        platform,
        hints,
        timezone,
      ];
      expect(read(seen, rest)).toEqual(read(before, rest));
    },
    SLOW_MS,
  );

  test(
    "pages are of the size, the pixels and the name of a device, and at the place that is said",
    async () => {
      const seen = await visit({
        device: "Pixel 7",
        geolocation: { latitude: 52.5, longitude: 13.4, accuracy: 10 },
        permissions: ["notifications"],
      });
      const windows = (one: SeenPerson) => [one.width, one.pixels, one.fingers, one.coarse];
      expect(windows(seen.main)).toEqual([412, 2.625, 5, true]);
      expect(windows(seen.popup)).toEqual([412, 2.625, 5, true]);
      for (const part of [seen.frame, seen.far_frame])
        expect(windows(part).slice(1)).toEqual([2.625, 5, true]);
      expect(read(seen, ({ hints }) => [hints?.platform, hints?.mobile])).toEqual(
        each(seen, ["Android", true]),
      );
      expect(read(seen, ({ user_agent }) => user_agent)).toEqual(
        each(seen, expect.stringMatching(/Android.*Pixel 7.*Chrome\/\d+\.0\.0\.0 Mobile/)),
      );
      for (const place of ["main", "frame", "far_frame", "popup"] as const)
        expect([place, seen[place].place]).toEqual([place, [52.5, 13.4]]);
      for (const place of ["main", "popup", "service_worker"] as const)
        expect([place, seen[place].may]).toEqual([place, "granted,granted"]);
      const after = await visit(null);
      expect([after.main.may, after.main.fingers, after.main.pixels]).toEqual([
        "prompt,prompt",
        0,
        1,
      ]);
    },
    SLOW_MS,
  );

  test(
    "pages may do what is permitted without a question, and nothing else",
    async () => {
      const all = PERMISSIONS.filter((name) => name !== "ambient-light-sensor");
      const ask = `Promise.all(${JSON.stringify(all)}.map(async (name) => [name, (await navigator.permissions.query(
        name === "midi-sysex" ? { name: "midi", sysex: true } : { name })).state]))`;
      const statesWith = async (permissions: BrowserOptions["permissions"]) => {
        const session = await rig.open({ url: still.origin, browser_options: { permissions } });
        const states = await session.get<[string, string][]>("evaluate", { code: ask });
        await session.close();
        return states.filter(([, state]) => state !== "granted").map(([name]) => name);
      };
      expect(await statesWith([...PERMISSIONS])).toEqual([]);
      const undecided = await statesWith([]);
      expect(undecided).toContain("clipboard-read");
      expect(await statesWith(["clipboard-write"])).toEqual(undecided);
    },
    SLOW_MS,
  );

  test(
    "every request has the headers that are said, and every document runs the scripts that are said before its own",
    async () => {
      const seen = await visit({
        extra_headers: { "X-Team": "blue" },
        init_scripts: [
          "globalThis.marked = [...(globalThis.marked ?? []), 'first']",
          "marked.push('second')",
        ],
      });
      expect(read(seen, ({ sent }) => sent["x-team"])).toEqual(each(seen, "blue"));
      expect(othersThan("blue", site.sent("x-team"))).toEqual(["/service.js"]);
      expect(read(seen, ({ marked }) => marked)).toEqual(
        each(seen, (place) => (place.endsWith("worker") ? null : "first,second")),
      );
    },
    SLOW_MS,
  );

  test(
    "without JavaScript no document runs a script, in frames neither, and a job ends as usual",
    async () => {
      still.hits.length = 0;
      const message = assignment("still", 0, 901);
      const warm = laneWarm(rig.peer, 0);
      rig.peer.send({
        ...message,
        url: still.origin,
        options: JobOptions.parse({ idle_seconds: 0.5 }),
        extras: RunExtras.parse({ browser_options: { javascript: false } }),
      });
      const result = await rig.peer.nextWhere(["result"], (frame) => frame.job_id === "still");
      expect(result).toMatchObject({ status: "completed", title: "still" });
      await warm;
      const asked = still.hits.map(({ path }) => path);
      expect(asked).toContain("/quiet?top");
      expect(asked).toContain("/quiet?frame");
      expect(asked.filter((path) => path.startsWith("/ran"))).toEqual([]);
    },
    SLOW_MS,
  );

  test(
    "pages of a job are of the device, at the place, with the permissions, headers and scripts that are said",
    async () => {
      const told = site.told();
      const warm = laneWarm(rig.peer, 0);
      rig.peer.send({
        ...assignment("device", 0, 902),
        url: site.url,
        options: JobOptions.parse({ idle_seconds: 0.5 }),
        extras: RunExtras.parse({
          browser_options: {
            device: "Pixel 7",
            viewport: { width: 500, height: 700 },
            geolocation: { latitude: 52.5, longitude: 13.4, accuracy: 10 },
            permissions: ["notifications"],
            extra_headers: { "X-Team": "blue" },
            init_scripts: ["globalThis.marked = ['first']"],
          },
        }),
      });
      const seen = await told;
      const result = await rig.peer.nextWhere(["result"], (frame) => frame.job_id === "device");
      expect(result).toMatchObject({ status: "completed", title: "told" });
      await warm;
      for (const place of ["main", "popup"] as const) {
        const one = seen[place];
        expect([place, one.width, one.fingers, one.coarse]).toEqual([place, 500, 5, true]);
        expect([place, one.place, one.may]).toEqual([place, [52.5, 13.4], "granted,granted"]);
      }
      expect(read(seen, ({ user_agent }) => user_agent)).toEqual(
        each(seen, expect.stringMatching(/Android.*Pixel 7/)),
      );
      expect(read(seen, ({ sent }) => sent["x-team"])).toEqual(each(seen, "blue"));
      expect(othersThan("blue", site.sent("x-team"))).toEqual(["/service.js"]);
      expect(read(seen, ({ marked }) => marked)).toEqual(
        each(seen, (place) => (place.endsWith("worker") ? null : "first")),
      );
    },
    SLOW_MS,
  );

  test(
    "every place of a job sees its options, and so does the session that it leaves open",
    async () => {
      const message = assignment("seen", 0, 900);
      const told = site.told();
      rig.peer.send({
        ...message,
        url: site.url,
        options: JobOptions.parse({ idle_seconds: 0.5, keep_session: true }),
        extras: RunExtras.parse({ browser_options: PERSON }),
      });
      expectPerson(await told);
      const result = await rig.peer.nextWhere(["result"], (frame) => frame.job_id === "seen");
      expect(result).toMatchObject({ status: "completed" });
      const { session_id, lease_token } = message;
      const kept = callsOf(rig.peer, rig.sessions, session_id);
      await kept.get("navigate", { url: `${site.url}&part` });
      expect(await kept.get<unknown>("evaluate", { code: FACTS })).toEqual([
        WINDOWS,
        "Win32",
        "Asia/Tokyo",
        "de-DE,de",
        true,
      ]);
      const warm = laneWarm(rig.peer, 0);
      rig.peer.send({ type: "HubCloseSession", session_id, lease_token, reason: "over" });
      await warm;
    },
    SLOW_MS,
  );
});
