import { afterAll, beforeAll, expect, test } from "bun:test";
import { brotliDecompressSync, gunzipSync, inflateSync } from "node:zlib";
import type { TimedEvent } from "#shared/recording/events.ts";
import { FRAME, framesOf } from "#shared/recording/frames.ts";
import type { Recording } from "#shared/recording/record.ts";
import { connectRfb } from "#test/support/clients/rfb-client.ts";
import { type FleetProcesses, startFleet, until } from "#test/support/rigs/fleet-process.ts";
import { serveEchoingSite } from "#test/support/servers/site/echoing.ts";

/** Secrets that are planted in every way, and searched in everything that is kept of a run. */

const LONG_MS = 180_000;
/** Of a recipe: the page says it in every spelling, so every spelling must be hidden. */
const OF_RECIPE = `q7Kz"<ö>&'/+ x9Wv%`;
/** Typed by other means into a page that says nothing; each has its own, so that a find names its way. */
const TYPED = {
  fill: 'fill-8d"1f <&>/+ü%',
  type: "type-5c0e-Secret",
  press: "zqjxkvw",
  viewer: "viewer-secret-77",
  script: "script-9b2d-Secret",
  failed: "failed-4e6a-Secret",
  cookie: "cookie-2f7c-Secret",
  login: "login:3a9e-Secret",
};
/** Typed into the password field of a page that says it in every spelling. */
const SAID = {
  fill: `said-fill-8d"1f <&>/+ü%`,
  type: "said-type-5c0e-Secret",
  focused: "said-focused-77aa-Secret",
  press: "vqxzjkwp",
  recipe: "said-recipe-2f7c-Secret",
  recipe_typed: "said-recipe-typed-3b1d",
  script: "said-script-9b2d-Secret",
  kept: "said-kept-61ce-Secret",
};
const PLACEHOLDER = "$" + "{ENV:PLANTED}";
/** Of a login by HTTP, which no recipe has. */
const OF_LOGIN = "http-login-61ce-Secret";

let fleet: FleetProcesses;
let site: ReturnType<typeof serveEchoingSite>;

beforeAll(async () => {
  site = serveEchoingSite();
  fleet = await startFleet({
    lanes: 1,
    env: {
      SVC_DRAIN_TIMEOUT_S: "1",
      SVC_RECIPE_ENV: "PLANTED@127.0.0.1,PLANTED_LOGIN@127.0.0.1",
      PLANTED: OF_RECIPE,
      PLANTED_LOGIN: OF_LOGIN,
    },
  });
  await fleet.lanesWarm(LONG_MS);
}, LONG_MS);

afterAll(async () => {
  await fleet?.stop();
  await site?.stop(true);
}, LONG_MS);

const send = async (method: string, path: string, body?: unknown) => {
  const answer = await fetch(fleet.url + path, {
    method,
    ...(body !== undefined && {
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    }),
  });
  return { status: answer.status, text: await answer.text() };
};
const bytesAt = async (path: string) => {
  const answer = await fetch(fleet.url + path);
  return answer.ok ? Buffer.from(await answer.arrayBuffer()) : Buffer.alloc(0);
};

/** What a secret looks like to those who know how it was written; the letters of base64 at each of its three places. */
function spellingsOf(secret: string): string[] {
  const html = secret.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const base64 = ["", "a", "ab"].map((before) => {
    const at = Math.ceil((before.length * 8) / 6);
    const end = Math.floor(((before.length + Buffer.byteLength(secret)) * 8) / 6);
    return Buffer.from(before + secret)
      .toString("base64")
      .slice(at, end);
  });
  return [
    secret,
    encodeURIComponent(secret),
    encodeURI(secret),
    new URLSearchParams({ q: secret }).toString().slice(2),
    JSON.stringify(secret).slice(1, -1),
    html,
    html.replaceAll('"', "&quot;").replaceAll("'", "&#39;"),
    ...base64,
    ...base64.map((text) => text.replaceAll("+", "-").replaceAll("/", "_")),
  ];
}

/** What is compressed within these bytes, for whoever decompresses wherever something could begin. */
function unpacked(bytes: Buffer): Buffer[] {
  return [gunzipSync, inflateSync, brotliDecompressSync].flatMap((unpack) => {
    try {
      return [unpack(bytes)];
    } catch {
      return [];
    }
  });
}

/** The places in which a secret stands, in any spelling. */
function findsOf(secret: string, places: ReadonlyMap<string, Buffer>): string[] {
  return [...places].flatMap(([place, bytes]) =>
    [bytes, ...unpacked(bytes)].flatMap((one) =>
      spellingsOf(secret)
        .filter((spelling) => one.includes(spelling))
        .map((spelling) => `${place}: ${spelling}`),
    ),
  );
}

/** Everything of a run that the rules promise to be without secrets. */
async function placesOf(path: string, documents: readonly string[]): Promise<Map<string, Buffer>> {
  await until(`the end of the recording of ${path}`, LONG_MS, async () => {
    const { text } = await send("GET", `${path}/recording`);
    return (JSON.parse(text) as Recording).state === "whole";
  });
  const places = new Map<string, Buffer>();
  for (const name of ["recording", "recording/data", "recording/events", ...documents])
    places.set(name, await bytesAt(`${path}/${name}`));
  const data = places.get("recording/data") ?? Buffer.alloc(0);
  // A page's text would be found in no picture: but what else a server says is text.
  const pictures = [...framesOf(data)].filter(({ kind }) => kind === FRAME.rfb);
  places.set("the server's bytes", Buffer.concat(pictures.map(({ payload }) => payload)));
  expect(places.get("recording/events")?.length).toBeGreaterThan(100);
  return places;
}

const eventsIn = (places: Map<string, Buffer>): TimedEvent[] =>
  JSON.parse(String(places.get("recording/events"))).items;

const isLetter = (value: unknown): boolean => typeof value === "string" && value.length === 1;

/** What the events say letter by letter: each text that is one character, or ends in one. */
const lettersOf = (events: TimedEvent[]): string =>
  events
    .flatMap((event) => {
      if (event.type === "step") return [/ press (\S)(?:: .*)?$/.exec(event.text)?.[1] ?? ""];
      if (event.type !== "action") return [];
      return Object.values(event.arguments ?? {}).filter(isLetter);
    })
    .join("");

// rules/recordings#secrets-in-recordings
test(
  "what a recipe's secret is shows in nothing that is kept of a session, however the page spells it",
  async () => {
    const opened = await send("POST", "/sessions", { url: `${site.url}loud` });
    const path = `/sessions/${JSON.parse(opened.text).session_id}`;
    const actions = [
      { kind: "fill", selector: "#word", text: PLACEHOLDER },
      { kind: "click", selector: "#other" },
      { kind: "wait", selector: "#word" },
    ];
    const ran = await send("POST", `${path}/recipe`, { actions });
    expect({ status: ran.status, text: ran.text }).toMatchObject({ status: 200 });
    await until("what the page said", LONG_MS, async () =>
      (await send("GET", `${path}/recording/events`)).text.includes("request_failed"),
    );
    const submitted = await send("POST", `${path}/recipe`, {
      actions: [
        { kind: "fill", selector: "#word", text: PLACEHOLDER },
        { kind: "press", key: "Enter" },
        { kind: "wait", selector: "#word" },
      ],
    });
    expect(submitted.status).toBe(200);
    await until("another address", LONG_MS, async () =>
      (await send("GET", `${path}/recording/events`)).text.includes("/in?"),
    );
    await send("DELETE", path);
    const places = await placesOf(path, []);
    expect(findsOf(OF_RECIPE, places)).toEqual([]);
    expect(String(places.get("recording/events"))).toContain("***");
  },
  LONG_MS,
);

// rules/recordings#secrets-in-recordings, rules/recipes#secrets-in-recipes
test(
  "a job's recording, HAR and log do not have the secret of its recipe",
  async () => {
    const actions = [
      { kind: "fill", selector: "#word", text: PLACEHOLDER },
      { kind: "press", key: "Enter" },
      { kind: "wait", selector: "#word" },
    ];
    const host = await send("PUT", "/hosts/127.0.0.1", {
      recipes: [{ pattern: "/loud*", actions }],
    });
    expect({ status: host.status, text: host.text }).toMatchObject({ status: 200 });
    const job = await fleet.submit(`${site.url}loud`, { idle_seconds: 0.3, final_state: false });
    const end = await fleet.finished(job.job_id);
    expect({ status: end.status, error: end.error }).toEqual({ status: "completed", error: null });
    const path = `/jobs/${job.job_id}`;
    const places = await placesOf(path, ["har.json", "log.txt", "events"]);
    expect(String(places.get("har.json"))).toContain("/in?");
    expect(String(places.get("log.txt"))).toContain("fill #word");
    expect(findsOf(OF_RECIPE, places)).toEqual([]);
  },
  LONG_MS,
);

// rules/recordings#secrets-in-recordings, rules/jobs#keep-the-session
test(
  "a session that a job leaves open does not have the password of its login by HTTP",
  async () => {
    const job = await fleet.submit(`${site.url}loud`, {
      idle_seconds: 0.3,
      final_state: false,
      keep_session: true,
      http_credentials: { username: "user", password: "$" + "{ENV:PLANTED_LOGIN}" },
    });
    const { status, session_id } = await fleet.finished(job.job_id);
    expect(status).toBe("completed");
    const path = `/sessions/${session_id}`;
    const code = `console.log("typed " + ${JSON.stringify(OF_LOGIN)})`;
    expect((await send("POST", `${path}/evaluate`, { code })).status).toBe(200);
    await send("DELETE", path);
    const places = await placesOf(path, []);
    expect(findsOf(OF_LOGIN, places)).toEqual([]);
    expect(String(places.get("recording/events"))).toContain("typed");
  },
  LONG_MS,
);

// rules/recordings#secrets-in-recordings
test(
  "what was typed is in nothing that is kept, whoever typed it, and neither are cookies and headers",
  async () => {
    const with_login = `http://user:${encodeURIComponent(TYPED.login)}@127.0.0.1:${site.port}/quiet`;
    const opened = await send("POST", "/sessions", { url: with_login });
    const path = `/sessions/${JSON.parse(opened.text).session_id}`;
    const act = (action: string, body: object) => send("POST", `${path}/${action}`, body);
    await act("fill", { selector: "#word", text: TYPED.fill });
    await act("type", { text: TYPED.type });
    for (const key of TYPED.press) await act("press", { key });
    await act("recipe", { actions: [...TYPED.press].map((key) => ({ kind: "press", key })) });
    // What fails says why, and must not say with what.
    const timeout_s = 0.5;
    await act("press", { key: TYPED.failed });
    await act("fill", { selector: "#dead", text: TYPED.failed, timeout_s });
    await act("select_option", { selector: "#list", values: [TYPED.failed], timeout_s });
    const failing = [{ kind: "fill", selector: "#dead", text: TYPED.failed }];
    await act("recipe", { actions: failing, timeout_s });
    await act("recipe", { actions: [{ kind: "press", key: TYPED.failed }] });
    const cookies = [{ name: "sid", value: TYPED.cookie, url: site.url.href }];
    await send("PUT", `${path}/cookies`, { cookies });
    await act("navigate", { url: with_login });
    const viewer = await connectRfb(`${fleet.url.replace("http", "ws")}${path}/novnc/websockify`);
    await act("click", { selector: "#word" });
    viewer.type(TYPED.viewer);
    await until("what the viewer typed", LONG_MS, async () => {
      const { text } = await act("evaluate", { code: "word.value.length" });
      return text.includes(`"result":${TYPED.viewer.length}`);
    });
    await viewer.close();
    await send("DELETE", path);
    const places = await placesOf(path, []);
    const { script: _, ...typed } = TYPED;
    const finds = Object.entries(typed).flatMap(([way, secret]) =>
      findsOf(secret, places).map((find) => `${way} in ${find}`),
    );
    expect(finds).toEqual([]);
    expect(lettersOf(eventsIn(places))).toBe("");
  },
  LONG_MS,
);

// rules/recordings#secrets-in-recordings
test(
  "what a script types and sends is in nothing that is kept of its job",
  async () => {
    const code = `import { session, log } from "flotilla";
await session.fill({ selector: "#word", text: ${JSON.stringify(TYPED.script)} });
await session.press({ key: "Tab" });
await log("typed");
export default { ok: true };`;
    const job = await fleet.submit(`${site.url}quiet`, { mode: "rerun", code, goal: "types" });
    const end = await fleet.finished(job.job_id);
    expect({ status: end.status, error: end.error }).toEqual({ status: "completed", error: null });
    const places = await placesOf(`/jobs/${job.job_id}`, ["har.json", "log.txt", "events"]);
    expect(eventsIn(places).some((e) => e.type === "action" && e.name === "fill")).toBe(true);
    expect(findsOf(TYPED.script, places)).toEqual([]);
  },
  LONG_MS,
);

// rules/recordings#secrets-in-recordings
test(
  "what is typed into a password field shows in nothing that its page says of it, whoever typed it",
  async () => {
    const opened = await send("POST", "/sessions", { url: `${site.url}loud` });
    const path = `/sessions/${JSON.parse(opened.text).session_id}`;
    const act = (action: string, body: object) => send("POST", `${path}/${action}`, body);
    const field = { selector: "#word" };
    const recipe = (...actions: object[]) => act("recipe", { actions });
    const ways: Record<
      Exclude<keyof typeof SAID, "script" | "kept">,
      (text: string) => Promise<unknown>
    > = {
      fill: (text) => act("fill", { ...field, text }),
      type: (text) => act("type", { ...field, text }),
      focused: (text) => act("type", { text }),
      press: async (text) => {
        for (const key of text) await act("press", { key });
      },
      recipe: (text) => recipe({ kind: "fill", ...field, text }),
      recipe_typed: (text) => recipe({ kind: "click", ...field }, { kind: "type", text }),
    };
    for (const [way, enter] of Object.entries(ways)) {
      await act("navigate", { url: `${site.url}loud?${way}` });
      await enter(SAID[way as keyof typeof ways]);
      await act("click", { selector: "#other" });
    }
    const code = 'console.log("the last word, and said is no secret")';
    expect((await act("evaluate", { code })).status).toBe(200);
    await send("DELETE", path);
    const places = await placesOf(path, []);
    const { script: _, kept: __, ...said } = SAID;
    const finds = Object.entries(said).flatMap(([way, secret]) =>
      findsOf(secret, places).map((find) => `${way} in ${find}`),
    );
    expect(finds).toEqual([]);
    const events = String(places.get("recording/events"));
    expect(events).not.toContain(SAID.press.slice(0, 5));
    expect(events).toContain("typed ***");
    expect(events).toContain("the last word, and said is no secret");
  },
  LONG_MS,
);

// rules/recordings#secrets-in-recordings, rules/jobs#keep-the-session
test(
  "a password that a job's script or recipe has typed is hidden in its recording, and in that of the session it leaves",
  async () => {
    const code = `import { session } from "flotilla";
await session.fill({ selector: "#word", text: ${JSON.stringify(SAID.script)} });
await session.click({ selector: "#other" });
export default { ok: true };`;
    const scripted = await fleet.submit(`${site.url}loud`, { mode: "rerun", code, goal: "types" });
    expect((await fleet.finished(scripted.job_id)).status).toBe("completed");
    const of_script = await placesOf(`/jobs/${scripted.job_id}`, []);
    expect(String(of_script.get("recording/events"))).toContain("typed ***");
    expect(findsOf(SAID.script, of_script)).toEqual([]);

    const actions = [
      { kind: "fill", selector: "#word", text: SAID.kept },
      { kind: "click", selector: "#other" },
    ];
    const host = { recipes: [{ pattern: "/loud*", actions }] };
    expect((await send("PUT", "/hosts/127.0.0.1", host)).status).toBe(200);
    const job = await fleet.submit(`${site.url}loud`, {
      idle_seconds: 0.3,
      final_state: false,
      keep_session: true,
    });
    const { status, session_id } = await fleet.finished(job.job_id);
    expect(status).toBe("completed");
    const path = `/sessions/${session_id}`;
    const said = { code: 'console.log("again " + document.querySelector("#word").value)' };
    expect((await send("POST", `${path}/evaluate`, said)).status).toBe(200);
    await send("DELETE", path);
    const of_session = await placesOf(path, []);
    expect(String(of_session.get("recording/events"))).toContain("again ***");
    const of_job = await placesOf(`/jobs/${job.job_id}`, []);
    expect([...findsOf(SAID.kept, of_session), ...findsOf(SAID.kept, of_job)]).toEqual([]);
  },
  LONG_MS,
);
