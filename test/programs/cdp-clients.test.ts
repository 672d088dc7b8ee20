import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readGuide } from "#hub/guide/guide-files.ts";
import { parsePage } from "#hub/guide/markdown.ts";
import { TRAIL } from "#hub/program/demo/trail.ts";
import { API_TOOLS, installApiTools, run } from "#test/support/rigs/api-tools.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { unseen } from "#test/support/rigs/guide-reader.ts";
import { type SessionFleet, startSessionFleet } from "#test/support/rigs/session-fleet.ts";
import { ROOT } from "../../scripts/build.ts";

/** The programs of the guide's pages about clients of CDP: each is run as it stands there, with the package of its page. */

setDefaultTimeout(300_000);

const PAGES = ["puppeteer", "chrome-remote-interface", "crawlee", "stagehand"];
const PACKAGES = {
  "@browserbasehq/stagehand": API_TOOLS,
  "playwright-core": ROOT,
  "puppeteer-core": ROOT,
  "chrome-remote-interface": API_TOOLS,
  crawlee: API_TOOLS,
};

const TRAIL_AT = "/demo/trail/";

let fleet: SessionFleet;
let site: ReturnType<typeof Bun.serve>;
let model: ReturnType<typeof startModel>;
let dir: string;

const html = (text: string | undefined) =>
  new Response(text, {
    status: text === undefined ? 404 : 200,
    headers: { "content-type": "text/html" },
  });

/** A model behind the API that Stagehand speaks: it clicks the first link whose name is in what it is asked to do. */
function startModel() {
  return Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (req) => {
      const { input } = (await req.json()) as { input: { content: [{ text: string }] }[] };
      const asked = input.at(-1)?.content[0].text ?? "";
      const [wish = "", tree = ""] = asked.split("Accessibility Tree:");
      const links = [...tree.matchAll(/\[(\d+-\d+)\] link: (.*)/g)];
      const link = links.find(([, , name = ""]) => wish.includes(name.toLowerCase()));
      const action = link && {
        elementId: link[1],
        description: link[2],
        method: "click",
        arguments: [],
      };
      return Response.json(answerOf(JSON.stringify({ action: action ?? null, twoStep: false })));
    },
  });
}

const answerOf = (text: string) => ({
  id: "resp_1",
  created_at: 1,
  model: "a model",
  output: [
    {
      type: "message",
      id: "msg_1",
      role: "assistant",
      content: [{ type: "output_text", text, annotations: [] }],
    },
  ],
  usage: { input_tokens: 1, output_tokens: 1 },
});

beforeAll(async () => {
  await installApiTools();
  site = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: ({ url }) => {
      const { pathname } = new URL(url);
      if (pathname.startsWith(TRAIL_AT)) return html(TRAIL.get(pathname.slice(TRAIL_AT.length)));
      const links = pathname === "/demo/" ? '<a href="/demo/second">second</a>' : "";
      return html(`<title>Demo ${pathname}</title>${links}`);
    },
  });
  model = startModel();
  fleet = await startSessionFleet();
  dir = mkdtempSync(join(tmpdir(), "flotilla-cdp-"));
  mkdirSync(join(dir, "node_modules"));
  for (const [name, from] of Object.entries(PACKAGES)) {
    mkdirSync(join(dir, "node_modules", name, ".."), { recursive: true });
    symlinkSync(join(from, "node_modules", name), join(dir, "node_modules", name));
  }
}, 300_000);
afterAll(async () => {
  await fleet?.stop();
  await Promise.all([site?.stop(true), model?.stop(true)]);
  if (dir) rmSync(dir, { recursive: true, force: true });
}, 180_000);

interface Sample {
  program: string;
  /** What the page says it prints. */
  seen: string;
}

/** The programs of a page, with the text after each. */
function samplesOf(page: string): Sample[] {
  const samples: Sample[] = [];
  for (const { type, info, content } of parsePage(readGuide().get(`how-to/${page}.md`) ?? "")) {
    if (type !== "fence") continue;
    if (info === "ts") samples.push({ program: content, seen: "" });
    const last = samples.at(-1);
    if (info === "text" && last) last.seen = content;
  }
  return samples;
}

const here = (text: string): string =>
  text
    .replaceAll("//localhost:8000", `//${new URL(fleet.url).host}`)
    .replaceAll("//localhost:8001", `//${site.url.host}`);
const noneOpen = () =>
  until("the end of every session", 60_000, async () => {
    const answer = await fetch(`${fleet.url}/sessions`);
    return ((await answer.json()) as { sessions: unknown[] }).sessions.length === 0;
  });

for (const page of PAGES)
  test(`how-to/${page}.md: every program does what the page says, and leaves no session open`, async () => {
    const samples = samplesOf(page);
    expect(samples.length).toBeGreaterThan(0);
    for (const { program, seen } of samples) {
      await Bun.write(join(dir, "sample.ts"), here(program));
      const printed = await run([process.execPath, "sample.ts"], dir, {
        OPENAI_API_KEY: "any",
        OPENAI_BASE_URL: new URL("/v1", model.url).href,
      });
      expect({ missing: unseen(here(seen), printed), printed }).toMatchObject({ missing: [] });
      await noneOpen();
    }
  });
