import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readGuide } from "#hub/guide/guide-files.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

/** The guide as the program serves it: to people, to programs and to language models, without a token. */

const HTML = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
const TOKEN = { SVC_API_TOKEN: "token-of-the-test" };
const PAGES = [...readGuide().keys()].filter((path) => path !== "index.md");
const FIRST = PAGES.find((path) => path.startsWith("start/")) ?? "";

let hub: TestHub;
let control: TestHub;
beforeAll(async () => {
  hub = await startTestHub({ alone: true, env: TOKEN });
  control = await startTestHub({ mode: "control", env: TOKEN });
});
afterAll(() => Promise.all([hub.close(), control.close()]));

const get = (path: string, headers: Record<string, string> = HTML, init: RequestInit = {}) =>
  fetch(hub.url + path, { headers, redirect: "manual", ...init });

describe("GET /guide", () => {
  test("every page is shown to everybody, as HTML and as its Markdown", async () => {
    const files = readGuide();
    for (const path of PAGES) {
      const page = await get(`/guide/${path.replace(/\.md$/, "")}`);
      expect({ path, status: page.status }).toEqual({ path, status: 200 });
      expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
      expect(await page.text()).toContain('aria-current="page"');
      const text = await get(`/guide/${path}`);
      expect(text.headers.get("content-type")).toBe("text/markdown; charset=utf-8");
      expect(await text.text()).toBe(files.get(path) ?? "");
    }
  });

  test("the contents list every page in the order of index.md, and so does /llms.txt with the Markdown", async () => {
    const order = [...(readGuide().get("index.md") ?? "").matchAll(/^- \[.*?\]\((.*?)\.md\)/gm)]
      .map(([, path = ""]) => path)
      .filter((path) => PAGES.includes(`${path}.md`));
    const listed = (html: string, at: RegExp) => [
      ...new Set([...html.matchAll(at)].map(([, path = ""]) => path)),
    ];
    const contents = await (await get("/guide")).text();
    expect(listed(contents, /href="\/guide\/([^".#]+)"/g)).toEqual(order);
    const llms = await get("/llms.txt");
    expect(llms.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    const text = await llms.text();
    expect(text).toMatch(/^# .+\n\n> .+\n\n## .+\n\n- \[.+\]\(.+\): .+\n/);
    expect(listed(text, /\]\(\/guide\/(.+?)\.md\)/g)).toEqual(order);
  });

  test("a page may load its own origin's files alone: no script and no style is in it", async () => {
    const page = await get(`/guide/${FIRST.replace(/\.md$/, "")}`);
    const policy = page.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self';");
    const html = await page.text();
    expect(html).not.toMatch(/<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc="\/guide\/assets\/)/);
    const loaded = [...html.matchAll(/<(?:script|link|img)[^>]*\s(?:src|href)="([^"]+)"/g)];
    for (const [, address = ""] of loaded) expect(address).toMatch(/^(\/guide\/|data:image\/svg)/);
    for (const name of ["guide.css", "guide.js", "colors.js"])
      expect((await get(`/guide/assets/${name}`)).status).toBe(200);
    expect((await get("/guide/assets/constructor")).status).toBe(404);
  });

  test("what is kept is asked for again and answered with 304; HEAD says the length", async () => {
    for (const path of ["/guide", `/guide/${FIRST}`, "/llms.txt", "/guide/assets/guide.css"]) {
      const first = await get(path);
      const tag = first.headers.get("etag") ?? "";
      expect(tag).toMatch(/^"[\w-]+"$/);
      expect(first.headers.get("cache-control")).toBe("no-cache");
      const again = await get(path, { ...HTML, "if-none-match": `"other", W/${tag}` });
      expect({ status: again.status, text: await again.text() }).toEqual({ status: 304, text: "" });
      const head = await get(path, HTML, { method: "HEAD" });
      const bytes = (await first.arrayBuffer()).byteLength;
      expect(head.headers.get("content-length")).toBe(String(bytes));
    }
  });

  test("an address that means a page leads there", async () => {
    const name = FIRST.replace(/\.md$/, "");
    for (const [path, to] of [
      ["/guide/", "/guide"],
      ["/guide/index", "/guide"],
      ["/guide/start", "/guide#start"],
      [`/guide/${name}/`, `/guide/${name}`],
    ] as const)
      expect({ path, to: (await get(path)).headers.get("location") }).toEqual({ path, to });
  });

  test("an unknown page is a 404 with links for a browser and a detail for a program; nothing is submitted", async () => {
    for (const path of [
      "/guide/start/nothing",
      "/guide/__proto__",
      "/guide/a/b/<b>c",
      "/guide/https://a.test/",
    ]) {
      const page = await get(path);
      expect({ path, status: page.status }).toEqual({ path, status: 404 });
      const html = await page.text();
      expect(html).toContain('<a href="/guide">table of contents</a>');
      expect(html).not.toContain("<b>");
      const told = await get(path, {});
      expect(told.status).toBe(404);
      expect(await told.json()).toEqual({
        detail: expect.stringContaining("/guide and /llms.txt list every page"),
      });
    }
    expect((await get("/guide", HTML, { method: "POST" })).status).toBe(405);
    const jobs = await hub.call("GET", "/jobs", undefined, {
      headers: { authorization: `Bearer ${TOKEN.SVC_API_TOKEN}` },
    });
    expect(jobs.body.jobs).toEqual([]);
  });

  test("the control plane has it too, and a foreign Host learns nothing", async () => {
    const page = await fetch(`${control.url}/guide`, { headers: HTML });
    expect(await page.text()).toBe(await (await get("/guide")).text());
    expect((await get("/guide", { ...HTML, host: "evil.test" })).status).toBe(421);
  });
});

describe("GET /guide/search", () => {
  const search = async (q: string): Promise<{ title: string; url: string }[]> =>
    (await hub.call("GET", `/guide/search?q=${encodeURIComponent(q)}`)).body.results;

  test("a heading is found by its words, and every result leads to a heading that is there", async () => {
    const results = await search("glossary");
    expect(results[0]).toMatchObject({ title: "Glossary", url: "/guide/concepts/glossary" });
    for (const { url } of await search("session")) {
      const [path = "", anchor] = url.split("#");
      const html = await (await get(path)).text();
      if (anchor) expect(html).toContain(` id="${anchor}"`);
    }
  });

  test("a browser gets a page with the query in its field and the words marked", async () => {
    const html = await (await get("/guide/search?q=glossary%20%22%3E%3Cb%3E")).text();
    expect(html).toContain('value="glossary &quot;&gt;&lt;b&gt;"');
    expect(html).not.toContain("<b>");
    expect(await (await get("/guide/search?q=words")).text()).toMatch(/<mark>words?<\/mark>/i);
    expect(await (await get("/guide/search?q=qqqqqq")).text()).toContain("No heading and no text");
    expect((await get("/guide/search")).status).toBe(200);
  });

  test("a query that is too long is refused", async () => {
    const answer = await get(`/guide/search?q=${"a".repeat(101)}`, {});
    expect(answer.status).toBe(422);
  });
});
