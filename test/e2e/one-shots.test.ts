import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { startFleet } from "#test/support/rigs/fleet-process.ts";
import { type SiteServer, startServer } from "#test/support/servers/site/server.ts";

/** Pages in one call, by a hub and a worker as processes, with a real Chromium (rules/one-shot-calls). */

setDefaultTimeout(180_000);

/** For the only lane, which is still reset after the call before. */
const WAITS = { SVC_SUBMIT_WAIT_S: "60" };

let fleet: Awaited<ReturnType<typeof startFleet>>;
let site: SiteServer;
const page = (path: string, html: string, status = 200) =>
  site.on(path, (_req, res) => {
    res.writeHead(status, { "content-type": "text/html; charset=utf-8" });
    res.end(html);
  });

beforeAll(async () => {
  [fleet, site] = await Promise.all([
    startFleet({ lanes: 1, headless: true, env: WAITS }),
    startServer("127.0.0.1"),
  ]);
  await fleet.lanesWarm();
  page(
    "/tall",
    `<html lang=en><title>Tall</title><meta name=description content="A tall page">
     <style>body { margin: 0; background: rgb(0, 128, 0) }</style>
     <h1 id=head class=a>Hello</h1><a href="/next">On</a>
     <div style="height: 3000px"></div><p id=foot style="position: absolute; top: 3100px; width: 120px; height: 40px">End</p>
     <script>document.querySelector("h1").append(" there"); globalThis.scale = devicePixelRatio</script>`,
  );
  page(
    "/later",
    `<title>Later</title><script>
     setTimeout(() => document.dispatchEvent(new Event("ready-now")), 50);
     setTimeout(() => { globalThis.counted = 3 }, 200);
     setTimeout(() => document.body.insertAdjacentHTML("beforeend", "<p id=late>late</p>"), 400);
     </script><body>`,
  );
  page(
    "/state",
    `<title>State</title><script>
     document.title = [document.cookie, localStorage.seen ?? ""].join("|");
     document.cookie = "seen=1; max-age=3600"; localStorage.seen = "1";
     </script>`,
  );
  page("/gone", "<title>Gone</title>gone", 410);
  page("/large", `<title>Large</title><p>${"large ".repeat(200_000)}</p>`);
  page("/alert", `<title>Alert</title><script>alert("hello"); document.title = "after"</script>`);
  site.on("/silent", () => {});
}, 180_000);
afterAll(async () => {
  await site.stop();
  expect(await fleet.stop()).toEqual([]);
}, 180_000);

const post = (kind: string, body: object, init: RequestInit = {}): Promise<Response> =>
  fetch(`${fleet.url}/${kind}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    ...init,
  });
const at = (path: string) => site.origin + path;
/** The answer of a call that must succeed. */
async function ask(kind: string, body: object): Promise<Response> {
  const answer = await post(kind, body);
  if (answer.status !== 200) throw new Error(`${kind}: ${answer.status} ${await answer.text()}`);
  return answer;
}
// biome-ignore lint/suspicious/noExplicitAny: answers of every shape
const json = async (kind: string, body: object): Promise<any> => (await ask(kind, body)).json();
const titleOf = (body: object): Promise<string> =>
  json("evaluate", { code: "document.title", ...body }).then(({ result }) => result);

async function sizeOfPng(body: object): Promise<[number, number]> {
  const bytes = Buffer.from(await (await ask("screenshot", body)).arrayBuffer());
  expect(bytes.subarray(1, 4).toString("latin1")).toBe("PNG");
  return [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
}

describe("what a page sees of the browser (rules/browser-options)", () => {
  const FACTS = `[navigator.language, Intl.DateTimeFormat().resolvedOptions().timeZone,
    matchMedia("(prefers-color-scheme: dark)").matches, navigator.userAgent, innerWidth]`;

  test("is what its call says, and the next call sees none of it", async () => {
    const url = at("/tall");
    const facts = async (more: object) =>
      (await json("evaluate", { url, code: FACTS, ...more })).result;
    const plain = await facts({});
    const viewport = { width: 500, height: 400 };
    const said = { locale: "de-DE", timezone: "Asia/Tokyo", color_scheme: "dark" };
    expect(await facts({ ...said, userAgent: "me/1", viewport })).toEqual([
      "de-DE",
      "Asia/Tokyo",
      true,
      "me/1",
      500,
    ]);
    expect(await facts({})).toEqual(plain);
  });

  test("a page without scripts is as its server sent it", async () => {
    const html = await ask("content", { url: at("/tall"), setJavaScriptEnabled: false });
    const text = await html.text();
    expect(text).toContain("Hello");
    expect(text).not.toContain("Hello there");
  });

  test("pictures that a call blocks are not requested, with as_job neither, and the job's report counts them", async () => {
    page("/pictured", `<title>Pictured</title><img src="/picture.png">`);
    const asked = () => site.hits.filter(({ path }) => path === "/picture.png").length;
    const url = at("/pictured");
    await ask("content", { url });
    expect(asked()).toBe(1);
    await ask("content", { url, rejectResourceTypes: ["image"] });
    const answer = await ask("content", { url, block: { types: ["image"] }, as_job: true });
    expect(asked()).toBe(1);
    const { capture } = await fleet.job(answer.headers.get("flotilla-job") ?? "");
    expect(capture?.blocked).toMatchObject({ requests: 1, by: { types: 1 } });
  });

  test("ads are blocked by the address as well, and other values there are refused", async () => {
    page("/with-ads", `<title>Ads</title><img src="http://stats.doubleclick.net/a.gif">`);
    const withQuery = (query: string) =>
      fetch(`${fleet.url}/content?${query}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ url: at("/with-ads"), as_job: true }),
      });
    const answer = await withQuery("blockAds=true");
    expect(answer.status).toBe(200);
    const { capture } = await fleet.job(answer.headers.get("flotilla-job") ?? "");
    expect(capture?.blocked).toMatchObject({ requests: 1, by: { ads: 1 } });
    expect((await withQuery("blockAds=perhaps")).status).toBe(422);
  });
});

describe("what is answered (rules/one-shot-calls#answers)", () => {
  test("a picture of the window, of its scale, of the whole page, of an element and of a part", async () => {
    const viewport = { width: 800, height: 600 };
    const url = at("/tall");
    expect(await sizeOfPng({ url, viewport })).toEqual([800, 600]);
    const scaled = { width: 800, height: 600, device_scale_factor: 2 };
    expect(await sizeOfPng({ url, viewport: scaled })).toEqual([1600, 1200]);
    expect(await sizeOfPng({ url, viewport: scaled, selector: "#foot" })).toEqual([240, 80]);
    const part = { url, viewport: scaled, clip: { x: 0, y: 3_000, width: 30, height: 10 } };
    expect(await sizeOfPng({ ...part, omit_background: true })).toEqual([60, 20]);
    expect((await sizeOfPng({ url, viewport: scaled, full_page: true }))[1]).toBeGreaterThan(6_000);
    const seen = { url, viewport: scaled, code: "globalThis.scale" };
    expect((await json("evaluate", seen)).result).toBe(2);
    const missing = await post("screenshot", { url, viewport: scaled, selector: "#no" });
    expect(missing.status).toBe(422);
    for (const view of [viewport, scaled]) {
      const empty = { html: `<p id="none"></p>`, viewport: view, selector: "#none" };
      const refused = await post("screenshot", empty);
      expect(refused.status).toBe(422);
      expect(await refused.text()).toContain("#none is hidden or has no size");
    }
    const [, height] = await sizeOfPng({ url, viewport, options: { fullPage: true } });
    expect(height).toBeGreaterThan(3_000);
    expect(await sizeOfPng({ url, viewport, selector: "#foot" })).toEqual([120, 40]);
    const clip = { x: 10, y: 10, width: 50, height: 20 };
    expect(await sizeOfPng({ url, viewport, clip })).toEqual([50, 20]);
    const below = { x: 0, y: 3_000, width: 30, height: 10 };
    expect(await sizeOfPng({ url, viewport, clip: below })).toEqual([30, 10]);
    const jpeg = await ask("screenshot", { url, format: "jpeg", quality: 40 });
    expect(jpeg.headers.get("content-type")).toBe("image/jpeg");
    expect(
      Buffer.from(await jpeg.arrayBuffer())
        .subarray(0, 3)
        .toString("hex"),
    ).toBe("ffd8ff");
  });

  test("a PDF, with the paper, the pages and the header that were asked for", async () => {
    const textOf = async (body: object) => {
      const answer = await ask("pdf", { url: at("/tall"), ...body });
      expect(answer.headers.get("content-type")).toBe("application/pdf");
      return Buffer.from(await answer.arrayBuffer()).toString("latin1");
    };
    const pagesIn = (text: string) => [...text.matchAll(/\/Type\s*\/Page\b/g)].length;
    const whole = await textOf({});
    expect(whole).toStartWith("%PDF-");
    expect(pagesIn(whole)).toBeGreaterThan(2);
    const one = await textOf({
      page_ranges: "1",
      width: "4in",
      height: "6in",
      margin: { top: "1in" },
    });
    expect(pagesIn(one)).toBe(1);
    expect(one).toMatch(/MediaBox \[0 0 288 432\]/);
    const header_template = "<b style='font-size: 12px'>top</b>";
    expect(await textOf({ header_template, margin: { top: "2cm" } })).toStartWith("%PDF-");
    const beyond = await post("pdf", { url: at("/tall"), page_ranges: "90" });
    expect(beyond.status).toBe(422);
  });

  test("HTML as scripts have made it, Markdown, links, and what code comes to", async () => {
    const url = at("/tall");
    const content = await ask("content", { url });
    expect(await content.text()).toContain("Hello there");
    expect(content.headers.get("x-response-code")).toBe("200");
    expect(content.headers.get("x-response-url")).toBe(url);
    expect(await (await ask("markdown", { url })).text()).toContain("# Hello there");
    expect(await json("links", { url })).toMatchObject({
      url,
      title: "Tall",
      status: 200,
      links: [{ href: at("/next"), text: "On" }],
    });
    const code = "(n) => ({ n, h: document.querySelector('h1').innerText })";
    expect((await json("evaluate", { url, code, arg: 4 })).result).toEqual({
      n: 4,
      h: "Hello there",
    });
    const as_json = await post(
      "content",
      { url },
      {
        headers: { "content-type": "application/json", accept: "application/json" },
      },
    );
    expect(await as_json.json()).toMatchObject({ url, title: "Tall", status: 200 });
  });

  test("elements with their text, attributes and boxes, and the page in several formats (rules/one-shot-calls#scrape)", async () => {
    const found = await json("scrape", {
      url: at("/tall"),
      elements: [{ selector: "h1" }, { selector: "#foot" }],
      formats: ["text", "links", "screenshot"],
    });
    expect(found.data).toMatchObject([
      {
        selector: "h1",
        results: [
          {
            text: "Hello there",
            html: "Hello there",
            attributes: [
              { name: "id", value: "head" },
              { name: "class", value: "a" },
            ],
          },
        ],
      },
      { selector: "#foot", results: [{ text: "End", width: 120, height: 40 }] },
    ]);
    expect(found.data[1].results[0].top).toBeGreaterThan(3_000);
    expect(found.metadata).toMatchObject({
      title: "Tall",
      description: "A tall page",
      language: "en",
    });
    expect(found.content.text).toContain("Hello there");
    expect(found.content).not.toHaveProperty("html");
    expect(found.links).toHaveLength(1);
    expect(found.screenshot.mime).toBe("image/png");
    expect(found).not.toHaveProperty("pdf");
  });

  test("names of fields hide nothing of a page, and one that forges its answers is refused (rules/one-shot-calls#scrape)", async () => {
    const form = `<title>Form</title><img name=title><form id=f><input name=attributes></form>`;
    const found = await json("scrape", { html: form, elements: [{ selector: "form" }] });
    expect(found.metadata.title).toBe("Form");
    expect(found.data[0].results[0].attributes).toEqual([{ name: "id", value: "f" }]);
    const forged = `<html lang=en><script>String.prototype.slice = () => ({ forged: true })</script>`;
    const answer = await post("scrape", { html: forged });
    expect({ status: answer.status, text: await answer.text() }).toMatchObject({
      status: 422,
      text: expect.stringContaining("something else than what it was asked for"),
    });
    const script = "document.querySelector('p').setAttribute('x'.repeat(17 << 20), '')";
    const named = { html: `<p></p><script>${script}</script>`, elements: [{ selector: "p" }] };
    expect((await post("scrape", named)).status).toBe(422);
  });

  test("a large answer comes whole, and the status of a page is no failure", async () => {
    const text = await (await ask("content", { url: at("/large") })).text();
    expect(text.length).toBeGreaterThan(1_200_000);
    expect(text).toEndWith("</html>");
    expect((await json("links", { url: at("/gone") })).status).toBe(410);
  });
});

test("a page is given as HTML too, and its requests leave as those of any other (rules/one-shot-calls#a-call)", async () => {
  site.forget();
  const html = `<title>Given</title><img src="${at("/picture")}"><p>Hi</p>`;
  expect(await titleOf({ html })).toBe("Given");
  expect(site.hits.map(({ path }) => path)).toContain("/picture");
  expect((await json("links", { html: "<a href='https://a.test/x'>a</a>" })).links).toEqual([
    { href: "https://a.test/x", text: "a" },
  ]);
});

test("cookies, headers and the referer are sent, and nothing is left for the next call (rules/one-shot-calls#a-call)", async () => {
  site.forget();
  await ask("content", {
    url: at("/state"),
    cookies: [{ name: "mine", value: "1" }],
    extra_headers: { "x-mine": "2" },
    referer: "https://a.test/",
  });
  const sent = site.hits.find(({ path }) => path === "/state")?.headers;
  expect(sent).toMatchObject({ cookie: "mine=1", "x-mine": "2", referer: "https://a.test/" });
  for (let call = 0; call < 2; call += 1) expect(await titleOf({ url: at("/state") })).toBe("|");
});

describe("waits (rules/one-shot-calls#waits)", () => {
  const has = (body: object) =>
    json("evaluate", { url: at("/later"), code: "!!document.querySelector('#late')", ...body });

  test("for an element, a function, an event that came early, and a pause", async () => {
    expect((await has({ wait_for_selector: "#late" })).result).toBe(true);
    expect((await has({ waitForSelector: { selector: "#late", timeout: 20_000 } })).result).toBe(
      true,
    );
    const counted = {
      code: "globalThis.counted",
      wait_for_function: "() => globalThis.counted === 3",
    };
    expect((await has(counted)).result).toBe(3);
    expect(
      (await has({ wait_for_event: "ready-now", wait_until: "networkidle" })).result,
    ).toBeBoolean();
    expect((await has({ wait_for_seconds: 1 })).result).toBe(true);
    const html = `<script>setTimeout(() => dispatchEvent(new Event("x-done")), 300)</script>`;
    expect(await titleOf({ html, wait_for_event: "x-done", code: "1" })).toBe(1 as never);
  });

  test("what does not come is 504, and with best_attempt the page as it is", async () => {
    const never = { selector: "#never", timeout_s: 0.5 };
    const late = await post("content", { url: at("/later"), wait_for_selector: never });
    expect(late.status).toBe(504);
    const best = { url: at("/later"), wait_for_selector: never, best_attempt: true };
    expect((await has(best)).result).toBeBoolean();
    const slow = "async () => { await new Promise((done) => setTimeout(done, 300)); return true }";
    await ask("content", { url: at("/later"), wait_for_function: slow });
    const never_true = { code: "async () => false", timeout_s: 0.5 };
    const asked = await post("content", { url: at("/later"), wait_for_function: never_true });
    expect(asked.status).toBe(504);
    const throws = await post("content", { url: at("/later"), wait_for_function: "nothing.there" });
    expect(throws.status).toBe(422);
    const function_of = { url: at("/later"), wait_for_function: { code: "false", timeout_s: 0.5 } };
    expect((await post("content", function_of)).status).toBe(504);
    const silent = { url: at("/silent"), load_timeout_s: 0.5 };
    expect((await post("content", silent)).status).toBe(504);
    expect((await ask("content", { ...silent, best_attempt: true })).status).toBe(200);
  });
});

describe("failed calls (rules/one-shot-calls#failed-calls)", () => {
  test("an address that is refused, a server that is not there, and code that throws are 422 that say why", async () => {
    for (const [kind, body, said] of [
      ["content", { url: "http://169.254.169.254/latest" }, "refused"],
      ["content", { url: "http://127.0.0.1:9/" }, "ERR_"],
      ["content", { url: at("/tall"), egress: { mode: "listed" } }, "refused"],
      ["evaluate", { url: at("/tall"), code: "nothing.there" }, "nothing is not defined"],
      ["screenshot", { url: at("/tall"), selector: "#no" }, "no element matches #no"],
    ] as const) {
      const answer = await post(kind, body);
      const text = await answer.text();
      expect({ body, status: answer.status, text }).toMatchObject({ body, status: 422 });
      expect(text).toContain(said);
    }
  });

  test("a dialog of the page holds nobody up, and the deadline of the whole call holds", async () => {
    expect(await titleOf({ url: at("/alert") })).toBe("after");
    const spinning = { url: at("/tall"), code: "for (;;);", timeout_s: 3 };
    expect((await post("evaluate", spinning)).status).toBe(504);
    expect(await titleOf({ url: at("/tall") })).toBe("Tall");
  });
});

test("a call that is a job too is answered in the job's browser, and its capture stays (rules/one-shot-calls#as-a-job)", async () => {
  const answer = await ask("content", { url: at("/tall"), as_job: true });
  expect(await answer.text()).toContain("Hello there");
  expect(answer.headers.get("x-response-code")).toBe("200");
  const job = await fleet.job(answer.headers.get("flotilla-job") ?? "");
  expect(job).toMatchObject({ status: "completed", title: "Tall", http_status: 200 });
  await fleet.lanesWarm();
});

test("a caller that leaves gives the lane back (rules/one-shot-calls#end-of-a-call)", async () => {
  site.forget();
  const leaving = new AbortController();
  const left = post("content", { url: at("/silent") }, { signal: leaving.signal }).catch(
    () => null,
  );
  await site.asked("/silent");
  leaving.abort();
  expect(await left).toBeNull();
  await fleet.lanesWarm();
  expect(await titleOf({ url: at("/tall") })).toBe("Tall");
  expect(await (await fetch(`${fleet.url}/sessions`)).json()).toHaveProperty("sessions", []);
});
