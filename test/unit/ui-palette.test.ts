import { describe, expect, test } from "bun:test";
import type { WhoIAm } from "#hub/ui/client/lib/logins.ts";
import { mayDo } from "#hub/ui/client/lib/logins.ts";
import { hitActions, hitHref, ofKinds, readAsked } from "#hub/ui/client/shell/palette-hits.ts";
import { settingEntries } from "#hub/ui/client/shell/setting-entries.ts";
import type { SearchHit } from "#shared/protocol/schema/search.ts";

/** What Ctrl K leads to and offers (rules/web-app#ctrl-k). */

const hit = (kind: SearchHit["kind"], fields: Partial<SearchHit> = {}): SearchHit => ({
  kind,
  id: "a b",
  title: "Title",
  detail: "",
  state: null,
  at: null,
  href: "/x",
  workload: null,
  ...fields,
});
const caller = (role: string | null): WhoIAm => ({
  kind: "token",
  name: "n",
  role,
  open: false,
  workers_open: false,
});
const labels = (found: SearchHit, role: string | null = "admin") =>
  hitActions(found, caller(role)).map(({ label }) => label);

test("each kind leads to its own page, or to itself beside its list", () => {
  const hrefs = (
    [
      ["job", {}],
      ["session", {}],
      ["host", {}],
      ["watch", {}],
      ["workload", { id: "runs" }],
      ["task", { id: "k/1", workload: "bills" }],
      ["run", { id: "7" }],
      ["worker", {}],
      ["pull_worker", {}],
      ["profile", {}],
      ["preset", {}],
      ["skill", {}],
      ["engine", {}],
      ["agent", {}],
    ] as const
  ).map(([kind, fields]) => hitHref(hit(kind, fields)));
  expect(hrefs).toEqual([
    "/ui/captures/a%20b",
    "/ui/browsers/a%20b",
    "/ui/library/hosts/a%20b",
    "/ui/captures/schedules/a%20b",
    // A workload of the name of a page beside it.
    "/ui/pipelines/workloads/runs",
    "/ui/pipelines/runs?task=bills%2Fk%2F1",
    "/ui/pipelines/runs?run=7",
    "/ui/system/workers?kind=browser&worker=a+b",
    "/ui/system/workers?kind=pipeline&worker=a+b",
    "/ui/library/profiles?profile=a+b",
    "/ui/library/presets?edit=a+b",
    "/ui/library/skills?edit=a+b",
    "/ui/library/engines?edit=a+b",
    "/ui/system/agents?q=a+b",
  ]);
});

describe("what is offered", () => {
  test("follows from the state of the thing", () => {
    expect(labels(hit("job", { state: "running" }))).toEqual(["Cancel capture"]);
    expect(labels(hit("job", { state: "completed" }))).toEqual([]);
    expect(labels(hit("session", { state: "open" }))).toEqual(["End session"]);
    expect(labels(hit("session", { state: "ended" }))).toEqual([]);
    expect(labels(hit("worker", { state: "active" }))).toEqual(["Drain worker"]);
    expect(labels(hit("worker", { state: "standby" }))).toEqual(["Activate worker"]);
    expect(labels(hit("pull_worker", { state: "active" }))).toEqual(["Drain worker"]);
    expect(labels(hit("pull_worker", { state: "draining" }))).toEqual(["Resume worker"]);
    expect(labels(hit("pull_worker", { state: "offline" }))).toEqual([]);
    expect(labels(hit("workload", { state: "enabled" }))).toEqual(["Pause workload"]);
    expect(labels(hit("workload", { state: "off" }))).toEqual(["Resume workload"]);
    expect(labels(hit("task", { state: "failed", workload: "w" }))).toEqual([
      "Retry task",
      "Cancel task",
    ]);
    expect(labels(hit("task", { state: "ready", workload: "w" }))).toEqual(["Cancel task"]);
    // Of a workload that is gone there is no queue.
    expect(labels(hit("task", { state: "failed" }))).toEqual([]);
    expect(labels(hit("host"))).toEqual([]);
  });

  test("asks once more before what ends or stops something, and only then", () => {
    const asked = [
      ...hitActions(hit("job", { state: "queued" }), caller("admin")),
      ...hitActions(hit("worker", { state: "drain" }), caller("admin")),
      ...hitActions(hit("task", { state: "failed", workload: "w" }), caller("admin")),
    ].map(({ verb, question }) => [verb, question !== undefined]);
    expect(asked).toEqual([
      ["cancel", true],
      ["activate", false],
      ["retry", false],
      ["cancel", true],
    ]);
  });

  test("is what the caller's role may do", () => {
    const job = hit("job", { state: "running" });
    expect(labels(job, "submitter")).toEqual(["Cancel capture"]);
    expect(labels(job, "viewer")).toEqual([]);
    expect(labels(hit("worker", { state: "active" }), "submitter")).toEqual([]);
    expect(labels(hit("worker", { state: "active" }), "operator")).toEqual(["Drain worker"]);
    expect(hitActions(job, null)).toEqual([]);
    // Nobody has a role on the open LAN, where only the administrator's calls are kept.
    expect(labels(job, null)).toEqual(["Cancel capture"]);
    expect([mayDo(caller(null), "operator"), mayDo(caller(null), "admin")]).toEqual([true, false]);
  });
});

test("a verb in front asks for an action, in any case; another word is looked for", () => {
  const said = (query: string) => {
    const { verb, kinds, words } = readAsked(query);
    return [verb, kinds, words];
  };
  expect(said("  Drain  w12 ")).toEqual(["drain", null, "w12"]);
  expect(said("cancel invoice 4711")).toEqual(["cancel", null, "invoice 4711"]);
  expect(said("open shop")).toEqual(["open", null, "shop"]);
  // Half a word, and nothing after it: somebody may look for a page of that name.
  expect(said("drain")).toEqual([null, null, "drain"]);
  expect(said("drained w12")).toEqual([null, null, "drained w12"]);
  expect(said("")).toEqual([null, null, ""]);
});

test("the noun after a verb narrows the kind and is not looked for", () => {
  expect(readAsked("cancel Job foo")).toEqual({
    verb: "cancel",
    kinds: ["job"],
    words: "foo",
    text: "Job foo",
  });
  const hits = [hit("task", { id: "foo" }), hit("job", { id: "j1" })];
  expect(ofKinds(hits, ["job"]).map(({ id }) => id)).toEqual(["j1"]);
  expect(ofKinds(hits, null)).toEqual(hits);
  // Alone it may be the word that somebody looks for, and no property of every object is a noun.
  expect(readAsked("cancel job")).toMatchObject({ kinds: null, words: "job" });
  expect(readAsked("cancel constructor x")).toMatchObject({ kinds: null });
  expect(readAsked("drain worker w12").kinds).toEqual(["worker", "pull_worker"]);
});

test("a setting is found by its name or its key, and leads to its own part of the page", () => {
  const settings = [
    { key: "retention_days", part: "fleet" as const },
    { key: "log_level", part: "pipeline" as const },
  ];
  expect(settingEntries(settings, ["keep", "captures"])).toEqual([
    {
      id: "setting fleet retention_days",
      label: "Keep captures for",
      description: "Setting · retention_days",
      href: "/ui/system/settings?part=fleet&setting=retention_days",
    },
  ]);
  expect(settingEntries(settings, ["log_level"]).map(({ label, href }) => [label, href])).toEqual([
    ["Level on standard error", "/ui/system/settings?part=pipeline&edit=log_level"],
  ]);
});
