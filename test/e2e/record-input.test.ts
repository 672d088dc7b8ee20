import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { toPlaywright } from "#hub/ui/client/fleet/session/recorded/to-playwright.ts";
import { toRecipe } from "#hub/ui/client/fleet/session/recorded/to-recipe.ts";
import { toScript } from "#hub/ui/client/fleet/session/recorded/to-script.ts";
import type { Job } from "#shared/protocol/schema/job.ts";
import type {
  Picked,
  RecordedInput,
  RecordedStep,
} from "#shared/protocol/schema/recorded-input.ts";
import type { Session } from "#shared/protocol/schema/session.ts";
import { connectRfb, type RfbClient } from "#test/support/clients/rfb-client.ts";
import { type FleetProcesses, startFleet, until } from "#test/support/rigs/fleet-process.ts";
import { runPlaywright } from "#test/support/rigs/written-program.ts";
import { type RecordableSite, startRecordableSite } from "#test/support/servers/site/recordable.ts";

/** A person at the viewer, whose clicks become steps that a recipe repeats (rules/recorded-input). */

let fleet: FleetProcesses;
let site: RecordableSite;
beforeAll(async () => {
  site = startRecordableSite();
  fleet = await startFleet({
    lanes: 1,
    env: {
      SVC_DRAIN_TIMEOUT_S: "1",
      SVC_RECIPE_ENV: "SITE_PASSWORD@127.0.0.1",
      SITE_PASSWORD: site.password,
    },
  });
  await fleet.lanesWarm(60_000);
}, 180_000);
afterAll(async () => {
  expect(await fleet?.stop()).toEqual([]);
  await site?.stop();
}, 180_000);

/** Paths of the sessions that are open: a test that fails leaves the one lane to the next test. */
const open = new Set<string>();
afterEach(async () => {
  for (const session of open) await api("DELETE", session);
  open.clear();
});

async function api<T>(method: string, path: string, body?: unknown): Promise<T> {
  const answer = await fetch(fleet.url + path, {
    method,
    signal: AbortSignal.timeout(90_000),
    ...(body === undefined
      ? {}
      : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return (text === "" ? null : JSON.parse(text)) as T;
}

/** A session with a person at it. */
async function personAt(url: string, headless: boolean) {
  const { session_id: sid } = await api<Session>("POST", "/sessions", { url, headless });
  const of = `/sessions/${sid}`;
  open.add(of);
  const act = async <T>(action: string, args: object = {}): Promise<T> =>
    (await api<{ result: T }>("POST", `${of}/${action}`, args)).result;
  const stream = `${fleet.url.replace(/^http/, "ws")}${of}/novnc/websockify`;
  const rfb: RfbClient = await connectRfb(stream);
  const clickOn = async (selector: string, frame?: string) => {
    await act("wait", { selector, ...(frame && { frame }) });
    const { selectors } = await act<Picked>("pick", { selector, ...(frame && { frame }) });
    const box = selectors[0]?.boxes[0];
    if (!box) throw new Error(`${selector} is nowhere`);
    rfb.click(box.x + box.width / 2, box.y + box.height / 2);
  };
  const recorded = (query = "") => api<RecordedInput>("GET", `${of}/record-input${query}`);
  /** Waits for steps, as the web app does. */
  const steps = async (done: (steps: RecordedStep[]) => boolean): Promise<RecordedStep[]> => {
    let now = await recorded();
    for (let i = 0; i < 60 && !done(now.steps); i += 1) {
      const before = now.revision;
      now = await recorded(`?revision=${before}&wait_s=15`);
      if (now.revision === before) throw new Error(`no more steps than ${now.steps.map(short)}`);
    }
    return now.steps;
  };
  const end = async () => {
    await rfb.close();
    await api("DELETE", of);
    open.delete(of);
  };
  return { sid, of, act, rfb, clickOn, recorded, steps, end };
}

/** What was done, in short. */
const short = (step: RecordedStep): string => {
  if (step.kind === "navigate") return `navigate ${new URL(step.url).pathname}`;
  if (!("selectors" in step)) return step.kind;
  const said =
    step.kind === "fill"
      ? `=${step.text}`
      : step.kind === "press"
        ? `=${step.key}`
        : step.kind === "click" && step.click_count > 1
          ? ` x${step.click_count}`
          : "";
  return `${step.kind} ${[...step.frame, step.selectors[0]?.selector].join(" > ")}${said}`;
};
const placeholder = ["$", "{ENV:SITE_PASSWORD}"].join("");

describe.each(["headless", "headful"] as const)("in a %s session", (kind) => {
  test("a login, a search and a choice become a recipe that does the same, and the password is nowhere (rules/recorded-input#secrets-in-steps)", async () => {
    site.sent.length = 0;
    const person = await personAt(`${site.origin}/login`, kind === "headless");
    expect(
      await api<RecordedInput>("POST", `${person.of}/record-input`, { on: true }),
    ).toMatchObject({ on: true });
    await person.clickOn("#email");
    person.rfb.type(site.user);
    await person.steps((all) =>
      all.some((step) => step.kind === "fill" && step.text === site.user),
    );
    person.rfb.press("Tab");
    person.rfb.type(site.password);
    await person.steps((all) => all.some((step) => step.kind === "fill" && step.secret !== null));
    await person.clickOn("form button");
    await person.clickOn("select");
    person.rfb.type("M");
    person.rfb.press("Enter");
    await person.steps((all) => all.some(({ kind: one }) => one === "select_option"));
    await person.clickOn("[name=stock]");
    await person.clickOn("[name=q]");
    person.rfb.type("rope");
    await person.steps((all) => all.some((step) => step.kind === "fill" && step.text === "rope"));
    person.rfb.press("Enter");
    await person.act("wait", { selector: "text=Results for rope" });
    const steps = await person.steps((all) => all.at(-1)?.kind === "press");
    expect(steps.map(short)).toEqual([
      "navigate /login",
      `fill role=textbox[name="Email"]=${site.user}`,
      `fill label="Password"=${placeholder}`,
      'click role=button[name="Continue"]',
      'select_option role=combobox[name="Size"]',
      'check role=checkbox[name="In stock only"]',
      'fill role=searchbox[name="Search the shop"]=rope',
      'press role=searchbox[name="Search the shop"]=Enter',
    ]);
    const ended = await api<RecordedInput>("POST", `${person.of}/record-input`, { on: false });
    expect(ended).toMatchObject({ on: false, ended: null, full: false });
    expect(JSON.stringify(ended)).not.toContain(site.password);
    expect(site.sent).toEqual([
      { email: site.user, password: site.password },
      { q: "rope", size: "m", stock: "1" },
    ]);

    // What people do from now on is heard by nobody.
    await person.clickOn("h1");
    await person.act("keepalive");
    expect((await person.recorded()).revision).toBe(ended.revision);

    const { body: actions, starts_at, notes } = toRecipe(steps);
    expect([starts_at, notes]).toEqual([`${site.origin}/login`, []]);
    await person.act("navigate", { url: starts_at });
    const done = await person.act<{ steps: string[] }>("recipe", { actions });
    expect(done.steps).toHaveLength(actions.length);
    await person.act("wait", { selector: "text=Results for rope" });
    expect(site.sent.slice(2)).toEqual(site.sent.slice(0, 2));
    await person.end();
    const recording = await fetch(`${fleet.url}${person.of}/recording/events`);
    expect(await recording.text()).not.toContain(site.password);
  });
});

test("frames of other sites, shadow roots, files, tabs and programs are recorded as well (rules/recorded-input#the-steps)", async () => {
  const person = await personAt(`${site.origin}/shop`, true);
  await api("POST", `${person.of}/record-input`, { on: true });
  await person.clickOn("x-menu button");
  await person.clickOn("textarea", "iframe");
  // The browser tells a frame of another process that it has the focus.
  await person.act("wait", { selector: "textarea:focus", frame: "iframe" });
  person.rfb.type("two of them");
  // A field is a step from its first keys on: what is done next would take the focus from the others.
  await person.steps((all) =>
    all.some((step) => step.kind === "fill" && step.text === "two of them"),
  );
  await person.act("fill", { selector: "[name=q]", text: "by a program" });
  await person.act("select_option", { selector: "select", values: ["s"] });
  await person.act("click", { selector: "li:nth-child(2) button", click_count: 2 });
  await person.act("navigate", { url: `${site.origin}/login?token=${site.password}` });
  await person.act("fill", { selector: "[type=password]", text: site.password });
  await person.act("tab", { op: "new", url: `${site.origin}/shop` });
  // A program's click is input like a person's.
  await person.act("click", { selector: "[data-testid=go]" });
  const steps = await person.steps((all) => all.at(-1)?.kind === "click" && all.at(-1)?.tab === 1);
  expect(steps.map(short)).toEqual([
    "navigate /shop",
    'click role=button[name="Open the menu"]',
    `fill [title="Notes"] > role=textbox[name="Note"]=two of them`,
    'fill role=searchbox[name="Search the shop"]=by a program',
    'select_option role=combobox[name="Size"]',
    "click li:nth-of-type(2) > button x2",
    "navigate /login",
    `fill label="Password"=${placeholder}`,
    "tab",
    "navigate /shop",
    'click role=button[name="Find"]',
  ]);
  expect(JSON.stringify(steps)).not.toContain(site.password);
  expect(steps[6]).toMatchObject({ secrets: [{ variable: "SITE_TOKEN", host: "127.0.0.1" }] });
  const actions = [toRecipe(steps).body[1]];
  await person.act("tab", { op: "select", index: 0 });
  await person.act("navigate", { url: `${site.origin}/shop` });
  await person.act("recipe", { actions });
  const value = await person.act("evaluate", {
    code: "document.querySelector('textarea').value",
    frame: "iframe",
  });
  expect(value).toBe("two of them");
  await person.end();
});

test("what is done in tabs that pages and people open and close is written as programs that do the same (rules/recorded-input#what-steps-become)", async () => {
  site.sent.length = 0;
  const person = await personAt(`${site.origin}/desk`, true);
  await api("POST", `${person.of}/record-input`, { on: true });
  const on = (index: number) => person.act("tab", { op: "select", index });
  const fill = (label: string, text: string) =>
    person.act("fill", { selector: `label=${JSON.stringify(label)}`, text });
  const untilTabs = (count: number) =>
    until(`${count} tabs`, 60_000, async () => {
      const tabs = await person.act<unknown[]>("tabs");
      return tabs.length === count;
    });
  await person.clickOn("text=Read the terms");
  await person.steps((all) => all.at(-1)?.kind === "click");
  // A popup that comes late would be taken for the next click's.
  await untilTabs(2);
  // The page opens one more before anybody looks at the first.
  await person.act("click", { selector: "#pay", wait_for: "popup" });
  await fill("Purse", "blue");
  await person.act("click", { selector: "text=Confirm" });
  await person.steps((all) => all.at(-1)?.tab === 2 && all.at(-1)?.kind === "click");
  await untilTabs(2);
  await on(1);
  await fill("Initials", "AL");
  await person.act("click", { selector: "text=Agree" });
  await person.act("tab", { op: "close", index: 1 });
  await person.act("tab", { op: "new", url: `${site.origin}/terms` });
  await fill("Initials", "own");
  await person.act("click", { selector: "text=Agree" });
  await on(0);
  await fill("Note", "done");
  await person.act("click", { selector: "text=Keep the note" });
  const steps = await person.steps(
    (all) => all.at(-1)?.tab === 0 && all.filter(({ kind }) => kind === "click").length === 6,
  );
  const sent: Record<string, string>[] = [
    { purse: "blue" },
    { initials: "AL" },
    { initials: "own" },
    { note: "done" },
  ];
  expect(site.sent).toEqual(sent);
  const clicks = steps.filter(({ kind }) => kind === "click").map(({ id }) => id);
  expect(steps.filter(({ kind }) => kind === "tab")).toMatchObject([
    { tab: 2, opened_by: "page", opener_step: clicks[1] },
    { tab: 1, opened_by: "page", opener_step: clicks[0], closed: [2] },
    { tab: 3, opened_by: "person", opener_step: null, closed: [1] },
    { tab: 0, opened_by: "person", opener_step: null },
  ]);
  await person.end();

  site.sent.length = 0;
  expect(await runPlaywright(toPlaywright(steps).body)).toBe("");
  expect(site.sent).toEqual(sent);

  site.sent.length = 0;
  const { starts_at, body: code } = toScript(steps);
  const options = { mode: "rerun", code, headless: true };
  const { job_id } = await api<Job>("POST", "/jobs", { url: starts_at, options });
  const job = await until("the end of the job", 120_000, async () => {
    const now = await api<Job>("GET", `/jobs/${job_id}`);
    return now.status === "completed" || now.status === "failed" ? now : null;
  });
  expect(job).toMatchObject({ status: "completed", error: null });
  expect(site.sent).toEqual(sent);
}, 240_000);

test("a page that forges input, and one that looks for the recorder, writes no step and finds nothing (rules/recorded-input#what-a-page-notices)", async () => {
  const person = await personAt(`${site.origin}/shop`, true);
  await api("POST", `${person.of}/record-input`, { on: true });
  await person.act("navigate", { url: `${site.origin}/shop` });
  const found = await person.act("evaluate", {
    code: `
      const field = document.querySelector("[name=q]");
      field.value = "forged";
      for (const type of ["pointerdown", "click", "input", "change", "keydown"]) field.dispatchEvent(new Event(type, { bubbles: true }));
      document.querySelector("[name=stock]").click();
      field.focus();
      document.execCommand("insertText", false, "forged as well");
      document.querySelector("[data-testid=go]").dispatchEvent(new MouseEvent("click", { bubbles: true, detail: 1 }));
      return Object.getOwnPropertyNames(globalThis).filter((name) => /flotilla/i.test(name));`,
  });
  expect(found).toEqual([]);
  await person.act("wait", { seconds: 0.5 });
  const { steps } = await person.recorded();
  expect(steps.map(({ kind }) => kind).filter((kind) => kind !== "navigate")).toEqual([]);
  await person.end();
});

test("a password stays out of the steps when its page shows it and repeats it (rules/recorded-input#secrets-in-steps)", async () => {
  const person = await personAt(`${site.origin}/reveal`, true);
  await api("POST", `${person.of}/record-input`, { on: true });
  await person.clickOn("#show");
  await person.clickOn("#entry");
  person.rfb.type(site.password);
  await person.steps((all) => all.some(({ kind }) => kind === "fill"));
  await person.act("wait", { selector: `text=${site.password}` });
  await person.clickOn("output");
  await person.act("fill", { selector: "#entry", text: `${site.password}-2` });
  // A form whose fields hide its own properties is described all the same.
  await person.clickOn("#odd");
  const steps = await person.steps((all) => all.at(-1)?.kind === "click" && all.length > 5);
  expect(JSON.stringify(steps)).not.toContain(site.password);
  expect(steps.map(short)).toEqual([
    "navigate /reveal",
    'click role=button[name="Show"]',
    `fill #entry=${placeholder}`,
    "click output",
    `fill #entry=${placeholder}`,
    'click role=button[name="Odd"]',
  ]);
  await person.end();
});
