import { describe, expect, test } from "bun:test";
import { QueryClient, QueryObserver } from "@tanstack/react-query";
import {
  doneText,
  HOURS,
  manyText,
  sinceOf,
  untilDone,
  whyNotAct,
} from "#hub/ui/client/failures/acting.ts";
import { previewOf } from "#hub/ui/client/failures/preview.ts";
import type { WhoIAm } from "#hub/ui/client/lib/logins.ts";

/** What is done about many failures at once (rules/failures#acting-by-filter). */

const made = (changed: number, fields: object = {}) => ({
  matched: changed,
  changed,
  moved_on: 0,
  complete: true,
  ...fields,
});

describe("an action by filter", () => {
  test("is called again until nothing is left, and what was done is added up", async () => {
    const answers = [
      made(3, { complete: false, matched: 8 }),
      made(4, { complete: false, moved_on: 1 }),
      made(1),
    ];
    const asked: unknown[] = [];
    const sum = await untilDone(async (at_most) => {
      asked.push(at_most);
      return answers[asked.length - 1] ?? made(0);
    }, undefined);
    expect(asked).toEqual([undefined, undefined, undefined]);
    expect(sum).toEqual({ matched: 8, changed: 8, moved_on: 1, complete: true });
  });

  test("does to no more than the dialog named, however many calls it takes", async () => {
    const asked: unknown[] = [];
    await untilDone(async (at_most) => {
      asked.push(at_most);
      return asked.length < 3 ? made(20, { complete: false }) : made(5);
    }, 45);
    expect(asked).toEqual([45, 25, 5]);
  });

  test("ends where a call changes nothing, so that it never goes on for ever", async () => {
    let calls = 0;
    const sum = await untilDone(async () => {
      calls += 1;
      return made(calls === 1 ? 2 : 0, { complete: false });
    }, undefined);
    expect({ calls, changed: sum.changed, complete: sum.complete }).toEqual({
      calls: 2,
      changed: 2,
      complete: false,
    });
  });

  test("a call that fails fails the whole, with what it said", async () => {
    const calls = async () => {
      throw new Error("more than 20 match");
    };
    expect(untilDone(calls, 20)).rejects.toThrow("more than 20 match");
  });

  test("says how many, and what became of the others", () => {
    expect(doneText("retry", "task", made(1))).toBe("1 task retried");
    expect(doneText("delete", "capture", made(1_200, { moved_on: 3 }))).toBe(
      "1,200 captures deleted; 3 had moved on meanwhile",
    );
    expect(doneText("move", "task", made(2, { duplicates: 1, refused: 4 }))).toBe(
      "2 tasks moved; 1 are in the other queue already; 4 refused",
    );
    expect([manyText(0, "task"), manyText(1, "task"), manyText(2, "task")]).toEqual([
      "0 tasks",
      "1 task",
      "2 tasks",
    ]);
  });
});

test("an action is counted once for a dialog, and again for the next one", async () => {
  const client = new QueryClient();
  const asked: unknown[] = [];
  const act = async (action: unknown, given: object) => {
    asked.push([action, given]);
    return made(asked.length);
  };
  const counted = async () => {
    const dialog = new QueryObserver(client, previewOf(["task", "f1"], act, "retry"));
    const { promise, resolve } = Promise.withResolvers<void>();
    const leave = dialog.subscribe(({ data }) => data !== undefined && resolve());
    await promise;
    return { dialog, leave };
  };
  const { dialog, leave } = await counted();
  await client.invalidateQueries();
  expect(asked).toEqual([["retry", { dry_run: true }]]);
  expect(dialog.options.refetchInterval).toBe(false);
  expect(dialog.options.refetchOnWindowFocus).toBe(false);
  leave();
  client.clear();
  (await counted()).leave();
  expect(asked).toHaveLength(2);
  // Closed, nothing is asked.
  expect(previewOf(["task", "f1"], act, null).enabled).toBe(false);
  expect(previewOf(["task", "f1"], act, "move").enabled).toBe(false);
});

test("who may not act is told which role it takes", () => {
  const who = (role: string | null): WhoIAm => ({
    kind: "token",
    name: "n",
    role,
    open: false,
    workers_open: false,
  });
  expect(whyNotAct(who("viewer"))).toBe(
    "To retry, cancel, delete or move takes the role operator; yours is viewer.",
  );
  expect([whyNotAct(who("operator")), whyNotAct(who(null)), whyNotAct(null)]).toEqual([
    null,
    null,
    null,
  ]);
});

test("the time of the address is one of the list, on a full minute", () => {
  const now = Date.parse("2026-03-01T12:34:56.789Z");
  expect(HOURS.map(({ value }) => sinceOf(value, now))).toEqual([
    "2026-03-01T11:34:00.000Z",
    "2026-02-28T12:34:00.000Z",
    "2026-02-22T12:34:00.000Z",
    "2026-01-30T12:34:00.000Z",
  ]);
  for (const hours of ["", "x", "-1", "1e99", "NaN", "12"])
    expect({ hours, since: sinceOf(hours, now) }).toEqual({
      hours,
      since: "2026-02-28T12:34:00.000Z",
    });
});
