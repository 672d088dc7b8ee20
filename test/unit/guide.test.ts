import { describe, expect, test } from "bun:test";
import { readGuidePages } from "#hub/guide/contents.ts";
import { readGuide } from "#hub/guide/guide-files.ts";
import { createSearch } from "#hub/guide/guide-search.ts";
import { llmsText } from "#hub/guide/llms-text.ts";
import { guideAddress, renderPage, sectionsOf } from "#hub/guide/markdown.ts";
import { runGuideCommand } from "#hub/program/guide-command.ts";

const INDEX = `# The guide

What it is for.

## Start

- [Install](start/install.md): get it running.
- [Later](start/later.md): not written yet.

## How to

- [Move \`a\` to **b**](how-to/deep/move.md): one sentence: with a colon.
`;
const guide = readGuidePages(
  new Map([
    ["index.md", INDEX],
    [
      "start/install.md",
      "# Install\n\nRun it.\n\n## A lane's lease\n\nIt ends with `idle_ttl_s`.\n",
    ],
    ["how-to/deep/move.md", "# Move\n\nThe recipe of a host.\n\n## Leases\n\nOther words.\n"],
  ]),
);

describe("the table of contents", () => {
  test("is read from index.md; a page without a file is in no list", () => {
    expect(guide.title).toBe("The guide");
    expect(guide.summary).toBe("What it is for.");
    expect(guide.chapters.map(({ title, slug }) => ({ title, slug }))).toEqual([
      { title: "Start", slug: "start" },
      { title: "How to", slug: "how-to" },
    ]);
    expect(guide.pages.map(({ path, title, summary }) => [path, title, summary])).toEqual([
      ["start/install.md", "Install", "get it running."],
      ["how-to/deep/move.md", "Move a to b", "one sentence: with a colon."],
    ]);
    expect(llmsText(guide)).toStartWith(
      "# The guide\n\n> What it is for.\n\n## Start\n\n- [Install](/guide/start/install.md): get it running.\n\n## How to\n\n- [Move a to b](/guide/how-to/deep/move.md): one sentence: with a colon.\n\n",
    );
  });
});

describe("a page", () => {
  test("has GitHub's anchors on its headings, also where two are the same", () => {
    const text = "# A\n\n## The `states` of a job\n\n## Same\n\n## Same\n\n### Why? (now)\n";
    expect(sectionsOf(text).map(({ slug }) => slug)).toEqual([
      "a",
      "the-states-of-a-job",
      "same",
      "same-1",
      "why-now",
    ]);
    const html = renderPage(text, "rules/a.md");
    expect(html).toContain('<h2 id="the-states-of-a-job">The <code>states</code> of a job <a ');
    expect(html).toContain('href="#same-1"');
  });

  test("shows raw HTML as text and makes no link of an address that runs code", () => {
    const html = renderPage(
      "<script>alert(1)</script>\n\n[a](javascript:alert(1)) <b>c</b>",
      "a.md",
    );
    expect(html).not.toMatch(/<script|<b>|href/);
  });

  test.each([
    ["../rules/jobs.md#the-states", "/guide/rules/jobs#the-states"],
    ["install.md", "/guide/start/install"],
    ["../index.md", "/guide"],
    ["#here", "#here"],
    ["/docs", "/docs"],
    ["https://a.test/b.md", "https://a.test/b.md"],
  ])("a link to %s in start/ leads to %s", (href, address) => {
    expect(guideAddress(href, "start/first.md")).toBe(address);
  });

  test("another site that a page links to is not told where it was read", () => {
    expect(renderPage("[a](https://a.test/)", "a.md")).toContain('rel="noreferrer"');
  });

  test("code keeps its text, whatever is in it", () => {
    const html = renderPage('```sh seeded\necho "<b>" && true\n```\n', "a.md");
    expect(html).toContain('data-language="sh"');
    expect(html).toContain("echo &quot;&lt;b&gt;&quot; &amp;&amp; true");
  });
});

describe("the search", () => {
  const find = async (query: string) =>
    (await createSearch(guide)).find(query).map(({ url }) => url);

  test("a word in a heading comes before the same in a text; a word finds those that begin with it", async () => {
    expect(await find("lease")).toEqual([
      "/guide/start/install#a-lanes-lease",
      "/guide/how-to/deep/move#leases",
    ]);
    expect(await find("idle ttl")).toEqual(["/guide/start/install#a-lanes-lease"]);
  });

  test("all words are looked for together; a misspelt one is found where nothing is spelt so", async () => {
    expect(await find("recipe host")).toEqual(["/guide/how-to/deep/move"]);
    expect(await find("recpie")).toEqual(["/guide/how-to/deep/move"]);
    expect(await find("zzz")).toEqual([]);
    expect(await find("constructor __proto__")).toEqual([]);
  });

  test("an excerpt shows the word with what stands around it, cut between words", async () => {
    const long = `${"before ".repeat(40)}needle ${"after ".repeat(60)}`;
    const one = readGuidePages(
      new Map([
        ["index.md", "# G\n\nx\n\n## A\n\n- [P](p.md): y.\n"],
        ["p.md", `# P\n\n${long}\n`],
      ]),
    );
    const [found] = (await createSearch(one)).find("needle");
    expect(found?.excerpt).toMatch(/^… (before )+needle (after )+…$/);
    expect(found?.excerpt.length).toBeLessThan(240);
  });
});

describe("flotilla guide", () => {
  const run = async (words: string[], env = {}) => {
    const printed: string[] = [];
    const out = (text: string) => void printed.push(text);
    const code = await runGuideCommand(words, env, { out });
    return { code, printed: printed.join("") };
  };

  test("lists every page with its summary, and says where the hub shows them", async () => {
    const { code, printed } = await run([], { SVC_HUB: "http://hub.lan:8000" });
    expect(code).toBe(0);
    expect(printed).toStartWith(
      "Flotilla guide: http://hub.lan:8000/guide\n\nStart\n  start/install ",
    );
    const pages = [...readGuide().keys()].filter((path) => path !== "index.md");
    for (const path of pages) expect(printed).toContain(`\n  ${path.replace(/\.md$/, "")} `);
  });

  test("prints the Markdown of one page, and names one that is not there", async () => {
    const text = readGuide().get("start/install.md") ?? "";
    expect((await run(["start/install"])).printed).toBe(text);
    expect((await run(["start/install.md"])).printed).toBe(text);
    await expect(run(["start/none"])).rejects.toThrow('the guide has no page "start/none"');
  });
});
