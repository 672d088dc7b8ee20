import { describe, expect, test } from "bun:test";
import type { ElementSelector } from "#shared/protocol/schema/recorded-input.ts";
import type { Heard } from "#worker/browser/clicks/heard.ts";
import { variableFor } from "#worker/browser/clicks/secret-names.ts";
import { createStepList } from "#worker/browser/clicks/step-list.ts";
import { plainAddress, stepOf } from "#worker/browser/clicks/step-of.ts";
import { createSteps } from "#worker/browser/clicks/steps.ts";
import { rankSelectors } from "#worker/browser/picker/described.ts";

const place = { tab: 0, url: "https://shop.test/cart?token=1", host: "shop.test", frame: [] };
const on = (field: string) => ({
  field,
  tag: "input",
  role: "textbox",
  name: field,
  type: "text",
  secret: false,
  selectors: [{ by: "css" as const, selector: `#${field}`, matches: 1 }],
});
type Did = Exclude<Heard, { kind: "here" }>;
const fill = (field: string, text: string): Did => ({
  kind: "fill",
  ...on(field),
  text,
  autocomplete: "",
});
const click = (field: string, count = 1, text_field = false): Did => ({
  kind: "click",
  ...on(field),
  count,
  text_field,
});
const tick = (field: string, checked: boolean): Did => ({ kind: "tick", ...on(field), checked });
const press = (field: string, key: string): Did => ({ kind: "press", ...on(field), key });

/** The steps in short: what was done to what, and with what. */
function stepsOf(...dids: Did[]): string[] {
  const steps = createSteps();
  for (const did of dids) steps.add(stepOf(did, place));
  return steps.list().map((step) => {
    const what = "name" in step ? ` ${step.name}` : "";
    if (step.kind === "fill") return `fill${what}=${step.text}`;
    if (step.kind === "click") return `click${what} x${step.click_count}`;
    return step.kind === "scroll" ? `scroll ${step.amount}` : step.kind + what;
  });
}

describe("steps of a person (rules/recorded-input#the-steps)", () => {
  test("typing is one step with what the field holds at last, and no click into it", () => {
    expect(
      stepsOf(click("a", 1, true), fill("a", "H"), fill("a", "Hi"), press("a", "Enter")),
    ).toEqual(["fill a=Hi", "press a"]);
  });

  test("a field that is corrected among others stays one step at its first place", () => {
    expect(
      stepsOf(
        fill("a", "1"),
        click("b", 1, true),
        fill("b", "2"),
        click("a", 1, true),
        fill("a", "3"),
      ),
    ).toEqual(["fill a=3", "fill b=2"]);
  });

  test("a field that is filled again after something was pressed is another step", () => {
    expect(stepsOf(fill("a", "1"), click("go"), fill("a", "2"))).toEqual([
      "fill a=1",
      "click go x1",
      "fill a=2",
    ]);
  });

  test("a double click is one step; two clicks are two", () => {
    expect(stepsOf(click("a"), click("a", 2))).toEqual(["click a x2"]);
    expect(stepsOf(click("a"), click("a"))).toEqual(["click a x1", "click a x1"]);
  });

  test("of a box that is ticked and unticked the last counts; a click into a field that nobody fills stays", () => {
    expect(stepsOf(tick("a", true), tick("a", false))).toEqual(["uncheck a"]);
    expect(stepsOf(click("date", 1, true), click("day 3"))).toEqual([
      "click date x1",
      "click day 3 x1",
    ]);
  });

  test("scrolling adds up", () => {
    expect(stepsOf({ kind: "scroll", amount: 100 }, { kind: "scroll", amount: 50 })).toEqual([
      "scroll 150",
    ]);
  });

  test("no more steps than a recipe takes are kept, and the list says so", () => {
    const steps = createSteps();
    for (let i = 0; i < 500; i += 1) expect(steps.add(stepOf(click(`a${i}`), place))).toBe(true);
    expect(steps.full).toBe(false);
    expect(steps.add(stepOf(click("more"), place))).toBe(false);
    expect([steps.list().length, steps.full]).toEqual([500, true]);
  });

  test("a step says which page it was on, without what may be secret in the address", () => {
    expect(stepOf(click("a"), place).step.page).toBe("https://shop.test/cart");
    expect(plainAddress("https://ada:pw@shop.test/a?k=v#x")).toBe("https://shop.test/a");
  });
});

describe("a change of the tab (rules/recorded-input#the-steps)", () => {
  const recorded = () => {
    const list = createStepList({ openedBy: (tab) => (tab === 0 ? "person" : "page") });
    list.begin(0);
    const did = (tab: number, what: Did) => list.add(stepOf(what, { ...place, tab }));
    const changes = () => list.state().steps.filter(({ kind }) => kind === "tab");
    return { ...list, did, changes };
  };
  test("names the step by which a page opened the tab, and none that only enters something", () => {
    const { opened, did, changes } = recorded();
    did(0, click("a"));
    opened(1, 0);
    did(0, click("b"));
    did(0, fill("name", "Ada"));
    opened(2, 0);
    did(1, click("c"));
    did(2, click("d"));
    expect(changes()).toMatchObject([
      { tab: 1, opened_by: "page", opener_step: 1 },
      { tab: 2, opened_by: "page", opener_step: null },
    ]);
  });
  test("names the tabs that were closed, once, and none in which nothing was done", () => {
    const { closed, did, changes } = recorded();
    did(1, click("a"));
    closed(1);
    closed(7);
    did(0, click("b"));
    did(2, click("c"));
    expect(changes().map((step) => "closed" in step && step.closed)).toEqual([false, [1], false]);
  });
});

describe("secrets in steps (rules/recorded-input#secrets-in-steps)", () => {
  test("what is entered into a secret field is a placeholder named after site and kind", () => {
    const did: Did = {
      ...on("pw"),
      kind: "fill",
      text: "",
      secret: true,
      type: "password",
      autocomplete: "current-password",
    };
    expect(stepOf(did, { ...place, host: "login.bluefin-marina.example" }).step).toMatchObject({
      text: ["$", "{ENV:BLUEFIN_MARINA_PASSWORD}"].join(""),
      secret: { variable: "BLUEFIN_MARINA_PASSWORD", host: "login.bluefin-marina.example" },
    });
  });

  test.each([
    ["127.0.0.1", "one-time-code", "text", "SITE_ONE_TIME_CODE"],
    ["shop.co.uk", "cc-number", "text", "SHOP_CARD_NUMBER"],
    ["www.shop.test", "cc-csc", "text", "SHOP_CARD_CODE"],
    ["4shop.test", "", "password", "SITE_4SHOP_PASSWORD"],
    ["localhost", "off", "text", "SITE_PIN"],
  ])("on %s with autocomplete %j: %s %s", (host, autocomplete, type, variable) => {
    expect(variableFor(host, { autocomplete, type, name: "pin" })).toBe(variable);
  });
});

test("selectors: what names one element alone comes first, then what lasts longest (rules/recorded-input#selectors-of-an-element)", () => {
  const ways: ElementSelector[] = [
    { by: "css", selector: "#a", matches: 1 },
    { by: "test_id", selector: "[data-testid=a]", matches: 1 },
    { by: "role", selector: "role=button[name=A]", matches: 2 },
    { by: "label", selector: 'label="A"', matches: 1 },
    { by: "text", selector: "#a", matches: 1 },
  ];
  expect(rankSelectors(ways).map(({ by }) => by)).toEqual(["label", "test_id", "css", "role"]);
});
