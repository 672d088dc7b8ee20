import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import {
  type OpenSession,
  type SessionRig,
  startSessionRig,
} from "#test/support/rigs/session-rig.ts";

/** The action `aria_snapshot`, and elements by its references (rules/session-actions#references). */

setDefaultTimeout(180_000);

const FORM = `<!doctype html><title>Form</title><h1>Order</h1>
<label>Name <input id=name></label> <label>Password <input type=password value="pass-word-7"></label>
<label>Size <select><option>S<option>M</select></label>
<button onclick="document.title = 'Hello ' + document.querySelector('#name').value">Greet</button>
<section aria-label=Basket><button onclick="document.title = 'emptied'">Empty</button></section>
<button id=gone onclick="this.remove()">Vanish</button>
<div draggable=true>Card</div> <a href="/next">Next</a>
<iframe srcdoc="<button onclick='parent.document.title = &quot;framed&quot;'>Framed</button>"></iframe>`;
const NEXT = `<!doctype html><title>Next</title><h1>Other</h1><p>nothing</p><label>A <input></label>
<label>B <input></label><button onclick="document.title = 'wrong'">Wrong</button><button>Two</button><button>Three</button>`;
const LONG = `<!doctype html><title>Long</title>${Array.from({ length: 200 }, (_, i) => `<p>Paragraph ${i} ${"word ".repeat(10)}</p><button onclick="document.title = 'pressed ${i}'">Button ${i}</button>`).join("")}`;

let rig: SessionRig;
let site: ReturnType<typeof Bun.serve>;
let session: OpenSession;
beforeAll(async () => {
  site = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: ({ url }) => {
      const { pathname } = new URL(url);
      const page = pathname === "/next" ? NEXT : pathname === "/long" ? LONG : FORM;
      return new Response(page, { headers: { "content-type": "text/html" } });
    },
  });
  rig = await startSessionRig({ SVC_EGRESS_MODE: "open" });
  session = await rig.open({ url: `${site.url.origin}/`, headless: true });
}, 180_000);
afterAll(async () => {
  await rig.close();
  await site.stop(true);
});

interface Piece {
  snapshot: string;
  lines: number;
  next_line: number | null;
}
const snapshot = (args: object = {}) =>
  session.get<Piece>("aria_snapshot", { max_chars: 40_000, from_line: 0, ...args });
const open = (path: string) =>
  session.get("navigate", { url: site.url.origin + path, wait_until: "load" });
const title = () => session.get<string>("evaluate", { code: "document.title" });
/** The selector of what a snapshot calls so. */
function refOf({ snapshot: text }: Piece, element: RegExp): string {
  const line = text.split("\n").find((one) => element.test(one));
  const ref = /\[(ref=\w+)\]/.exec(line ?? "")?.[1];
  if (ref === undefined) throw new Error(`no ${element} in ${text}`);
  return ref;
}
const stale = (ref: string) => ({
  ok: false,
  kind: "page",
  error: {
    name: "StaleReference",
    message: `there is no element ${ref} in the last snapshot of this page, or the page has changed since: take a new snapshot`,
  },
});

describe("aria_snapshot (rules/session-actions#references)", () => {
  test("tells roles, names and values with references, and no secret", async () => {
    await open("/");
    await session.get("fill", { selector: "#name", text: "Ada" });
    const { snapshot: text, next_line, lines } = await snapshot();
    expect(text).toMatch(/^heading 1 \[ref=\w+\] "Order"$/m);
    expect(text).toMatch(/^textbox \[ref=\w+\] "Name" = "Ada"/m);
    expect(text).toMatch(/^textbox \[ref=\w+\] "Password" = "\*\*\*"/m);
    expect(text).toMatch(/^ button \[ref=f\d+e\d+\] "Framed"/m);
    expect(text).not.toContain("pass-word-7");
    expect({ next_line, lines }).toEqual({ next_line: null, lines: text.split("\n").length });
  });

  test("a reference is a selector of every action, in frames and at the beginning of a longer one", async () => {
    await open("/");
    const seen = await snapshot();
    await session.get("type", { selector: refOf(seen, /textbox.*"Name"/), text: "Grace" });
    await session.get("click", { selector: refOf(seen, /button.*"Greet"/) });
    expect(await title()).toBe("Hello Grace");
    await session.get("select_option", { selector: refOf(seen, /combobox/), values: ["M"] });
    await session.get("click", { selector: `${refOf(seen, /region.*"Basket"/)} >> text=Empty` });
    expect(await title()).toBe("emptied");
    await session.get("click", { selector: refOf(seen, /button.*"Framed"/) });
    expect(await title()).toBe("framed");
    expect(await session.get<string>("text", { selector: refOf(seen, /heading/) })).toBe("Order");
    const picture = await session.picture("screenshot", { selector: refOf(seen, /heading/) });
    expect(picture.mime).toBe("image/png");
    const frame = await session.call("click", {
      selector: refOf(seen, /button.*"Greet"/),
      frame: "iframe",
    });
    expect(frame).toMatchObject({
      ok: false,
      kind: "invalid",
      error: { message: "frame: a reference names its frame itself" },
    });
  });

  test("after a navigation it is stale at once, even where the other page has an element of that name", async () => {
    await open("/");
    const ref = refOf(await snapshot(), /button.*"Greet"/);
    await open("/next");
    expect(await session.call("click", { selector: ref })).toMatchObject(stale(ref));
    // The planner's own look at the page names its elements as well.
    await session.get("snapshot", {});
    expect(await session.call("click", { selector: ref })).toMatchObject(stale(ref));
    expect(await title()).toBe("Next");
    const again = refOf(await snapshot(), /button.*"Wrong"/);
    await session.get("click", { selector: again });
    expect(await title()).toBe("wrong");
  });

  test("an element that is gone, and one that was never shown, are stale at once", async () => {
    await open("/");
    const ref = refOf(await snapshot(), /button.*"Vanish"/);
    await session.get("click", { selector: ref });
    expect(await session.call("click", { selector: ref })).toMatchObject(stale(ref));
    for (const never of ["ref=e99999", "ref=f77e1"])
      expect(await session.call("hover", { selector: never })).toMatchObject(stale(never));
    const drag = { source: "#name", target: "ref=e99999" };
    expect(await session.call("drag_and_drop", drag)).toMatchObject(stale("ref=e99999"));
  });

  test("a long page comes in pieces, whose references all hold", async () => {
    await open("/long");
    const first = await snapshot({ max_chars: 5_000 });
    expect(first.snapshot.length).toBeLessThanOrEqual(5_000);
    expect(first.lines).toBe(400);
    const pieces = [first];
    for (let at = first.next_line; at !== null; at = pieces.at(-1)?.next_line ?? null)
      pieces.push(await snapshot({ max_chars: 5_000, from_line: at }));
    const whole = await snapshot({ max_chars: 200_000 });
    expect(pieces.map((piece) => piece.snapshot).join("\n")).toBe(whole.snapshot);
    await session.get("click", { selector: refOf(first, /"Button 1"/) });
    expect(await title()).toBe("pressed 1");
    expect(await snapshot({ from_line: 400 })).toEqual({
      snapshot: "",
      lines: 400,
      next_line: null,
    });
  });
});
