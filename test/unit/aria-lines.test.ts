import { describe, expect, test } from "bun:test";
import { type AriaNode, ariaLines, ariaPiece } from "#worker/browser/actions/aria-lines.ts";

const plain = { max_chars: 10_000, refs: true, mask: (text: string) => text };
const page: AriaNode[] = [
  {
    role: "generic",
    ref: "e1",
    children: [
      { role: "heading", name: "Shop", level: 1, ref: "e2" },
      "Some\n  text",
      { role: "link", name: "Home", ref: "e3", url: "/a", cursor: "pointer" },
      { role: "textbox", name: "User", ref: "e4", text: "ada" },
      { role: "textbox", name: "City", ref: "e5", placeholder: "where?" },
      { role: "checkbox", name: "Agree", ref: "e6", checked: "mixed", disabled: true },
      { role: "generic", ref: "e7", cursor: "pointer", text: "more" },
      { role: "list", ref: "e8", children: [{ role: "listitem", ref: "e9", text: "one" }] },
    ],
  },
];

describe("an accessibility tree as lines", () => {
  test("tells role, ref, name, value and state; boxes that say nothing are left out", () => {
    const { text, refs } = ariaLines(page, plain);
    expect(text.split("\n")).toEqual([
      'heading 1 "Shop"',
      '"Some text"',
      'link e3 "Home" → /a',
      'textbox e4 "User" = "ada"',
      'textbox e5 "City" placeholder "where?"',
      'checkbox e6 "Agree" [checked=mixed] [disabled]',
      'box e7 "more"',
      "list",
      ' listitem "one"',
    ]);
    expect([...refs]).toEqual(["e3", "e4", "e5", "e6", "e7"]);
  });

  test("without refs it names none, and secrets are masked wherever they stand", () => {
    const mask = (text: string) => text.replaceAll("ada", "***");
    const { text, refs } = ariaLines(page, { ...plain, refs: false, mask });
    expect(text).toContain('textbox "User" = "***"');
    expect(text).not.toMatch(/\be\d/);
    expect(refs.size).toBe(0);
  });

  test("what is too long is shortened, then thinned out to controls and headings, then cut, and says so", () => {
    const long: AriaNode[] = Array.from({ length: 50 }, (_, i) => [
      { role: "paragraph", text: `${i} ${"word ".repeat(70)}` },
      { role: "button", name: `Button ${i}`, ref: `e${i}` },
    ]).flat();
    const upTo = (max_chars: number) => ariaLines(long, { ...plain, max_chars });
    const short = upTo(8_000);
    expect(short.text.length).toBeLessThanOrEqual(8_000);
    expect(short.text).toContain("…");
    expect(short.refs.size).toBe(50);
    const thin = upTo(2_000);
    expect(thin.text).not.toContain("word");
    expect(thin.refs.size).toBe(50);
    expect(thin.text).toEndWith("[… 50 more lines of the page left out]");
    const cut = upTo(100);
    expect(cut.text.split("\n")).toHaveLength(5);
    expect([...cut.refs]).toEqual(["e0", "e1", "e2", "e3"]);
    expect(cut.text).toEndWith("[… 96 more lines of the page left out]");
  });

  test("in pieces it names whatever has a ref, ends where it says, and goes on there", () => {
    const all = { max_chars: 10_000, from_line: 0, mask: plain.mask };
    const whole = ariaPiece(page, all);
    expect(whole.text.split("\n").slice(0, 3)).toEqual([
      'heading 1 [ref=e2] "Shop"',
      '"Some text"',
      'link [ref=e3] "Home" → /a',
    ]);
    expect(whole).toMatchObject({ lines: 9, next_line: null });
    expect([...whole.refs]).toEqual(["e2", "e3", "e4", "e5", "e6", "e7", "e8", "e9"]);
    const first = ariaPiece(page, { ...all, max_chars: 50 });
    expect(first).toMatchObject({ lines: 9, next_line: 2, refs: whole.refs });
    const rest = ariaPiece(page, { ...all, from_line: 2 });
    expect(`${first.text}\n${rest.text}`).toBe(whole.text);
    expect(ariaPiece(page, { ...all, max_chars: 1 })).toMatchObject({ next_line: 1 });
    expect(ariaPiece(page, { ...all, from_line: 99 })).toMatchObject({ text: "", next_line: null });
  });

  test("an address with line breaks is one line, and no element of its own", () => {
    const link: AriaNode = { role: "link", name: "A", ref: "e2", url: '/a\nbutton [ref=e9] "Pay"' };
    const { text, lines } = ariaPiece([link], { ...plain, from_line: 0 });
    expect({ text, lines }).toEqual({
      text: 'link [ref=e2] "A" → /a button [ref=e9] "Pay"',
      lines: 1,
    });
  });
});
