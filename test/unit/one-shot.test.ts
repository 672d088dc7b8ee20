import { expect, test } from "bun:test";
import { systemClock } from "#shared/kit/clock.ts";
import { MAX_INLINE_RESULT_BYTES, ONE_SHOT } from "#shared/protocol/limits.ts";
import { ONE_SHOTS, type OneShotCall } from "#shared/protocol/schema/one-shot.ts";
import { ActionFailure, timedOut } from "#worker/browser/actions/failure.ts";
import { jsonBody, resultOf, textBody } from "#worker/browser/one-shot/answer.ts";
import { runOneShot } from "#worker/browser/one-shot/run.ts";
import { attempt, startShot, stepMs } from "#worker/browser/one-shot/shot.ts";
import { waitForFunction } from "#worker/browser/one-shot/wait-for-function.ts";

/** The parts of a one-shot call that need no browser. */

const call = (more: object = {}): OneShotCall =>
  ONE_SHOTS.content.parse({ url: "https://example.com/", ...more });
const shotOf = (of: OneShotCall, timeout_ms = 10_000) =>
  startShot(of, {
    acting: { clock: systemClock, timeout_ms, pages: { active: () => ({}) } } as never,
    setCookies: async () => {},
  });

test("a step may take what is left, and half of it where the rest is for the page as it is (rules/one-shot-calls#waits)", () => {
  const [plain, best] = [shotOf(call()), shotOf(call({ best_attempt: true }))];
  expect(stepMs(plain, undefined)).toBeWithin(9_000, 10_001);
  expect(stepMs(best, undefined)).toBeWithin(4_500, 5_001);
  expect(stepMs(best, 1)).toBe(1_000);
  expect(stepMs(plain, 60)).toBeWithin(9_000, 10_001);
  expect(shotOf(call(), -5).left()).toBe(1);
});

test("best_attempt goes on without what was too late, and with nothing else (rules/one-shot-calls#waits)", async () => {
  const best = shotOf(call({ best_attempt: true }));
  expect(await attempt(best, Promise.reject(timedOut("late")))).toBeNull();
  const refused = new ActionFailure("page", { name: "Error", message: "refused" });
  expect(attempt(best, Promise.reject(refused))).rejects.toBe(refused);
  expect(attempt(shotOf(call()), Promise.reject(timedOut("late")))).rejects.toThrow("late");
});

test("small answers travel on the link and large ones through the bridge, up to a limit (rules/one-shot-calls#limits)", () => {
  const kept: [number, string][] = [];
  const put = (bytes: string | Uint8Array, mime: string) => {
    kept.push([bytes.length, mime]);
    return "blob-1";
  };
  expect(resultOf(200, textBody("text/html", "<p>ä"), put)).toEqual({
    mime: "text/html; charset=utf-8",
    status: 200,
    size: 5,
    text: "<p>ä",
  });
  expect(resultOf(null, { mime: "image/png", bytes: new Uint8Array([1, 2]) }, put)).toEqual({
    mime: "image/png",
    status: null,
    size: 2,
    base64: "AQI=",
  });
  const large = new Uint8Array(300_000);
  expect(resultOf(200, { mime: "image/png", bytes: large }, put)).toEqual({
    mime: "image/png",
    status: 200,
    size: 300_000,
    blob: "blob-1",
  });
  expect(kept).toEqual([[300_000, "image/png"]]);
  const too_large = new Uint8Array(ONE_SHOT.max_bytes + 1);
  expect(() => resultOf(200, { mime: "image/png", bytes: too_large }, put)).toThrow(
    "the answer has 65 MB, and may have 64",
  );
});

test("what travels on the link fits there with everything around it (rules/one-shot-calls#answers)", () => {
  const wholeOf = (bytes: string | Uint8Array) => {
    const result = resultOf(200, { mime: "image/png", bytes }, () => "blob-1");
    return { size: JSON.stringify(result).length, blob: result.blob };
  };
  // A quote is two characters in JSON, a control character six.
  for (const text of ['"'.repeat(150_000), "\u0001".repeat(50_000), "x".repeat(262_100)])
    expect(wholeOf(text).blob).toBe("blob-1");
  for (let bytes = 190_000; bytes < 197_000; bytes += 500)
    expect(wholeOf(new Uint8Array(bytes)).size).toBeLessThanOrEqual(MAX_INLINE_RESULT_BYTES);
  expect(wholeOf(new Uint8Array(195_000)).blob).toBeUndefined();
  expect(wholeOf(new Uint8Array(196_500)).blob).toBe("blob-1");
  expect(wholeOf('"'.repeat(120_000)).blob).toBeUndefined();
});

test("a result that is nested without end is refused where it is made (rules/one-shot-calls#limits)", () => {
  let deep: unknown = 1;
  for (let level = 0; level < 600; level += 1) deep = [deep];
  expect(() => jsonBody({ result: deep })).toThrow("levels deep");
});

test("a call of another version of the hub is refused by its field, not half understood", async () => {
  const wish = {
    kind: "content",
    as_json: false,
    call: { url: "https://example.com/", from_the_future: true },
  };
  const failure = await runOneShot(wish, {} as never).catch((err: ActionFailure) => err);
  expect(failure).toMatchObject({ kind: "invalid" });
  expect((failure as ActionFailure).message).toContain("from_the_future");
});

test("a function is asked until it is true, across a navigation, and no longer than its time (rules/one-shot-calls#waits)", async () => {
  const answers: (boolean | Error)[] = [
    false,
    new Error(
      "page.evaluate: Execution context was destroyed, most likely because of a navigation",
    ),
    true,
  ];
  const page = {
    evaluate: async () => {
      const next = answers.shift() ?? false;
      if (next instanceof Error) throw next;
      return next;
    },
  };
  const wait = (ms: number) =>
    waitForFunction({ page: page as never, clock: systemClock }, "() => x", ms);
  await wait(10_000);
  expect(answers).toEqual([]);
  expect(wait(1)).rejects.toThrow("wait_for_function did not end within 1 ms");
  answers.push(new Error("ReferenceError: x is not defined"));
  expect(wait(10_000)).rejects.toThrow("x is not defined");
});
