import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Picked } from "#shared/protocol/schema/recorded-input.ts";
import {
  type OpenSession,
  type SessionRig,
  startSessionRig,
} from "#test/support/rigs/session-rig.ts";
import { type RecordableSite, startRecordableSite } from "#test/support/servers/site/recordable.ts";

let rig: SessionRig;
let site: RecordableSite;
let session: OpenSession;
beforeAll(async () => {
  site = startRecordableSite();
  rig = await startSessionRig({ SVC_EGRESS_MODE: "open" });
  session = await rig.open({ url: `${site.origin}/shop`, headless: true });
}, 180_000);
afterAll(async () => {
  await rig.close();
  await site.stop();
});

type Box = NonNullable<Picked["element"]>["box"];
const middle = ({ x, y, width, height }: Box) => ({ x: x + width / 2, y: y + height / 2 });
const pick = (args: object) => session.get<Picked>("pick", { ...args });
/** What is at the middle of what a selector names. */
async function at(selector: string, frame?: string): Promise<Picked> {
  const { selectors } = await pick({ selector, ...(frame && { frame }) });
  const box = selectors[0]?.boxes[0];
  if (!box) throw new Error(`${selector} is nowhere`);
  return pick(middle(box));
}
const named = ({ selectors }: Picked) =>
  selectors.map(({ by, selector, matches }) => [by, selector, matches]);

describe("pick (rules/session-actions#pick)", () => {
  test("names the element that a person means, by role and label before test id and CSS", async () => {
    const button = await at("b");
    expect(button.element).toMatchObject({ tag: "button", role: "button", name: "Find" });
    expect(named(button)).toEqual([
      ["role", 'role=button[name="Find"]', 1],
      ["label", 'label="Find"', 1],
      ["test_id", '[data-testid="go"]', 1],
      ["css", expect.any(String), 1],
    ]);
    const select = await at("select");
    expect(select.element).toMatchObject({ role: "combobox", name: "Size" });
    expect(named(select)[0]).toEqual(["role", 'role=combobox[name="Size"]', 1]);
    const search = await at("[name=q]");
    expect(named(search).slice(0, 2)).toEqual([
      ["role", 'role=searchbox[name="Search the shop"]', 1],
      ["placeholder", '[placeholder="Search the shop"]', 1],
    ]);
  });

  test("every selector that it gives finds as many elements as it says, where it says", async () => {
    for (const selector of ["b", "select", "[name=q]", "[name=stock]", "li:nth-child(2) button"]) {
      const { element, selectors } = await at(selector);
      expect(selectors.length).toBeGreaterThan(0);
      for (const one of selectors) {
        const again = await pick({ selector: one.selector });
        expect([one.selector, again.selectors[0]?.matches]).toEqual([one.selector, one.matches]);
        expect(again.selectors[0]?.boxes).toEqual(one.boxes);
        if (one.matches === 1) expect(again.element?.box).toEqual(element?.box);
      }
    }
  });

  test("what names several elements comes after what names one, with all their boxes", async () => {
    const buy = await at("li:nth-child(2) button");
    expect(named(buy).map(([by, , matches]) => [by, matches])).toEqual([
      ["css", 1],
      ["role", 2],
      ["text", 2],
    ]);
    expect(buy.selectors[1]?.boxes).toHaveLength(2);
  });

  test("sees into open shadow roots and frames of other sites, and says where they are", async () => {
    const menu = await at("x-menu button");
    expect(named(menu)[0]).toEqual(["role", 'role=button[name="Open the menu"]', 1]);
    const note = await at("textarea", "iframe");
    expect(note).toMatchObject({
      element: { tag: "textarea", role: "textbox", name: "Note" },
      frame: ['[title="Notes"]'],
    });
    const [label] = note.selectors.filter(({ by }) => by === "label");
    const again = await pick({ selector: label?.selector, frame: note.frame });
    expect(again.selectors[0]).toMatchObject({ by: "given", matches: 1, boxes: label?.boxes });
    expect(again.element?.name).toBe("Note");
  });

  test("a page that has replaced what its scripts use is seen as it is", async () => {
    const code = `() => {
      for (const name of ["getAttribute", "matches", "closest", "getBoundingClientRect"]) Element.prototype[name] = () => { throw new Error("no"); };
      document.elementFromPoint = Document.prototype.elementFromPoint = () => document.body;
      globalThis.flotillaPicker = 1;
    }`;
    await session.get("evaluate", { code });
    expect((await at("b")).element).toMatchObject({ role: "button", name: "Find" });
    expect(await session.get("evaluate", { code: "flotillaPicker" })).toBe(1);
    await session.get("reload");
  });

  test("where nothing is, and where nothing matches, it says nothing; a wrong selector is refused", async () => {
    expect(await pick({ x: 5_000, y: 5_000 })).toEqual({ element: null, frame: [], selectors: [] });
    expect(await pick({ selector: "#none" })).toMatchObject({
      element: null,
      selectors: [{ matches: 0, boxes: [] }],
    });
    expect(await session.call("pick", { selector: "[[" })).toMatchObject({
      ok: false,
      kind: "page",
    });
    expect(await session.call("pick", { x: 1 })).toMatchObject({ ok: false, kind: "invalid" });
  });

  test("a field whose content is a secret is marked", async () => {
    await session.get("navigate", { url: `${site.origin}/login` });
    const password = await at("[type=password]");
    expect(password.element).toMatchObject({ secret: true, name: "Password", role: null });
    expect(named(password)[0]).toEqual(["label", 'label="Password"', 1]);
    expect((await at("#email")).element).toMatchObject({ secret: false });
  });
});
