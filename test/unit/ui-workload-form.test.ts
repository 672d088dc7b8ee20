import { describe, expect, test } from "bun:test";
import { faultsOf } from "#hub/ui/client/forms/faults.ts";
import {
  DEFAULTS,
  type Draft,
  draftOf,
  readDraft,
} from "#hub/ui/client/pipeline/workload/form/draft.ts";
import { ALL_FIELDS, mayBeEmpty, RULES } from "#hub/ui/client/pipeline/workload/form/fields.ts";
import { readTasks } from "#hub/ui/client/pipeline/workload/submit-tasks.ts";
import { WorkloadUpdate } from "#shared/protocol/schema/workload.ts";

/** The form of a workload and that of its tasks: what was typed as the API takes it, or what is wrong with it. */

const config = { argv: ["sh", "-c", "cat"], env: { A: "1" }, memory_mb: 64 };
const workload = { ...DEFAULTS, name: "w", executor_type: "command", executor_config: config };
const draft = (changed: Draft = {}): Draft => ({ ...draftOf(workload), ...changed });

/** By the paths of fields, as the form shows them. */
function faults(changed: Draft) {
  const { body, faults: unread } = readDraft(draft(changed));
  return { ...faultsOf(RULES, body), ...unread };
}

describe("a workload", () => {
  test("is sent as it was read when nothing was changed", () => {
    const { body, faults: unread } = readDraft(draft());
    expect(unread).toEqual({});
    expect(faultsOf(RULES, body)).toEqual({});
    expect(WorkloadUpdate.parse(body)).toEqual(WorkloadUpdate.parse(workload));
  });

  test("has a field for each of its settings", () => {
    const paths = ALL_FIELDS.map(({ path }) => path);
    const settings = Object.keys(RULES).filter(
      (path) => !["slug", "executor", "next_times", "created_at", "updated_at"].includes(path),
    );
    const missing = settings.filter(
      (path) => !paths.some((own) => own === path || own.startsWith(`${path}.`)),
    );
    expect(missing).toEqual([]);
  });

  test("that has no limit says null, and half a rate limit is asked for the rest", () => {
    const { body } = readDraft(draft({ max_in_flight: "", timeout_s: " ", schedule: "" }));
    expect(body).toMatchObject({
      max_in_flight: null,
      timeout_s: null,
      schedule: null,
      rate_limit: null,
    });
    expect(faults({ rate_limit: { count: "5", per_s: "" } })).toEqual({
      "rate_limit.per_s": "is required",
    });
  });

  test("says what is wrong at each field", () => {
    expect(
      faults({
        name: "",
        priority: "high",
        lease_secs: "0",
        batch_size: "1.5",
        schedule_tz: "",
        executor_config: { argv: "sh", env: "no sign" },
        backoff: { kind: "fixed", base_s: "", max_s: "604801", jitter: "2" },
        emits: "thumbnails\nNo Slug",
      }),
    ).toEqual({
      name: "is required",
      priority: "must be a whole number",
      lease_secs: "must be at least 1, not 0",
      batch_size: "must be a whole number, not 1.5",
      schedule_tz: "is required",
      "executor_config.env": "“no sign” is not NAME=value",
      "backoff.base_s": "is required",
      "backoff.max_s": "must be at most 604800, not 604801",
      "backoff.jitter": "must be at most 1, not 2",
      emits: expect.stringContaining("“No Slug” must be 1 to 63"),
    });
  });

  test("keeps blank arguments of a command, and drops blank lines of other lists", () => {
    const { body } = readDraft(
      draft({ executor_config: { argv: "sh\n\n-c" }, host_affinity: " a \n\nb" }),
    );
    expect(body).toMatchObject({
      executor_config: { argv: ["sh", "", "-c"] },
      host_affinity: ["a", "b"],
    });
  });

  test("may leave empty what has an empty value", () => {
    const empty = ALL_FIELDS.filter(mayBeEmpty).map(({ path }) => path);
    expect(empty).toContain("description");
    expect(empty).toContain("rate_limit.count");
    expect(empty).not.toContain("name");
    expect(empty).not.toContain("backoff.base_s");
  });
});

describe("tasks by hand", () => {
  const typed = { text: "a\n\n b ", extra: "", priority: "", run_at: "" };

  test("are keys or JSON, a line each, and take from the other fields what they do not say", () => {
    const text = 'a\n{"pk": "b", "priority": 2}';
    const given = { text, extra: '{"n": 1}', priority: "7", run_at: "2026-01-01T00:00" };
    const run_at = new Date("2026-01-01T00:00").toISOString();
    expect(readTasks(given)).toEqual({
      value: [
        { pk: "a", extra: { n: 1 }, priority: 7, run_at },
        { pk: "b", extra: { n: 1 }, priority: 2, run_at },
      ],
      faults: {},
    });
    expect(readTasks(typed).value).toEqual([{ pk: "a" }, { pk: "b" }]);
  });

  test("say what is wrong at the field that it is in", () => {
    const wrong = { text: 'a\n{"pk"', extra: "[1]", priority: "1.5", run_at: "" };
    expect(readTasks(wrong)).toEqual({
      value: [],
      faults: {
        text: expect.stringContaining("line 2 is not JSON"),
        extra: 'must be a JSON object: {"…": …}',
        priority: "must be a whole number, not 1.5",
      },
    });
    expect(readTasks({ ...typed, text: " " }).faults).toEqual({ text: "type at least one task" });
  });
});
