import { describe, expect, test } from "bun:test";
import type { Made } from "#hub/ui/client/failures/acting.ts";
import { actionsFor, actOnAll, selectionOf } from "#hub/ui/client/fleet/jobs/by-filter.ts";
import { NO_FILTERS } from "#hub/ui/client/fleet/jobs/job-filters.ts";
import { JobSelection } from "#shared/protocol/schema/failure.ts";

/** What is done to all captures that a list's filters find (rules/failures#acting-on-jobs). */

const filters = (given: Partial<typeof NO_FILTERS>) => ({ ...NO_FILTERS, ...given });

describe("what can be done with all that match", () => {
  const labels = (given: Partial<typeof NO_FILTERS>) =>
    actionsFor(filters(given)).map(({ label }) => label);

  test("is named after the states that it is for, where the filters name none", () => {
    expect(labels({ host: "shop.test" })).toEqual([
      "Retry the failed…",
      "Cancel what waits or runs…",
      "Delete the failed…",
    ]);
  });

  test("fits the state or the result that the filters name", () => {
    expect(labels({ status: "queued" })).toEqual(["Cancel…"]);
    expect(labels({ status: "running" })).toEqual(["Cancel…"]);
    for (const status of ["failed", "completed", "cancelled"])
      expect(labels({ status })).toEqual(["Retry…", "Delete…"]);
    expect(labels({ result: "http_error" })).toEqual(["Retry…", "Delete…"]);
  });

  test("is nothing where no filter is set: that would be everything", () => {
    expect(labels({})).toEqual([]);
    expect(labels({ page: "a,b" })).toEqual([]);
  });
});

describe("the selection that the API is sent", () => {
  test("has the filters of the list that are set, and not its page", () => {
    const given = filters({
      label: "team:a",
      worker: "w1",
      since: "2026-01-01T00:00:00.000Z",
      page: "x",
    });
    const selection = selectionOf(given);
    expect(selection).toEqual({
      label: "team:a",
      worker_id: "w1",
      since: "2026-01-01T00:00:00.000Z",
    });
    expect(JobSelection.safeParse(selection).success).toBe(true);
  });

  test("names the state that a result is of, because without one only failed jobs are meant", () => {
    expect(selectionOf(filters({ result: "http_error" }))).toEqual({
      result: "http_error",
      status: "completed",
    });
    expect(selectionOf(filters({ result: "cancelled" }))).toMatchObject({ status: "cancelled" });
    expect(selectionOf(filters({ result: "failed", status: "queued" }))).toMatchObject({
      status: "queued",
    });
  });
});

describe("an action on all that match", () => {
  const made = (matched: number, fields: Partial<Made> = {}): Made => ({
    matched,
    changed: matched,
    moved_on: 0,
    complete: true,
    ...fields,
  });
  const asked: object[] = [];
  const answering = (...answers: Made[]) => {
    asked.length = 0;
    return async (_action: string, body: object) => {
      asked.push(body);
      return answers[asked.length - 1] ?? made(0);
    };
  };

  test("that nothing but a state narrows is done to no more than its preview named, a retry too", async () => {
    const act = actOnAll(
      { status: "failed" },
      answering(made(7), made(4, { complete: false }), made(3)),
    );
    await act("retry", { dry_run: true });
    await act("retry", { dry_run: false });
    await act("retry", { dry_run: false });
    expect(asked).toEqual([
      { status: "failed", dry_run: true },
      { status: "failed", dry_run: false, at_most: 7 },
      { status: "failed", dry_run: false, at_most: 3 },
    ]);
  });

  test("that other filters narrow is as the dialog asks for it", async () => {
    const act = actOnAll({ host: "a.test" }, answering(made(7), made(7)));
    await act("delete", { dry_run: true });
    await act("retry", { dry_run: false });
    await act("delete", { dry_run: false, at_most: 7 });
    expect(asked).toEqual([
      { host: "a.test", dry_run: true },
      { host: "a.test", dry_run: false },
      { host: "a.test", dry_run: false, at_most: 7 },
    ]);
  });
});
