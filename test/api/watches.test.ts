import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { runClientCommand } from "#hub/program/cli/run-command.ts";
import { createClient } from "#shared/client/index.ts";
import { issueAt, scenarios } from "#test/support/clients/api.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";

let hub: TestHub;
beforeAll(async () => {
  hub = await startTestHub();
});
afterAll(() => hub.close());

const DAILY = { url: TARGET, cron: "0 7 * * *", cron_tz: "Europe/Vienna" };
const wrong = (name: string, send: object, ...loc: string[]) => ({
  name,
  send: { ...DAILY, ...send },
  status: 422,
  body: issueAt("body", ...loc),
});

scenarios("POST /watches (rules/watches#calls)", () => hub, [
  {
    name: "stores a watch with its defaults, due at its next time in its zone",
    send: DAILY,
    status: 201,
    body: {
      ...DAILY,
      name: "",
      options: {},
      every_s: null,
      paused: false,
      keep: 30,
      compare: ["text", "title", "status"],
      ignore_text: [],
      ignore_assets: [],
      webhook_url: null,
      capturing: null,
      baseline: null,
      last: null,
      last_change: null,
      failures: 0,
      failing_since: null,
      last_error: null,
      captures: 0,
      changes: 0,
    },
    after: async (h, { body }) => {
      expect(body.next_at).toMatch(/T0[56]:00:00.000Z$/);
      expect((await h.call("GET", `/watches/${body.watch_id}`)).body).toEqual(body);
    },
  },
  {
    name: "has one with an interval begin at once",
    send: { url: TARGET, every_s: 3_600, name: "Shop" },
    status: 201,
    after: async (_h, { body }) => expect(body.next_at).toBe(body.created_at),
  },
  wrong("refuses neither of the two schedules", { cron: null }, "cron"),
  wrong("and both", { every_s: 60 }, "cron"),
  wrong("refuses an interval below a minute", { cron: null, every_s: 59 }, "every_s"),
  wrong("refuses a pattern with seconds", { cron: "*/5 * * * * *" }, "cron"),
  wrong("refuses one that cannot be read", { cron: "61 * * * *" }, "cron"),
  wrong("refuses one without a time to come", { cron: "0 0 31 2 *" }, "cron"),
  wrong("refuses an unknown zone", { cron_tz: "Mars/Olympus" }, "cron_tz"),
  wrong("refuses an option that is none", { options: { scrol: true } }, "options", "scrol"),
  wrong(
    "refuses browsers that stay open",
    { options: { keep_session: true } },
    "options",
    "keep_session",
  ),
  wrong(
    "refuses the browser of a job",
    { options: { attach_to_job: "j" } },
    "options",
    "attach_to_job",
  ),
  wrong(
    "refuses a proxy's login",
    { options: { proxy: "http://u:p@proxy.test:1" } },
    "options",
    "proxy",
  ),
  wrong("refuses what is no URL", { url: "shop" }, "url"),
  wrong(
    "refuses a receiver in the cloud's metadata",
    { webhook_url: "http://169.254.169.254/" },
    "webhook_url",
  ),
  wrong("refuses nothing to compare", { compare: [] }, "compare"),
  wrong("refuses a pattern of stars", { ignore_text: ["**"] }, "ignore_text", 0 as never),
  wrong(
    "refuses more patterns than there may be",
    { ignore_text: Array(21).fill("a") },
    "ignore_text",
  ),
  wrong("refuses to keep one capture", { keep: 1 }, "keep"),
  wrong("refuses unknown keys", { crown: 1 }, "crown"),
]);

describe("PUT, PATCH and DELETE /watches/{watch_id} (rules/watches#calls)", () => {
  const created = async (more: object = {}) =>
    (await hub.call("POST", "/watches", { ...DAILY, ...more })).body;

  test("PATCH leaves what it does not name; one kind of schedule replaces the other", async () => {
    const { watch_id, next_at } = await created({ name: "Shop", options: { scroll: true } });
    const path = `/watches/${watch_id}`;
    const named = (await hub.call("PATCH", path, { name: "Store" })).body;
    expect(named).toMatchObject({ ...DAILY, name: "Store", options: { scroll: true }, next_at });
    const every = (await hub.call("PATCH", path, { every_s: 600 })).body;
    expect(every).toMatchObject({ cron: null, every_s: 600 });
    expect(Date.parse(every.next_at) - Date.parse(every.updated_at)).toBeGreaterThan(590_000);
    expect((await hub.call("PATCH", path, { paused: true })).body.next_at).toBeNull();
    const both = await hub.call("PATCH", path, { cron: "@daily", every_s: 60 });
    expect(both).toMatchObject({ status: 422, body: issueAt("body", "cron") });
    expect((await hub.call("PATCH", path, { cron: null, every_s: null })).status).toBe(422);
  });

  test("PUT sets the rest to its defaults; DELETE ends it", async () => {
    const { watch_id } = await created({ name: "Shop", keep: 5, paused: true });
    const path = `/watches/${watch_id}`;
    const put = await hub.call("PUT", path, { url: TARGET, cron: "@hourly" });
    expect(put.body).toMatchObject({ name: "", keep: 30, cron: "@hourly", paused: false });
    expect((await hub.call("DELETE", path)).status).toBe(204);
    for (const method of ["GET", "DELETE"])
      expect((await hub.call(method, path)).body).toEqual({ detail: "watch not found" });
    expect((await hub.call("POST", `${path}/capture`)).status).toBe(404);
    expect((await hub.call("GET", "/watches/no%20id")).status).toBe(404);
  });

  test("changes that meet are all made", async () => {
    const { watch_id } = await created();
    const all = [{ name: "a" }, { keep: 7 }, { compare: ["assets"] }];
    const path = `/watches/${watch_id}`;
    const answers = await Promise.all(all.map((one) => hub.call("PATCH", path, one)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await hub.call("GET", path)).body).toMatchObject(Object.assign({}, ...all));
  });

  test("the client has the calls, and lists in the order of creation", async () => {
    const { watches, jobs } = createClient({ base_url: hub.url });
    const one = await watches.create({ url: TARGET, cron: "@yearly", paused: true });
    expect((await watches.list()).at(-1)).toEqual(one);
    const job = await watches.capture(one.watch_id);
    expect(job).toMatchObject({ watch_id: one.watch_id, changed: null, changes: null });
    const listed = await jobs.list({ watch: one.watch_id });
    expect(listed.jobs.map(({ job_id }) => job_id)).toEqual([job.job_id]);
    await expect(watches.capture(one.watch_id)).rejects.toMatchObject({ status: 409 });
    await jobs.cancel(job.job_id);
    const renamed = await watches.change(one.watch_id, { name: "x" });
    expect(renamed).toEqual({ ...one, ...renamed, name: "x" });
    await watches.delete(one.watch_id);
  });
});

async function command(words: string[], flags: Record<string, string[]> = {}) {
  let out = "";
  const terminal = {
    width: null,
    live: false,
    liveWidth: 80,
    out: (text: string) => {
      out += text;
    },
    err: (text: string) => {
      out += text;
    },
  };
  const { signal } = new AbortController();
  const given = { hub: [hub.url], ...flags };
  const code = await runClientCommand("watch", words, given, {}, terminal, signal);
  return { code, out };
}

test("flotilla watch makes a watch of what was typed, and lists all of them (rules/watches#calls)", async () => {
  const typed = { cron: ["0 7 * * *"], tz: ["Europe/Vienna"], name: ["By hand"] };
  const made = await command([TARGET], { ...typed, option: ["scroll=true"] });
  expect(made.code).toBe(0);
  expect(made.out).toContain(`of ${TARGET}, next at 20`);
  const [, watch_id = ""] = /^watch (\w+) of/.exec(made.out) ?? [];
  expect((await hub.call("GET", `/watches/${watch_id}`)).body).toMatchObject({
    ...DAILY,
    name: "By hand",
    options: { scroll: true },
  });
  const listed = await command([]);
  expect(listed.out).toMatch(new RegExp(`${watch_id}.*By hand`));
  const every = await command([TARGET], { every: ["600"], json: ["1"] });
  expect(JSON.parse(every.out)).toMatchObject({ every_s: 600, cron: null });
  await expect(command([TARGET])).rejects.toThrow("watch URL needs --cron or --every");
  const often = await command([TARGET], { every: ["5"] });
  expect(often.code).toBe(2);
  expect(often.out).toContain("every_s");
});
