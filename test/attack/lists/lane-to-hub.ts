import { hostname } from "node:os";
import type { AttackList } from "#test/support/rigs/attempts.ts";
import { PAGE_WAYS } from "./page-ways.ts";

/** This machine, as somebody may spell it who wants to reach it past a list of spellings. */
const HOSTS = [
  ...[
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "127.000.000.001",
    "127.0.0.1.",
    "127.0.0.53",
    "127.255.255.254",
  ],
  ...[
    "2130706433",
    "0x7f000001",
    "0x7F.1",
    "0x7f.0x0.0x0.0x1",
    "0177.0.0.1",
    "017700000001",
    "00000177.1",
  ],
  ...["localhost", "LOCALHOST", "localhost.", "hub.localhost", "a.b.localhost."],
  ...["[::1]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]"],
  ...["[64:ff9b::7f00:1]", "[64:ff9b::127.0.0.1]", "0.0.0.0", "0", "[::]", "[::ffff:0.0.0.0]"],
  ...["①②⑦.⓪.⓪.①", "１２７.0.0.1", "127。0。0。1", "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ", "%31%32%37.0.0.1", "local%68ost"],
  ...["user:pw@127.0.0.1", "example.com@localhost", "this machine's name"],
] as const;

export const HUB_HOSTS: readonly string[] = HOSTS;

/** As it stands in a URL. */
export const hostOf = (spelling: string): string =>
  spelling === "this machine's name" ? hostname() : spelling;

/** Other servers of the fleet on this machine, by the port that they listen on. */
export const PORTS = ["viewer bridge", "debugging port", "VNC port", "hub"] as const;

/** What an injected page has a model say: each is the answer to the n-th question. */
export const AGENT_MOVES: Record<string, string> = {
  "it navigates": '{"thought":"t","action":"navigate","url":HUB}',
  "it navigates by another name": '{"thought":"t","action":"navigate","url":LOCAL}',
  "it navigates through a redirect": '{"thought":"t","action":"navigate","url":REDIRECT}',
};

/** Puts an element of the page's own in the place of everything else: `make` is the text of a function of the hub's address. */
const show = (make: string) =>
  `await session.evaluate((hub) => { const element = (${make})(hub); document.body.replaceChildren(element); }, HUB)`;
const element = (tag: string, of: string, html = "") =>
  show(
    `(hub) => Object.assign(document.createElement("${tag}"), { ${of}, innerHTML: ${JSON.stringify(html)} })`,
  );
const SOON = "await session.wait(1)";
/** What opens a tab, and waits for it for at most 10 s: on a busy machine a window takes its time. */
const opening = (way: string) =>
  `const before = (await session.tabs()).length; ${way}; for (let i = 0; i < 10; i += 1) { ${SOON}; if ((await session.tabs()).length > before) break; }; ${SOON}`;
const BUTTON = "<button>go</button>";

/**
 * What a script may do with its session beside a plain `navigate`. `HUB` stands for an address of the hub, `SITE` for a page
 * of its own, `WORKLOAD` for a workload that runs a command; `said` is what came of it.
 */
export const SCRIPT_WAYS: Record<string, string> = {
  "a new tab": 'await session.tab("new", HUB)',
  "a tab that navigates later": 'await session.tab("new", SITE); await session.navigate(HUB)',
  "a redirect of a site": "await session.navigate(redirectTo(HUB))",
  "two redirects": "await session.navigate(redirectTo(redirectTo(HUB)))",
  "an address that a page sets": `await session.evaluate((hub) => { location.href = hub; }, HUB); ${SOON}`,
  "a step of a recipe": 'await session.recipe([{ kind: "navigate", url: HUB }])',
  "code of a recipe": `await session.recipe([{ kind: "evaluate", code: "location.href = " + JSON.stringify(HUB) }]); ${SOON}`,
  // A navigation that is refused may leave the page where it was: then its own site answers.
  "the page after the hub's error":
    'await session.navigate(HUB).catch(() => {}); said = await session.evaluate(async ({ hub, body }) => { const answer = await fetch("/api/v1/workloads", { method: "POST", headers: { "content-type": "application/json" }, body }); return (answer.url.startsWith(new URL(hub).origin) ? "open " : "shut: ") + answer.url; }, { hub: HUB, body: WORKLOAD })',
  "going back to it": `await session.evaluate((hub) => { history.pushState(0, "", "/x"); location.href = hub; }, HUB); ${SOON}; await session.back(); await session.forward()`,
  "a reload of it": "await session.navigate(HUB).catch(() => {}); await session.reload()",
  "a form": `${element("form", 'method: "post", enctype: "text/plain", action: hub', `<input name=a>${BUTTON}`)}; await session.click("button"); ${SOON}`,
  "a form with a file": `${element("form", 'method: "post", enctype: "multipart/form-data", action: hub', `<input type=file name=a>${BUTTON}`)}; await session.set_input_files("input", [{ name: "a.txt", content: "x" }]); await session.click("button"); ${SOON}`,
  "a link that downloads": `${element("a", 'download: "x", href: hub', "get")}; await session.click("a"); ${SOON}`,
  "a click that opens a window": opening(
    `${element("a", 'target: "_blank", href: hub', "open")}; await session.click("a")`,
  ),
  "a frame": `${element("iframe", "src: hub")}; ${SOON}; said = await session.text({ selector: "body", frame: "iframe", timeout_s: 2 }).then((text) => /hub|workload|detail/.test(text) ? "open" : "shut")`,
  "an address of another scheme": 'await session.navigate(HUB.replace("http:", "file:"))',
  "a view of its source": 'await session.navigate("view-source:" + HUB)',
  "a script's own network": "await fetch(HUB)",
  "a script's own socket":
    'const { connect } = await import("node:net"); await new Promise((done, fail) => { const s = connect(Number(new URL(HUB).port), "127.0.0.1"); s.once("connect", () => done("open")); s.once("error", fail); })',
};

export const LANE_TO_HUB_HOSTS: AttackList = {
  what: "A sandboxed script of a real fleet: `navigate` to the hub, in every spelling of it",
  file: "lane-to-hub.test.ts",
  attempts: HUB_HOSTS,
};
export const LANE_TO_HUB_WAYS: AttackList = {
  what: "The same script: tabs, redirects, recipes, forms, uploads, downloads, frames, sockets",
  file: "lane-to-hub.test.ts",
  attempts: Object.keys(SCRIPT_WAYS),
};

export const LANE_TO_HUB_PORTS: AttackList = {
  what: "The same script: every way in which a page can connect to the hub, a viewer bridge, a debugging port and a VNC port",
  file: "lane-to-hub.test.ts",
  attempts: PORTS.flatMap((port) => Object.keys(PAGE_WAYS).map((way) => `${way}: ${port}`)),
};
export const LANE_TO_HUB_STEERED: AttackList = {
  what: "Prompt injection, an agent, recipes, jobs and sessions that are aimed at the hub",
  file: "lane-to-hub.test.ts",
  attempts: [
    "a page whose text has the model write a script that makes a workload",
    ...Object.keys(AGENT_MOVES).map((move) => `an agent: ${move}`),
    ...["a recipe of a host", "a job", "a job by its address", "a session's first page"],
  ],
};
