import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { issueAt, scenarios } from "#test/support/clients/api.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";

let hub: TestHub;
beforeAll(async () => {
  hub = await startTestHub();
});
afterAll(() => hub.close());

const at = () => hub;
const put = (slug: string, options: object = {}) =>
  hub.call("PUT", `/presets/${slug}`, { options });
const LONG = { scroll: true, idle_seconds: 0.5 };

scenarios("PUT /presets/{slug} (rules/library#presets)", at, [
  {
    name: "stores the options as given, without defaults",
    path: "/presets/long",
    send: { name: "Long page", options: LONG },
    status: 200,
    body: { slug: "long", name: "Long page", description: "", options: LONG },
    after: async (h, { body }) => {
      expect(body.options).toEqual(LONG);
      expect(body.created_at).toBe(body.updated_at);
      expect((await h.call("GET", "/presets/long")).body).toEqual(body);
      expect((await h.call("GET", "/presets")).body).toEqual({
        presets: [body],
        next_cursor: null,
      });
    },
  },
  {
    name: "leaves what a mode requires to the job",
    path: "/presets/loop",
    send: { options: { mode: "codegen-loop", max_codegen_attempts: 2 } },
    status: 200,
  },
  {
    name: "and a script to a rerun",
    path: "/presets/again",
    send: { options: { mode: "rerun" } },
    status: 200,
  },
  {
    name: "refuses an option that is none",
    path: "/presets/bad",
    send: { options: { scrol: true } },
    status: 422,
    body: issueAt("body", "options", "scrol"),
  },
  {
    name: "refuses a value out of its range",
    path: "/presets/bad",
    send: { options: { attempt_timeout_s: 1 } },
    status: 422,
    body: issueAt("body", "options", "attempt_timeout_s"),
  },
  {
    name: "refuses options that exclude each other",
    path: "/presets/bad",
    send: { options: { use_profile: "a", attach: "9222" } },
    status: 422,
    body: issueAt("body", "options", "attach"),
  },
  {
    name: "refuses what only the hub sets",
    path: "/presets/bad",
    send: { options: { fetch_recipe: { actions: [] } } },
    status: 422,
    body: issueAt("body", "options", "fetch_recipe"),
  },
  {
    name: "refuses unknown keys",
    path: "/presets/bad",
    send: { option: {} },
    status: 422,
    body: issueAt("body", "option"),
  },
  { name: "refuses what is no slug", path: "/presets/-", send: {}, status: 422 },
  {
    name: "the same Idempotency-Key and body get the same answer, another body 409",
    path: "/presets/keyed",
    send: { name: "once" },
    headers: { "Idempotency-Key": "preset-1" },
    status: 200,
    after: async (h, first) => {
      const again = (name: string) =>
        h.call("PUT", "/presets/keyed", { name }, { headers: { "Idempotency-Key": "preset-1" } });
      expect((await again("once")).body).toEqual(first.body);
      expect((await again("other")).status).toBe(409);
    },
  },
]);

scenarios("GET and DELETE /presets/{slug} (rules/library#registry-calls)", at, [
  { name: "an unknown one is 404", path: "/presets/none", status: 404 },
  {
    name: "deletes one; the second time it is 404",
    method: "DELETE",
    path: "/presets/gone",
    before: () => put("gone"),
    status: 204,
    after: async (h) => expect((await h.call("DELETE", "/presets/gone")).status).toBe(404),
  },
]);

/** Nobody takes the job: 503 with its id. */
const optionsOf = async (answer: { body: { job_id?: string } }) =>
  (await hub.call("GET", `/jobs/${answer.body.job_id}`)).body.options;

describe("POST /jobs with a preset (rules/library#presets)", () => {
  const submit = (body: object) => hub.call("POST", "/jobs", { url: TARGET, ...body });

  test("its options count, and what the job says itself wins, defaults too", async () => {
    await put("mine", { ...LONG, referer: "http://from.test/" });
    const options = { idle_seconds: 3, referer: null };
    const answer = await submit({ preset: "mine", options });
    expect(await optionsOf(answer)).toMatchObject({ scroll: true, wait_seconds: 20, ...options });
    expect(await optionsOf(await submit({ preset: "mine" }))).toMatchObject(LONG);
    expect(await optionsOf(await submit({ preset: null }))).toMatchObject({ scroll: false });
  });

  test("rules are about both together (rules/job-options#options-of-a-preset)", async () => {
    await put("loop", { mode: "codegen-loop" });
    const { status, body } = await submit({ preset: "loop" });
    expect({ status, body }).toMatchObject({
      status: 422,
      body: issueAt("body", "options", "goal"),
    });
    await put("profile", { use_profile: "work" });
    expect((await submit({ preset: "profile", options: { attach: "9222" } })).body).toMatchObject(
      issueAt("body", "options", "attach"),
    );
  });

  test("one that does not exist, or is not a slug, is 422 naming the field", async () => {
    for (const preset of ["none", "No Slug", 7]) {
      const { status, body } = await submit({ preset });
      expect({ status, body }).toMatchObject({ status: 422, body: issueAt("body", "preset") });
    }
    expect((await submit({ preset: "mine", options: [] })).status).toBe(422);
  });

  test("the same key and body is the same job, whatever became of the preset", async () => {
    await put("keyed", LONG);
    const keyed = () =>
      hub.call(
        "POST",
        "/jobs",
        { url: TARGET, preset: "keyed" },
        {
          headers: { "Idempotency-Key": "with-preset" },
        },
      );
    const first = await keyed();
    await hub.call("DELETE", "/presets/keyed");
    expect((await keyed()).body.job_id).toBe(first.body.job_id);
  });
});

describe("GET /presets/{slug}/{target_url}", () => {
  test("submits the URL behind it with the preset's options", async () => {
    await put("path", LONG);
    const answer = await hub.call("GET", "/presets/path/http://site.test/a?b=%20c");
    const { body } = await hub.call("GET", `/jobs/${answer.body.job_id}`);
    expect(body).toMatchObject({ url: "http://site.test/a?b=%20c", options: LONG });
  });

  test("is 422 for a preset that is not there, and 404 without a URL", async () => {
    const { status, body } = await hub.call("GET", "/presets/none/http://site.test/");
    expect({ status, body }).toMatchObject({ status: 422, body: issueAt("path", "slug") });
    expect((await hub.call("GET", "/presets/path/x")).status).toBe(404);
  });

  test("names the option that only the URL's job would have to say", async () => {
    await put("loop", { mode: "codegen-loop" });
    const { status, body } = await hub.call("GET", "/presets/loop/http://site.test/");
    expect({ status, body }).toMatchObject({
      status: 422,
      body: issueAt("preset", "options", "goal"),
    });
  });
});
