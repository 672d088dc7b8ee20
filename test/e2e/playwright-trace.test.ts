import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { secretForms } from "#shared/kit/secret-forms.ts";
import { filesOfTrace, shownActions } from "#test/support/clients/trace-file.ts";
import { type CodegenRig, startCodegenRig } from "#test/support/rigs/codegen-rig.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { seededBlocks } from "#test/support/rigs/seeded-blocks.ts";
import { COOKIE, serveEchoForm } from "#test/support/servers/site/echo-form.ts";

/** Playwright traces of scripts and sessions, in a real Chromium (rules/traces). */

/** Where the guide has a reader start the viewer. */
const VIEWER = "how-to/recordings.md#open-what-a-script-did-in-playwrights-trace-viewer";
const SECRET = `s3c&t "/w<`;
const TYPED_BY_HAND = "typed-by-hand-7";
const LONG = 180_000;
const STEPS = [
  { kind: "fill", selector: "#password", text: "$" + "{ENV:SITE_PASSWORD}" },
  { kind: "click", selector: "#plain" },
  { kind: "type", text: "$" + "{ENV:SITE_PASSWORD}" },
  { kind: "click", selector: "#send" },
  { kind: "wait", selector: "#done" },
];
const SCRIPT = `import { session } from "flotilla";
await session.recipe({ actions: ${JSON.stringify(STEPS)}, timeout_s: 150 });
export default await session.evaluate("document.title");`;

let rig: CodegenRig;
let site: ReturnType<typeof serveEchoForm>;
let page = "";

beforeAll(async () => {
  site = serveEchoForm();
  page = new URL("/", site.url).href;
  const env = { SVC_RECIPE_ENV: "SITE_PASSWORD@127.0.0.1", SITE_PASSWORD: SECRET };
  rig = await startCodegenRig({ lanes: 1, env });
}, LONG);

afterAll(async () => {
  expect(await rig?.stop()).toEqual([]);
  await site?.stop(true);
}, LONG);

const open = (path: string) => fetch(rig.fleet.url + path, { signal: AbortSignal.timeout(60_000) });
const trace = async (path: string) => new Uint8Array(await (await open(path)).arrayBuffer());

/** Names of files in which a secret stands in any spelling. */
const holding = (files: Map<string, Buffer>, secret: string): string[] => {
  const forms = secretForms(secret).map((form) => Buffer.from(form));
  return [...files].flatMap(([name, bytes]) =>
    forms.some((form) => bytes.includes(form)) ? [name] : [],
  );
};

// biome-ignore lint/suspicious/noExplicitAny: events of every shape
const eventsOf = (files: Map<string, Buffer>, name = "trace.trace"): any[] =>
  String(files.get(name))
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));

describe("a script's trace (rules/traces#secrets-in-traces)", () => {
  test(
    "shows its actions in Playwright's own viewer, started as the guide says, and no secret in any of its files",
    async () => {
      const options = { mode: "rerun", code: SCRIPT, trace: true, headless: true };
      const { body } = await rig.call("POST", "/jobs", { url: page, options });
      const { job, events } = await rig.outcome(body.job_id);
      expect(job).toMatchObject({ status: "completed", error: null });
      expect(events.map(({ data }) => String(data.message))).toContainEqual(
        expect.stringMatching(/^saved the trace \(/),
      );
      const zip = await trace(`/jobs/${body.job_id}/trace.zip`);
      const files = await filesOfTrace(zip);
      const told = eventsOf(files);
      expect(told[0]).toMatchObject({ type: "context-options", version: 10 });
      const methods = told.filter(({ type }) => type === "before").map(({ method }) => method);
      expect(methods).toContain("fill");
      expect(methods).toContain("keyboardType");
      // What there was to be masked.
      expect(told.find(({ method }) => method === "fill").params.value).toBe("***");
      const typed = told.filter(({ method }) => method === "keyboardType");
      expect(typed).toHaveLength(SECRET.length);
      for (const { params } of typed) expect(params.text).toBe("***");
      const network = eventsOf(files, "trace.network");
      expect(JSON.stringify(network)).toContain("/sent?password=***&plain=***");
      for (const secret of [SECRET, COOKIE]) expect(holding(files, secret)).toEqual([]);
      // Nor what the page repeated of it while it was typed.
      const said = String(files.get("trace.trace")).match(/you typed [^"]*/g) ?? [];
      expect(said.length).toBeGreaterThan(0);
      for (const text of said) expect(text.replace("you typed ", "").length).toBeLessThanOrEqual(3);
      expect([...files.keys()].filter((name) => name.endsWith(".stacks"))).toEqual([]);
      expect([...files.keys()].some((name) => name.endsWith(".jpeg"))).toBeTrue();
      const [viewer = ""] = seededBlocks(VIEWER, 1);
      expect(await shownActions(zip, viewer)).toEqual(
        expect.arrayContaining([expect.stringMatching(/Fill/)]),
      );
    },
    LONG,
  );

  test(
    "is the last attempt's alone, and there is none where nobody asked for it",
    async () => {
      const goal = "trace the last attempt";
      const say = (title: string, more = "") =>
        `\`\`\`ts\nimport { session } from "flotilla";\nawait session.evaluate("'${title}'");${more}\n\`\`\``;
      const turns = [say("first-try", `\nthrow new Error("no");`), say("second-try")];
      const plan = turns.map((text) => ({ kind: "answer" as const, text }));
      const ok = JSON.stringify({ ok: true, reason: "done", advice: "", class: "success" });
      const judge = [{ kind: "answer" as const, text: ok }];
      const job_id = await rig.submit(
        new URL("/sent", page).href,
        { goal, plan, judge },
        { trace: true },
      );
      expect((await rig.outcome(job_id)).job).toMatchObject({ status: "completed", attempts: 2 });
      const told = String(
        (await filesOfTrace(await trace(`/jobs/${job_id}/trace.zip`))).get("trace.trace"),
      );
      expect(told).toContain("second-try");
      expect(told).not.toContain("first-try");
      const options = { mode: "rerun", code: "export default 1;" };
      const plain = await rig.call("POST", "/jobs", { url: page, options });
      await rig.outcome(plain.body.job_id);
      expect((await open(`/jobs/${plain.body.job_id}/trace.zip`)).status).toBe(404);
    },
    LONG,
  );
});

describe("a session's trace (rules/traces#traces-of-sessions)", () => {
  test(
    "is there once it has ended, without what was typed into password fields",
    async () => {
      // The lane of the test before may still be resetting.
      let body = { session_id: "" };
      await until("a session", 90_000, async () => {
        const answer = await rig.call("POST", "/sessions", { url: page, trace: true });
        ({ body } = answer);
        return answer.status === 201;
      });
      const at = `/sessions/${body.session_id}`;
      const fill = { selector: "#password", text: TYPED_BY_HAND, timeout_s: 60 };
      expect(await rig.call("POST", `${at}/fill`, fill)).toMatchObject({ status: 200 });
      const early = await rig.call("GET", `${at}/trace.zip`);
      expect(early).toMatchObject({ status: 404 });
      expect(early.body.detail).toContain("once it has ended");
      // A CDP client finds the session as any other.
      const cdp = await fetch(`${rig.fleet.url}${at}/cdp/json/list`);
      expect(await cdp.json()).toHaveLength(1);
      expect((await rig.call("DELETE", at)).status).toBe(204);
      await until("the trace", 60_000, async () => (await open(`${at}/trace.zip`)).ok);
      const files = await filesOfTrace(await trace(`${at}/trace.zip`));
      const filled = eventsOf(files).find(({ method }) => method === "fill");
      expect(filled.params).toMatchObject({ selector: "#password", value: "***" });
      expect(holding(files, TYPED_BY_HAND)).toEqual([]);
      const answer = await open(`${at}/trace.zip`);
      expect(answer.headers.get("content-disposition")).toContain(`${body.session_id}-trace.zip`);
      await answer.body?.cancel();
    },
    LONG,
  );
});
