import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Job } from "#shared/protocol/schema/job.ts";
import { connectRfb } from "#test/support/clients/rfb-client.ts";
import { makeTarGz } from "#test/support/clients/tar.ts";
import { type FleetProcesses, startFleet } from "#test/support/rigs/fleet-process.ts";
import { openObject } from "#test/support/rigs/key-file.ts";
import { type LoginSite, startLoginSite } from "#test/support/servers/site/login.ts";

const WAIT = 240_000;
/** The operator's own browsers, as this test makes them. */
const config_dir = mkdtempSync(join(tmpdir(), "flotilla-config-"));
let site: LoginSite;
let fleet: FleetProcesses;

beforeAll(async () => {
  [site, fleet] = await Promise.all([
    startLoginSite("login.localhost"),
    startFleet({ lanes: 1, env: { SVC_CHROME_CONFIG_DIR: config_dir } }),
  ]);
  await fleet.lanesWarm();
}, WAIT);
afterAll(async () => {
  await fleet?.stop();
  await site?.stop();
  rmSync(config_dir, { recursive: true, force: true });
}, WAIT);

async function call(method: string, path: string, body?: unknown) {
  const response = await fetch(fleet.url + path, {
    method,
    headers: body === undefined ? {} : { "Content-Type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(150_000),
  });
  const text = await response.text();
  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
  return { status: response.status, body: (text === "" ? null : JSON.parse(text)) as any };
}

/** Runs a fetch job on the private page: its record, the page it ended on, and its log. */
async function fetchPrivate(options: Record<string, unknown> = {}) {
  const { job_id } = await fleet.submit(`${site.origin}/private`, {
    idle_seconds: 0.3,
    ...options,
  });
  const job: Job = await fleet.finished(job_id);
  const log = await (await fetch(`${fleet.url}/jobs/${job_id}/log.txt`)).text();
  const page = await (await fetch(`${fleet.url}/jobs/${job_id}/page.html`)).text();
  await fleet.lanesWarm();
  return { job, log, page };
}

/** Where an element's middle is on the lane's screen, below the browser's own bars. */
const ON_SCREEN = `(selector) => {
  const { x, y, width, height } = document.querySelector(selector).getBoundingClientRect();
  const top = window.screenY + window.outerHeight - window.innerHeight;
  return [window.screenX + x + width / 2, top + y + height / 2];
}`;

describe("a profile from a session (rules/profiles#save-a-session-as-a-profile)", () => {
  test(
    "logged in by hand through the viewer, saved; a job with use_profile is logged in, the next plain one is not",
    async () => {
      const opened = await call("POST", "/sessions", { url: `${site.origin}/login` });
      expect(opened.status).toBe(201);
      const sid = opened.body.session_id;
      const act = (action: string, args: unknown) =>
        call("POST", `/sessions/${sid}/${action}`, args);
      const viewer = new URL(opened.body.novnc_url, fleet.url).searchParams.get("path");
      const screen = await connectRfb(`${fleet.url.replace("http", "ws")}/${viewer}`);
      const pointAt = async (selector: string): Promise<[number, number]> => {
        const { body } = await act("evaluate", {
          code: `(${ON_SCREEN})(${JSON.stringify(selector)})`,
        });
        return body.result;
      };
      screen.click(...(await pointAt("#user")));
      screen.type(site.user);
      screen.click(...(await pointAt("#password")));
      screen.type(site.password);
      screen.press("Enter");
      expect((await act("wait", { selector: "#hello", timeout_s: 60 })).body).toMatchObject({
        ok: true,
      });
      await screen.close();

      const saved = await call("POST", `/sessions/${sid}/profile/save`, { name: "ada" });
      expect(saved).toMatchObject({ status: 201, body: { name: "ada", is_default: false } });
      expect(saved.body.source_browser).toMatch(/^Chrome\/[0-9.]+$/);
      // The person goes on where they were.
      expect((await act("wait", { selector: "#hello", timeout_s: 60 })).body).toMatchObject({
        ok: true,
        url: `${site.origin}/private`,
      });
      expect((await act("tabs", {})).body.result).toHaveLength(1);
      const again = await call("POST", `/sessions/${sid}/profile/save`, { name: "ada" });
      expect(again.status).toBe(200);
      expect((await call("DELETE", `/sessions/${sid}`)).status).toBeLessThan(300);
      await fleet.lanesWarm();

      const used = await fetchPrivate({ use_profile: "ada" });
      expect(used.log).toContain("profile ada: 1 cookies");
      expect(used.page).toContain(`hello ${site.user}`);
      const plain = await fetchPrivate();
      expect(plain.page).not.toContain("hello");
      expect(plain.job.final_url).toBe(`${site.origin}/login`);
    },
    WAIT,
  );

  test(
    "the default profile is for jobs that name none; a session can name one",
    async () => {
      await call("POST", "/profiles/ada/default");
      expect((await fetchPrivate()).page).toContain(`hello ${site.user}`);
      await call("DELETE", "/profiles/default");
      expect((await fetchPrivate()).page).not.toContain("hello");
      const { body } = await call("POST", "/sessions", {
        url: `${site.origin}/private`,
        use_profile: "ada",
      });
      expect(body.url).toBe(`${site.origin}/private`);
      await call("DELETE", `/sessions/${body.session_id}`);
      await fleet.lanesWarm();
      const workers = await call("GET", "/workers");
      expect(workers.status).toBe(200);
    },
    WAIT,
  );

  test(
    "cookies that nothing here can decrypt are told in the job's log; the job runs all the same",
    async () => {
      const database = `SQLite format 3\0${"\0".repeat(2_000)}v11${"x".repeat(60)}`;
      await fetch(`${fleet.url}/profiles/foreign`, {
        method: "POST",
        headers: { "Content-Type": "application/x-tar" },
        body: new Uint8Array(await makeTarGz([["Default/Cookies", database]])),
      });
      const { job, log } = await fetchPrivate({ use_profile: "foreign", headless: true });
      expect(job).toMatchObject({ status: "completed", error: null });
      expect(log).toContain("profile foreign: 0 usable cookies, although it has a cookie database");
    },
    WAIT,
  );

  test(
    "clone_chrome_profile: a job with the operator's own profile; one that is not there fails in words (rules/jobs#copy-the-operators-profile)",
    async () => {
      const there = join(config_dir, "chromium");
      mkdirSync(there);
      const stored = join(fleet.dir, "hub/objects/profiles/p-ada");
      const [archive = ""] = readdirSync(stored);
      const opened = join(config_dir, "opened.tar.gz");
      const place = `profiles/p-ada/${archive}`;
      await openObject(join(fleet.dir, "hub"), place, opened);
      Bun.spawnSync(["tar", "-xzf", opened, "-C", there]);
      const cloned = await fetchPrivate({ clone_chrome_profile: "chromium/Default" });
      expect(cloned.job).toMatchObject({ status: "completed", error: null });
      expect(cloned.page).toContain(`hello ${site.user}`);
      expect(cloned.log).toContain("clone of chromium/Default: 1 cookies");
      const missing = await fetchPrivate({ clone_chrome_profile: "Profile 7" });
      expect(missing.job).toMatchObject({
        status: "failed",
        error: "there is no browser profile Profile 7 on this host; it has chromium/Default",
      });
    },
    WAIT,
  );
});
