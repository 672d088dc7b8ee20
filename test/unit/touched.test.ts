import { describe, expect, test } from "bun:test";
import { lookForStep, lookForTouched, type Touching } from "#worker/browser/actions/touched.ts";

/** The box of what an action touched, as its recording has it (rules/recordings#the-events). */

const BOUNDS = { left: 0, top: 0, width: 1920, height: 1080 };
const SIZE = { width: 1920, height: 993 };
const ELEMENT = { x: 300, y: 8, width: 80, height: 40 };

const FIRST = { x: 5, y: 6, width: 7, height: 8 };

interface Shown {
  headless?: boolean;
  /** What the page says of its size; it may say anything. */
  inner?: unknown;
  element?: typeof ELEMENT | null;
}

/** A session whose page and browser answer at once. */
function sessionWith({ headless = false, inner, element = ELEMENT }: Shown): Touching {
  const page = {
    locator: () => ({
      boundingBox: async () => element,
      first: () => ({ boundingBox: async () => FIRST }),
    }),
    frameLocator: () => page,
    evaluate: async () => inner ?? SIZE,
  };
  const root = { send: async () => ({ bounds: BOUNDS }) };
  const session = {
    pages: async () => ({ active: () => page }),
    browser: () => ({ headless, connection: { root } }),
    activeTarget: () => "T",
  };
  return session as unknown as Touching;
}

async function boxOf(shown: Shown, args: Record<string, unknown> = { selector: "#go" }) {
  const touched = lookForTouched(sessionWith(shown), args);
  // Everything that was asked answers within one turn of the loop.
  await new Promise((resolve) => setImmediate(resolve));
  return touched();
}

describe("the box of the element that an action touched", () => {
  test("is below Chromium's bars on a screen, and where the page has it without one", async () => {
    expect(await boxOf({})).toEqual({ ...ELEMENT, y: 95 });
    expect(await boxOf({ headless: true })).toEqual(ELEMENT);
    expect(await boxOf({}, { selector: "#go", frame: ["#a", "#b"] })).toEqual({
      ...ELEMENT,
      y: 95,
    });
  });

  test("is not told where there is none, or the page has another size than its window", async () => {
    expect(await boxOf({}, { x: 4, y: 5 })).toBeNull();
    expect(await boxOf({ element: null })).toBeNull();
    expect(await boxOf({ inner: { width: 800, height: 600 } })).toBeNull();
  });

  test("is not told when a page makes numbers up", async () => {
    for (const height of ["tall", Number.NaN, -1e9, {}])
      expect(await boxOf({ inner: { width: 1920, height } })).toBeNull();
    expect(await boxOf({ element: { ...ELEMENT, x: 1e9 } })).toBeNull();
  });

  test("of a step is that of the first element, and a page is not asked for its size where another answers", async () => {
    const answered = { ...sessionWith({ inner: "unasked" }), innerSize: async () => SIZE };
    expect(await lookForStep(answered, { selector: "#go" })()).toEqual({ ...FIRST, y: 93 });
  });

  test("is not waited for by an action that is faster", () => {
    expect(lookForTouched(sessionWith({}), { selector: "#go" })()).toBeNull();
  });
});
