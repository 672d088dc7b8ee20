import { expect, test } from "bun:test";
import { DeadlineError } from "#shared/kit/clock.ts";
import type { CdpSession } from "#worker/browser/cdp/connection.ts";
import { iconOf, withoutFailed } from "#worker/browser/fetch/final-state.ts";
import {
  holdNetwork,
  type Page,
  sizeOf,
  wholePage,
  windowOf,
} from "#worker/browser/fetch/pictures.ts";

/** The pictures at the end of a run (rules/documents#final-state), of a page that answers as it is told. */

interface Call {
  method: string;
  params: Record<string, unknown> | undefined;
  timeout_ms: number | undefined;
}

type Answer = (call: Call) => unknown;

const BLANK = { frameTree: { frame: { url: "about:blank" } } };
const SHOWN = { frameTree: { frame: { url: "https://site.test/" } } };
const sizes = (width: number, height: number) => ({
  cssVisualViewport: { pageX: 0, pageY: 40, clientWidth: 1_920, clientHeight: 1_000 },
  cssContentSize: { width, height },
});

/** A page of this size whose pictures have `bytes` bytes. */
function pageOf(answer: Answer): { page: Page; calls: Call[] } {
  const calls: Call[] = [];
  const fake = {
    send: async (method: string, params?: Call["params"], options?: { timeout_ms?: number }) => {
      const call = { method, params, timeout_ms: options?.timeout_ms };
      calls.push(call);
      return answer(call);
    },
    post: (method: string, params?: Call["params"]) =>
      void calls.push({ method, params, timeout_ms: undefined }),
  };
  const session = fake as unknown as CdpSession;
  return { page: { session, parts: [{ session }], left_ms: () => 700 }, calls };
}
const answers =
  (
    width: number,
    height: number,
    bytesOf: (scale: number) => number,
    tree: object = SHOWN,
  ): Answer =>
  ({ method, params }) => {
    if (method === "Page.getFrameTree") return tree;
    if (method === "Page.getLayoutMetrics") return sizes(width, height);
    const { scale = 1 } = (params?.clip ?? {}) as { scale?: number };
    return { data: Buffer.alloc(bytesOf(scale)).toString("base64") };
  };
const clips = (calls: Call[]) => calls.flatMap(({ params }) => params?.clip ?? []);

test("an ordinary page is pictured as large as it is, and its window 320 pixels wide", async () => {
  const { page, calls } = pageOf(answers(1_920, 3_000, () => 100));
  const size = await sizeOf(page, 1_500);
  if (!size) throw new Error("it is not blank");
  expect((await windowOf(page, size)).length).toBe(100);
  expect((await wholePage(page, size)).length).toBe(100);
  expect(clips(calls)).toEqual([
    { x: 0, y: 40, width: 1_920, height: 1_000, scale: 320 / 1_920 },
    { x: 0, y: 0, width: 1_920, height: 3_000, scale: 1 },
  ]);
  expect(calls.map(({ timeout_ms }) => timeout_ms)).toEqual([1_500, 1_500, 700, 700]);
});

test("an endless page is cut and made smaller, so that its picture has a bounded number of pixels", async () => {
  const { page } = pageOf(answers(1e9, 1e9, () => 100));
  const size = await sizeOf(page, 1_500);
  if (!size) throw new Error("it is not blank");
  expect(size.whole).toMatchObject({ width: 4_000, height: 16_000 });
  const { page: drawn, calls } = pageOf(answers(1e9, 1e9, () => 100));
  await wholePage(drawn, size);
  const [clip] = clips(calls) as { width: number; height: number; scale: number }[];
  expect((clip?.width ?? 0) * (clip?.height ?? 0) * (clip?.scale ?? 1) ** 2).toBeCloseTo(8e6);
});

test("a picture that does not compress is taken once more at half the size, and given up after that", async () => {
  const large = 9 * 1024 * 1024;
  const { page, calls } = pageOf(answers(1_920, 1_000, (scale) => (scale === 1 ? large : 5)));
  const size = await sizeOf(page, 1_500);
  if (!size) throw new Error("it is not blank");
  expect((await wholePage(page, size)).length).toBe(5);
  expect(clips(calls)).toMatchObject([{ scale: 1 }, { scale: 0.5 }]);
  const { page: noise } = pageOf(answers(1_920, 1_000, () => large));
  expect(wholePage(noise, size)).rejects.toThrow("more than 8388608 bytes");
});

test("a page that its window shows as a whole is not laid out anew for its picture", async () => {
  const beyond = async (height: number, scrolled = 0) => {
    const { page, calls } = pageOf(answers(1_920, height, () => 100));
    const size = await sizeOf(page, 1_500);
    if (!size) throw new Error("it is not blank");
    await wholePage(page, { ...size, window: { ...size.window, y: scrolled } });
    return calls.at(-1)?.params?.captureBeyondViewport;
  };
  expect([await beyond(1_000), await beyond(1_001), await beyond(900, 40)]).toEqual([
    ...[false, true, true],
  ]);
});

test("a blank page has no size, and one that does not answer says so", async () => {
  expect(await sizeOf(pageOf(answers(1_920, 1_000, () => 1, BLANK)).page, 1_500)).toBeNull();
  const { page } = pageOf(() => Promise.reject(new DeadlineError("the page", 1_500)));
  expect(sizeOf(page, 1_500)).rejects.toBeInstanceOf(DeadlineError);
});

test("the network is gone while the pictures are taken, and comes back", async () => {
  const { page, calls } = pageOf(() => ({}));
  const { held, release } = holdNetwork(page);
  await held;
  expect(calls.map(({ params }) => params?.offline)).toEqual([true]);
  release();
  expect(calls.map(({ params }) => params?.offline)).toEqual([true, false]);
});

test("the icon is the first that was captured whole, the usual address last, and never an SVG by its name", () => {
  const recorder = (names: Record<string, string>) => ({
    wholeAsset: (url: string) => names[url] ?? null,
  });
  const url = "https://site.test/a/b";
  const icons = ["https://site.test/i.svg?x", "https://cdn.test/32.png", "https://cdn.test/64.png"];
  const all = {
    "https://site.test/i.svg?x": "i.svg",
    "https://cdn.test/64.png": "64.png",
    "https://site.test/favicon.ico": "favicon.ico",
  };
  expect(iconOf(icons, url, recorder(all))).toBe("64.png");
  expect(iconOf([], url, recorder(all))).toBe("favicon.ico");
  expect(iconOf(icons, url, recorder({}))).toBeNull();
  expect(iconOf([], "about:blank", recorder(all))).toBeNull();
});

test("what was not stored is not claimed", () => {
  const taken = { screenshot: true, thumbnail: true, favicon: "favicon.ico" };
  expect(withoutFailed(taken, [])).toEqual(taken);
  expect(withoutFailed(taken, ["screenshot.png", "favicon.ico", "other.png"])).toEqual({
    screenshot: false,
    thumbnail: true,
    favicon: null,
  });
});
