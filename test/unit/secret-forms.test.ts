import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { createMask, maskOf, secretForms } from "#shared/kit/secret-forms.ts";

/** One of each character that some spelling writes in another way. */
const SECRET = `pä"s/s<w>'o&r +d\\1`;

const asHtml = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

describe("the spellings of a secret", () => {
  const spellings: Record<string, string> = {
    plain: SECRET,
    "part of a URL": encodeURIComponent(SECRET),
    "part of a URL, lower-case": encodeURIComponent(SECRET).replace(/%../g, (c) => c.toLowerCase()),
    "whole URL": encodeURI(SECRET),
    form: new URLSearchParams({ a: SECRET }).toString().slice(2),
    JSON: JSON.stringify(SECRET),
    "JSON in ASCII": JSON.stringify(SECRET).replaceAll("ä", "\\u00e4"),
    "JSON with its slashes escaped": JSON.stringify(SECRET).replaceAll("/", "\\/"),
    "text of HTML": asHtml(SECRET),
    "attribute of HTML": asHtml(SECRET).replaceAll('"', "&quot;").replaceAll("'", "&#39;"),
    "attribute of XML": asHtml(SECRET).replaceAll('"', "&quot;").replaceAll("'", "&apos;"),
    base64: Buffer.from(SECRET).toString("base64"),
    base64url: Buffer.from(SECRET).toString("base64url"),
  };
  for (const [name, spelling] of Object.entries(spellings))
    test(`${name} is masked in the middle of a text`, () => {
      const masked = createMask([SECRET]).text(`before ${spelling} after`);
      expect(masked).toMatch(/^before "?\*\*\*=*"? after$/);
    });

  test("a password behind a user name of any length is masked in Basic authentication", () => {
    for (const user of ["", "a", "ab", "abc", "abcd"]) {
      const header = Buffer.from(`${user}:a long password`).toString("base64");
      const masked = createMask(["a long password"]).text(`Basic ${header}`);
      const left = Buffer.from(masked.replace("Basic ", "").replace("***", ""), "base64");
      expect(masked).toContain("***");
      expect(left.toString("latin1")).not.toContain("long");
    }
  });

  test("there is one of each, the longest first, and none of nothing", () => {
    const forms = secretForms("plainword1");
    expect(new Set(forms).size).toBe(forms.length);
    expect(forms.map(({ length }) => length)).toEqual(
      forms.map(({ length }) => length).sort((a, b) => b - a),
    );
    expect(secretForms("")).toEqual([]);
  });

  test("any text has its spellings, and none of them is left", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", minLength: 1 }), (secret) => {
        const forms = secretForms(secret);
        expect(forms).toContain(secret);
        const mask = createMask([secret]);
        // What is left of the text that says *** cannot be told from the mask.
        fc.pre(!forms.some((form) => "***".includes(form)));
        for (const form of forms) expect(mask.text(form)).toContain("***");
      }),
    );
  });
});

describe("a mask", () => {
  test("hides the longer of two secrets of which one begins the other, in either order", () => {
    for (const secrets of [
      ["hunter", "hunter22-tail"],
      ["hunter22-tail", "hunter"],
    ])
      expect(createMask(secrets).text("hunter22-tail, hunter")).toBe("***, ***");
  });

  test("leaves what is too short, and every text where there are no secrets", () => {
    expect(createMask(["abc", "long enough"], { shortest: 6 }).text("abc long enough")).toBe(
      "abc ***",
    );
    expect(createMask([""]).text("a text")).toBe("a text");
    expect(maskOf(["a+b"]).text("a+b aab a%2Bb")).toBe("*** aab a%2Bb");
  });

  test("hides the same wherever a text is cut", () => {
    const mask = createMask(["hunter", "hunter22-tail", "sk/secret"]);
    const text = "hunter22-tai hunter22-tail sk%2Fsecret hunterhunter sk/secre";
    for (let size = 1; size <= text.length; size += 1) {
      const pieces: string[] = [];
      const stream = mask.stream((piece) => pieces.push(piece));
      for (let at = 0; at < text.length; at += size) stream.push(text.slice(at, at + size));
      stream.end();
      expect(pieces.join("")).toBe(mask.text(text));
    }
    expect(mask.text(text)).toBe("***22-tai *** *** ****** sk/secre");
  });
});
