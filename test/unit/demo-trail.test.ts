import { expect, test } from "bun:test";
import { serveDemo } from "#hub/program/demo/site.ts";

test("the demo's trail leads to eight pages below its own folder, and whatever they load is there", async () => {
  const start = "http://x/demo/trail/";
  const pages = new Set([start]);
  const loaded = new Set<string>();
  for (const url of pages) {
    const text = await serveDemo(new Request(url))?.text();
    for (const [, name = "", href = ""] of text?.matchAll(
      /<(a|link|img) .*?(?:href|src)="(.*?)"/g,
    ) ?? [])
      (name === "a" ? pages : loaded).add(new URL(href, url).href);
  }
  expect(pages.size).toBe(8);
  expect([...pages].filter((url) => !url.startsWith(start))).toEqual([]);
  const answers = [...pages, ...loaded].map((url) => serveDemo(new Request(url))?.status);
  expect(answers).toEqual(answers.map(() => 200));
});
